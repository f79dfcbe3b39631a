package supervisor

import (
	"context"
	"io"
	"net"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/files"
)

// fileAccess gives clients access to the files of the sandbox, while the agent runs.
type fileAccess struct {
	session *supervisor
	relay   *files.Relay
}

func newFileAccess(s *supervisor) *fileAccess {
	a := &fileAccess{session: s}
	a.relay = files.NewRelay(func(ctx context.Context, user string) (net.Conn, error) {
		user, err := userOf(s.launch.Spec.Sandbox, user)
		if err != nil {
			return nil, &files.Error{Code: files.Permission, Message: err.Error()}
		}
		if err := s.storing.use(ctx); err != nil {
			return nil, err
		}
		defer s.storing.leave()
		return s.ports.dialer.DialFiles(ctx, user)
	}, a.done)
	return a
}

// Serve serves one request of the client that connect returns.
func (a *fileAccess) Serve(ctx context.Context, connect func() (net.Conn, io.Reader, error)) error {
	ended, leave, err := a.session.ports.enter()
	if err != nil {
		return fault.New(fault.Conflict, "its agent does not run")
	}
	defer leave()
	client, in, err := connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-ended:
			_ = client.Close()
			cancel()
		case <-ctx.Done():
		}
	}()
	defer a.session.beginCall()() // a transfer has no other traffic that counts
	a.relay.Serve(ctx, client, in)
	return nil
}

// done logs a request that changed files or should have done so.
func (a *fileAccess) done(q files.Request, entry *files.Entry, err error) {
	a.session.noteActivity()
	if !q.Changes() {
		return
	}
	event := audit.FileChange{Operation: string(q.Op), Path: q.Path, To: q.To, User: q.User}
	if entry != nil && q.Op == files.OpWrite {
		event.Bytes = entry.Size
	}
	if err != nil {
		event.Error = err.Error()
	}
	a.session.audit(audit.FileChanged, event)
}
