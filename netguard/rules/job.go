package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
)

// The jobs.
const (
	opUp      = "up"
	opDown    = "down"
	opStatus  = "status"
	opGuard   = "guard"
	opRelease = "release"
)

// messageLimit is the maximum size of a request or an answer, descriptorLimit the maximum
// number of sockets in one.
const (
	messageLimit    = 128 << 10
	descriptorLimit = 32
)

type request struct {
	Op     string `json:"op"`
	DryRun bool   `json:"dry_run,omitempty"` // of up and down
	Bridge string `json:"bridge,omitempty"`
	GuardRequest
}

type reply struct {
	Status  Status     `json:"status"`
	Changes []Change   `json:"changes,omitempty"`
	Error   string     `json:"error,omitempty"`
	Kind    fault.Kind `json:"kind,omitempty"`
	Hints   []string   `json:"hints,omitempty"`
	Sockets int        `json:"sockets,omitempty"`

	files []*os.File
}

// ServeJob is the other side of Client: it answers the one request that arrives on conn, a
// Unix socket (the job's standard input), by acting on the namespaces this process is in.
// Only the hidden command netguard-job calls it. The error is about the exchange; an error of
// the job itself is in the answer. The process ends when the client does: a job that waits
// for a lock after that would take ports that the next session on the bridge needs.
func ServeJob(ctx context.Context, conn *os.File) error {
	go func() {
		awaitHangup(conn)
		os.Exit(1)
	}()
	return serve(ctx, conn, perform)
}

// awaitHangup returns when the other side of conn is closed.
func awaitHangup(conn *os.File) {
	for {
		ready := []unix.PollFd{{Fd: int32(conn.Fd())}} //nolint:gosec // a descriptor; a hangup needs no request
		if n, err := unix.Poll(ready, -1); n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func serve(ctx context.Context, conn *os.File, perform func(context.Context, request) reply) error {
	text := make([]byte, messageLimit)
	n, err := unix.Read(int(conn.Fd()), text)
	if err != nil {
		return fmt.Errorf("reading the request (this command is aibox's own): %w", err)
	}
	var req request
	if err := json.Unmarshal(text[:n], &req); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	answer := perform(ctx, req)
	defer closeAll(answer.files)
	fds := make([]int, len(answer.files))
	for i, file := range answer.files {
		fds[i] = int(file.Fd())
	}
	answer.Sockets = len(fds)
	if text, err = json.Marshal(answer); err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(int(conn.Fd()), text, rights, nil, 0)
}

func perform(ctx context.Context, req request) reply { return job{applyChange}.perform(ctx, req) }

func (j job) perform(ctx context.Context, req request) (answer reply) {
	if len(req.TCP)+len(req.UDP) >= descriptorLimit {
		return failure(errors.New("too many ports"))
	}
	var err error
	switch {
	case req.Op == opUp && req.DryRun:
		answer.Changes, err = planUp(ctx)
	case req.Op == opUp:
		err = j.up(ctx)
	case req.Op == opDown && req.DryRun:
		answer.Changes, err = planDown(ctx)
	case req.Op == opDown:
		err = j.down(ctx)
	case req.Op == opStatus:
		answer.Status, err = status(ctx)
	case req.Op == opGuard:
		answer.files, err = j.guard(ctx, req.Bridge, req.GuardRequest)
	case req.Op == opRelease:
		err = j.release(ctx, req.Bridge)
	default:
		err = fmt.Errorf("unknown job %q", req.Op)
	}
	if err != nil {
		return failure(err)
	}
	return answer
}

func failure(err error) reply {
	return reply{Error: err.Error(), Kind: fault.KindOf(err), Hints: fault.Hints(err)}
}
