package rules

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
)

// Site identifies the namespaces of the bridges, which a job has to enter. The zero value
// is rejected.
type Site struct {
	// PID is a process in the user namespace of the rootless daemon. The job
	// enters that user namespace, and its network namespace unless NetNS is set.
	PID int
	// NetNS is the file of a detached network namespace, entered instead of PID's.
	NetNS string
	// InPlace ignores PID and runs the job in aibox's own namespaces, for rootful Docker:
	// directly as root, else through sudo without a password.
	InPlace bool
}

// Client runs jobs at a Site, each in a short-lived process. It keeps no state
// and is safe for concurrent use.
type Client struct {
	Exe     string   // the program to run as the job; empty means os.Executable()
	Args    []string // arguments that make Exe call ServeJob; empty means {"netguard-job"}
	Site    Site
	Timeout time.Duration // of one job; 0 means 30 s
}

// Up sets up everything that is not per session: alias, firewall chains, order of routing
// rules, ICMP limits. It is idempotent.
func (c Client) Up(ctx context.Context) error {
	_, err := c.call(ctx, request{Op: opUp})
	return err
}

// Down removes everything that Up and Guard have set up, and restores tables, routing rules
// and addresses. While a session has its sockets open it returns a fault of kind Refused,
// because its sandbox would be unguarded.
func (c Client) Down(ctx context.Context) error {
	_, err := c.call(ctx, request{Op: opDown})
	return err
}

// PlanUp returns the changes that Up would make now, in order. It changes nothing.
func (c Client) PlanUp(ctx context.Context) ([]Change, error) { return c.plan(ctx, opUp) }

// PlanDown returns the changes that Down would make now, in order, or the error with which
// Down would refuse. It changes nothing.
func (c Client) PlanDown(ctx context.Context) ([]Change, error) { return c.plan(ctx, opDown) }

func (c Client) plan(ctx context.Context, op string) ([]Change, error) {
	reply, err := c.call(ctx, request{Op: op, DryRun: true})
	if err != nil {
		return nil, err
	}
	return reply.Changes, nil
}

// Status reports the current state. It changes nothing.
func (c Client) Status(ctx context.Context) (Status, error) {
	reply, err := c.call(ctx, request{Op: opStatus})
	if err != nil {
		return Status{}, err
	}
	return reply.Status, nil
}

// GuardRequest names the ports of Address that one session gets.
type GuardRequest struct {
	TCP []int `json:"tcp,omitempty"`
	UDP []int `json:"udp,omitempty"`
}

// Guard makes bridge safe for a sandbox, in one job: it does what Up does and repairs drift, sets
// the bridge's routing lock, which admits exactly the ports of r, and opens sockets that are bound
// only to this bridge. After an error the caller must not start a sandbox. The bridge must exist,
// and its name must begin with netguard.BridgePrefix. The caller owns the Sockets.
func (c Client) Guard(ctx context.Context, bridge string, r GuardRequest) (*Sockets, error) {
	reply, err := c.call(ctx, request{Op: opGuard, Bridge: bridge, GuardRequest: r})
	if err != nil {
		return nil, err
	}
	return newSockets(reply.files, r)
}

// Release locks bridge entirely again, as a bridge in the pool should be. It is not needed
// for safety: once a session's sockets are closed, nothing answers, so a crash can skip it.
func (c Client) Release(ctx context.Context, bridge string) error {
	_, err := c.call(ctx, request{Op: opRelease, Bridge: bridge})
	return err
}

// call runs one job to its end. Request and answer go over one Unix socket, the
// job's standard input: sudo closes every other descriptor.
func (c Client) call(ctx context.Context, req request) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Timeout, 30*time.Second))
	defer cancel()
	cmd, err := c.command()
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	mine, theirs := os.NewFile(uintptr(pair[0]), "job"), os.NewFile(uintptr(pair[1]), "job")
	defer mine.Close()
	text, err := json.Marshal(req)
	if err == nil {
		_, err = unix.Write(pair[0], text) // the request waits in the socket until the job reads it
	}
	if err != nil {
		theirs.Close()
		return nil, err
	}
	cmd.Stdin = theirs
	err = cmd.Run(ctx)
	theirs.Close()
	if err != nil {
		return nil, c.explain(req, err)
	}
	answer, err := receive(pair[0])
	if err != nil {
		return nil, c.explain(req, err)
	}
	if answer.Error != "" {
		answer.close()
		return nil, &fault.Fault{Kind: answer.Kind, Message: answer.Error, Hints: answer.Hints}
	}
	return answer, nil
}

