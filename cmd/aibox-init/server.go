package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
	"aibox/internal/probe"
)

const (
	// leftoverGrace is the grace for processes that outlive the agent.
	leftoverGrace = 300 * time.Millisecond
	// killLimit is how long init waits for killed processes to end.
	killLimit = 2 * time.Second
	maxGrace  = 10 * time.Minute
)

// server is the state of PID 1. The goroutine of serve reads the lifeline and never
// blocks on the agent or on writing, so that it always receives a stop.
type server struct {
	line   *line
	reaper *reaper
	input  *input
	ports  *ports
	files  *fileServers
	others *processes // besides the agent

	answering atomic.Bool // a pong is being sent

	mu      sync.Mutex
	started bool
	agent   *program // nil until it runs
	idle    bool     // there is no agent, and processes can be started
	signals []unix.Signal
	resize  *lifeline.Resize
	stopped bool
	grace   time.Duration // of the stop
	tasks   uint64        // that exceeded the limit of processes; 0 if none did
	done    bool          // the exit was sent
	code    int

	freezer freezer
}

// newServer returns the server of a lifeline to the supervisor at address.
func newServer(conn *lifeline.Conn, address string, r *reaper) *server {
	srv := &server{line: &line{conn: conn}, reaper: r, input: newInput(conn.Acknowledge), ports: newPorts(address)}
	srv.others = newProcesses(srv.line, r, srv.report)
	srv.files = newFileServers(r, srv.ports.callBack)
	return srv
}

// serve sends a hello and handles frames until the lifeline ends. After it has sent the
// exit, the supervisor closes the lifeline, and init exits with the agent's code. If the
// lifeline ends earlier, it is lost: serve kills everything at once.
func (srv *server) serve() int {
	for proof := []byte(nil); srv.converse(proof); {
		if proof = srv.reconnect(); proof == nil {
			break
		}
	}
	signalAll(unix.SIGKILL)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.done {
		return srv.code
	}
	if os.Getpid() != 1 {
		// In a sandbox, the death of PID 1 kills the rest.
		srv.reaper.killAll(0, killLimit)
	}
	return exitLost
}

// converse sends a hello and handles frames until the lifeline ends. It reports whether the
// connection was lost; otherwise a frame ended it.
func (srv *server) converse(proof []byte) (lost bool) {
	conn := srv.line.current()
	if conn.SendMessage(lifeline.TypeHello, lifeline.Hello{Version: lifeline.Version, Kernel: kernel(), Proof: proof}) != nil {
		return true
	}
	for {
		f, err := conn.Receive()
		if err != nil {
			return !errors.Is(err, lifeline.ErrProtocol)
		}
		if srv.handle(f) != nil {
			return false
		}
	}
}

// handle handles one frame. An error ends the sandbox.
func (srv *server) handle(f lifeline.Frame) error {
	switch f.Type {
	case lifeline.TypeProbe:
		return with(f, func(plan probe.Plan) error {
			go srv.probe(plan)
			return nil
		})
	case lifeline.TypeStart:
		return with(f, srv.start)
	case lifeline.TypeStdin:
		return srv.input.add(f.Payload)
	case lifeline.TypeStdinEOF:
		srv.input.end()
		return nil
	case lifeline.TypeResize:
		return with(f, srv.setSize)
	case lifeline.TypeSignal:
		return with(f, srv.signal)
	case lifeline.TypeStop:
		return with(f, srv.stop)
	case lifeline.TypeDial:
		return with(f, func(d lifeline.Dial) error {
			go srv.ports.dial(d, func(failed lifeline.DialFailed) { srv.report(lifeline.TypeDialFailed, failed) })
			return nil
		})
	case lifeline.TypeOpenFiles:
		return with(f, func(o lifeline.OpenFiles) error {
			go srv.files.open(o, func(failed lifeline.DialFailed) { srv.report(lifeline.TypeDialFailed, failed) })
			return nil
		})
	case lifeline.TypeListPorts:
		go func() { srv.report(lifeline.TypePorts, listeningPorts()) }()
		return nil
	case lifeline.TypePing:
		srv.pong()
		return nil
	case lifeline.TypeFreeze:
		return with(f, srv.freeze)
	case lifeline.TypeThaw:
		return srv.thaw()
	case lifeline.TypeRestore:
		return with(f, srv.restore)
	default:
		return srv.handleProcess(f)
	}
}

// handleProcess handles one frame about a process besides the agent.
func (srv *server) handleProcess(f lifeline.Frame) error {
	switch f.Type {
	case lifeline.TypeProcess:
		return with(f, srv.others.start)
	case lifeline.TypePrepareProcess:
		go srv.others.launchers.prepareFirst()
		return nil
	case lifeline.TypeProcessResize:
		return with(f, srv.others.resize)
	case lifeline.TypeProcessSignal:
		return with(f, srv.others.signal)
	case lifeline.TypeData:
		return srv.others.data(f.Payload)
	case lifeline.TypeDataEnd:
		return srv.others.dataEnd(f.Payload)
	default:
		return fmt.Errorf("%w: frame %#x is only sent by init", lifeline.ErrProtocol, f.Type)
	}
}

func with[T any](f lifeline.Frame, do func(T) error) error {
	v, err := lifeline.Decode[T](f)
	if err != nil {
		return err
	}
	return do(v)
}

// pong answers a ping in the background, because sending can block while the supervisor
// does not read. One pending answer is enough.
func (srv *server) pong() {
	if !srv.answering.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer srv.answering.Store(false)
		_ = srv.line.current().Send(lifeline.Frame{Type: lifeline.TypePong})
	}()
}