// command returns the job's command line: nsenter into the site, or in place.
func (c Client) command() (command.Cmd, error) {
	exe := c.Exe
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return command.Cmd{}, err
		}
	}
	args := c.Args
	if args == nil {
		args = []string{"netguard-job"}
	}
	switch {
	case c.Site.InPlace && os.Geteuid() == 0:
		return command.Cmd{Name: exe, Args: args, Env: toolEnv()}, nil
	case c.Site.InPlace:
		return command.Cmd{Name: "sudo", Args: append([]string{"-n", "--", exe}, args...)}, nil
	case c.Site.PID <= 0:
		return command.Cmd{}, errors.New("netguard: no site: where the bridges are is not known")
	default:
		enter := append(c.Site.nsenter(), exe)
		return command.Cmd{Name: enter[0], Args: append(enter[1:], args...), Env: append(command.Base(), c.Site.lockPath())}, nil
	}
}

// Enter returns the prefix of a command line that runs a command at the Site. It is empty if
// this process already is there.
func (c Client) Enter() []string {
	switch {
	case c.Site.InPlace && os.Geteuid() == 0:
		return nil
	case c.Site.InPlace:
		return []string{"sudo"}
	default:
		return append(c.Site.nsenter(), "env", c.Site.lockPath())
	}
}

func (s Site) nsenter() []string {
	net := "-n"
	if s.NetNS != "" {
		net = "--net=" + s.NetNS
	}
	return []string{"nsenter", "-t", strconv.Itoa(s.PID), "-U", "--preserve-credentials", net, "--"}
}

// lockPath returns the environment variable with the path of the legacy tables' lock. The
// tools read, edit and write these tables as a whole, so they must use the same lock as
// dockerd, which is in dockerd's own /run.
func (s Site) lockPath() string {
	return lockFile + "=/proc/" + strconv.Itoa(s.PID) + "/root/run/xtables.lock"
}

// sudoName returns the program as sudo finds it: sudo has a PATH of its own.
func (c Client) sudoName() string {
	exe, err := c.Exe, error(nil)
	if exe == "" {
		exe, err = os.Executable()
	}
	if err != nil || slices.Contains(sudoPath, filepath.Dir(exe)) {
		return "aibox"
	}
	return shellquote.Join([]string{exe})
}

// sudoPath is the PATH of programs that sudo runs, as distributions set it.
var sudoPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

func (c Client) explain(req request, err error) error {
	f := fault.New(fault.Environment, "cannot work in the network namespace of Docker's bridges (%s): %w", req.Op, err)
	switch {
	case c.Site.InPlace && os.Geteuid() != 0:
		f = fault.New(fault.Environment, "only root can change the network of the system's Docker, and sudo -n failed: %w", err)
		if req.Op == opGuard || req.Op == opRelease {
			return f.Hint("use a Docker of your own, which needs no root: aibox doctor --fix")
		}
		return f.Hint("sudo %s netguard %s --site host", c.sudoName(), req.Op)
	case c.Site.InPlace:
		return f
	case errors.Is(err, exec.ErrNotFound):
		return f.Hint("apt-get install util-linux")
	default:
		return f.Hint("aibox doctor")
	}
}

// receive reads the answer and its descriptors from the socket. The job has ended, so it
// never waits.
func receive(fd int) (*reply, error) {
	text := make([]byte, messageLimit)
	rights := make([]byte, unix.CmsgSpace(descriptorLimit*4))
	n, rn, flags, _, err := unix.Recvmsg(fd, text, rights, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("the job gave no answer: %w", err)
	}
	answer := &reply{}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	for _, message := range messages {
		fds, err := unix.ParseUnixRights(&message)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			answer.files = append(answer.files, os.NewFile(uintptr(fd), "netguard"))
		}
	}
	if err == nil {
		err = json.Unmarshal(text[:n], answer)
	}
	if err == nil && (flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 || answer.Sockets != len(answer.files)) {
		err = errors.New("it was cut off")
	}
	if err != nil {
		answer.close()
		return nil, fmt.Errorf("reading the job's answer: %w", err)
	}
	return answer, nil
}

func (r *reply) close() { closeAll(r.files) }