// send sends a message. If that fails it closes the lifeline, which ends serve.
func (srv *server) send(t lifeline.Type, v any) {
	conn := srv.line.current()
	if err := conn.SendMessage(t, v); err != nil {
		_ = conn.Close()
	}
}

// report is send for the results of processes, ports and files. While the sandbox is frozen,
// it waits, because a restored sandbox has another supervisor.
func (srv *server) report(t lifeline.Type, v any) {
	srv.freezer.reports.RLock()
	defer srv.freezer.reports.RUnlock()
	srv.send(t, v)
}

func (srv *server) start(s lifeline.Start) error {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.started {
		return fmt.Errorf("%w: a second start", lifeline.ErrProtocol)
	}
	srv.started = true
	if srv.stopped {
		return nil
	}
	if s.Idle {
		go srv.startIdle(s)
	} else {
		go srv.runAgent(s)
	}
	return nil
}

// runAgent runs the agent from its start to its exit.
func (srv *server) runAgent(s lifeline.Start) {
	a, env, err := startAgent(srv.reaper, s)
	if err != nil {
		code := 125
		if failed, ok := errors.AsType[startError](err); ok {
			code = failed.code
		}
		srv.send(lifeline.TypeError, lifeline.Error{Text: errorText(err)})
		srv.exit(lifeline.Exit{Code: code})
		return
	}
	srv.files.setHome(lookup(env, "HOME"))
	srv.others.setEnvironment(env) // before the supervisor can request a process that needs it
	srv.send(lifeline.TypeStarted, lifeline.Started{PID: a.pid})
	go srv.watchTasks(s.Nproc)
	var copying sync.WaitGroup
	copying.Go(func() { srv.copyOut(a.stdout, lifeline.TypeStdout) })
	if a.stderr != nil {
		copying.Go(func() { srv.copyOut(a.stderr, lifeline.TypeStderr) })
	}
	srv.input.connect(a.input, a.pty != nil)
	srv.adopt(a)
	exit := exitOf(<-a.status)
	srv.files.end()
	if srv.others.end() {
		srv.reaper.waitNone(leftoverGrace, nil) // the children of killed processes
	}
	if !srv.reaper.collect() {
		exit.Left = true
		srv.reaper.killAll(leftoverGrace, killLimit)
	}
	srv.input.close()
	copying.Wait()
	exit.Commits = commits(srv.reaper, s, srv.commitLimit())
	srv.exit(exit)
}

// commitLimit returns the time limit for listing the agent's commits.
func (srv *server) commitLimit() time.Duration {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.stopped {
		return stoppedTime
	}
	return commitTime
}

// adopt stores the running agent and applies the resize, signals and stop that arrived
// while it was starting.
func (srv *server) adopt(a *program) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.agent = a
	if srv.resize != nil {
		a.resize(srv.resize.Rows, srv.resize.Cols)
	}
	for _, sig := range srv.signals {
		_ = unix.Kill(-a.pid, sig)
	}
	srv.signals = nil
	if srv.stopped {
		go srv.reaper.killAll(srv.grace, killLimit)
	}
}

// copyOut sends an output until its last writer is gone. While the supervisor does not
// read, it blocks, and with it the agent, so that no output is lost.
func (srv *server) copyOut(out *output, kind lifeline.Type) {
	buf := make([]byte, 32<<10)
	for {
		n, err := out.Read(buf)
		if n > 0 {
			conn := srv.line.current()
			if conn.Send(lifeline.Frame{Type: kind, Payload: buf[:n]}) != nil {
				_ = conn.Close()
				return
			}
		}
		if err != nil {
			return // EOF, or EIO from a PTY without a slave
		}
	}
}

func (srv *server) exit(e lifeline.Exit) {
	srv.mu.Lock()
	srv.done, srv.code = true, e.Code
	e.Tasks = srv.tasks
	srv.mu.Unlock()
	srv.send(lifeline.TypeExit, e)
}

func (srv *server) setSize(size lifeline.Resize) error {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.resize = &size
	if srv.agent != nil {
		srv.agent.resize(size.Rows, size.Cols)
	}
	return nil
}

func (srv *server) signal(s lifeline.Signal) error {
	if s.Number < 1 || s.Number > 31 {
		return fmt.Errorf("%w: signal %d", lifeline.ErrProtocol, s.Number)
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.agent == nil {
		if len(srv.signals) < 16 {
			srv.signals = append(srv.signals, unix.Signal(s.Number))
		}
		return nil
	}
	_ = unix.Kill(-srv.agent.pid, unix.Signal(s.Number))
	return nil
}

// stop ends the process tree in the background; runAgent then sends the exit. Without an
// agent, stop sends it at once.
func (srv *server) stop(s lifeline.Stop) error {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.stopped = true
	srv.grace = min(max(time.Duration(s.Grace)*time.Millisecond, 0), maxGrace)
	if !srv.started {
		srv.started = true
		go srv.exit(lifeline.Exit{Code: 128 + int(unix.SIGTERM), Signal: int(unix.SIGTERM)})
		return nil
	}
	switch {
	case srv.agent != nil:
		go srv.reaper.killAll(srv.grace, killLimit)
	case srv.idle:
		srv.idle = false
		go srv.endIdle()
	}
	return nil
}

// maxErrorText is the maximum length of an error in a message, in bytes.
const maxErrorText = 4 << 10

// errorText returns the text of an error for a message. It is cut, because it can repeat a long
// argument of the request, and a message over the lifeline's limit would end the sandbox.
func errorText(err error) string {
	text := err.Error()
	if len(text) <= maxErrorText {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorText], "") + "…"
}

func exitOf(status unix.WaitStatus) lifeline.Exit {
	if status.Signaled() {
		return lifeline.Exit{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
	}
	return lifeline.Exit{Code: status.ExitStatus()}
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Version[:])
}
