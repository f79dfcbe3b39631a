package client

import (
	"context"
	"errors"
	"io"
	"time"

	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/control"
	"aibox/session/process"
)

// StartProcess starts a process in the sandbox of a running session, besides its agent. It
// returns when the process runs or could not be run. Its changes to the workspace are part
// of the session's changes, like the agent's own.
func (s *Client) StartProcess(ctx context.Context, id session.ID, request process.Request) (info process.Info, err error) {
	if err := s.checkRunning(id); err != nil {
		return info, err
	}
	err = s.sendPatiently(ctx, id, func(ctx context.Context, c control.Client) error {
		info, err = c.StartProcess(ctx, request)
		return err
	})
	return info, err
}

// checkRunning refuses a session whose agent does not run; the cause is ErrWrongState.
func (s *Client) checkRunning(id session.ID) error {
	record, err := s.store.Load(id)
	if err != nil {
		return err
	}
	switch record.State.Phase {
	case session.Running:
		return nil
	case session.Preparing, session.Queued:
		return session.WrongState("%s has not started its agent yet", id).
			Hint("try again when `aibox ls` shows it running")
	default:
		return session.WrongState("%s has ended, and its sandbox with it", id).
			Hint("`aibox workspace %s` opens a shell in a copy of its workspace", id).
			Hint("`%s` continues it", session.ResumeCommand(id, record.Agent))
	}
}

// Processes lists the processes of a running session, in the order of their starts.
func (s *Client) Processes(ctx context.Context, id session.ID) (all []process.Info, err error) {
	if err := s.checkRunning(id); err != nil {
		return nil, err
	}
	err = s.send(id, func(c control.Client) error {
		all, err = c.Processes(ctx)
		return err
	})
	return all, err
}

// Process returns a process of a running session, or a fault of the kind NotFound.
func (s *Client) Process(ctx context.Context, id session.ID, number int) (info process.Info, err error) {
	if err := s.checkRunning(id); err != nil {
		return process.Info{}, err
	}
	err = s.send(id, func(c control.Client) error {
		info, err = c.Process(ctx, number)
		return err
	})
	return info, err
}

// RunProcess is StartProcess followed by ReadProcess from the first frame on, over one
// connection. It calls started when the process runs or could not be run; an error of
// started ends RunProcess, but not the process.
func (s *Client) RunProcess(ctx context.Context, id session.ID, request process.Request, started func(process.Info) error, visit func(process.Frame) error) (process.Exit, error) {
	var info process.Info
	var frames *control.ProcessReader
	err := s.sendPatiently(ctx, id, func(ctx context.Context, c control.Client) (err error) {
		info, frames, err = c.RunProcess(ctx, request)
		return err
	})
	if errors.Is(err, session.ErrWrongState) {
		if reason := s.checkRunning(id); reason != nil {
			return process.Exit{}, reason
		}
	}
	if err != nil {
		return process.Exit{}, err
	}
	if err := started(info); err != nil {
		if frames != nil {
			_ = frames.Close()
		}
		return process.Exit{}, err
	}
	return s.readProcess(ctx, id, info.ID, frames, 1, visit)
}

// ReadProcess visits the frames of a process from the frame numbered from on, until it has
// ended, and returns its exit. The data of a frame is valid until visit returns. It
// reconnects when the connection is lost.
func (s *Client) ReadProcess(ctx context.Context, id session.ID, number int, from uint64, visit func(process.Frame) error) (process.Exit, error) {
	return s.readProcess(ctx, id, number, nil, from, visit)
}

// readProcess is ReadProcess with an optional connection: frames is nil, or begins with the
// frame numbered from.
func (s *Client) readProcess(ctx context.Context, id session.ID, number int, frames *control.ProcessReader, from uint64, visit func(process.Frame) error) (process.Exit, error) {
	for more := s.mayReach(id); more() || frames != nil; {
		var exit *process.Exit
		err := s.whileResponsive(ctx, id, func(ctx context.Context) (err error) {
			if frames == nil {
				if frames, err = s.dial(id).ConnectProcess(ctx, number, from); err != nil {
					return err
				}
			}
			exit, from, err = readFrames(ctx, frames, from, visit)
			frames = nil
			return err
		})
		var refused *control.RefusedError
		switch {
		case err == nil && exit != nil:
			return *exit, nil
		case errors.As(err, &refused):
			return process.Exit{}, refusal(refused)
		case !errors.Is(err, control.ErrNoSupervisor):
			return process.Exit{}, err
		}
		select {
		case <-time.After(reconnectPause):
		case <-ctx.Done():
			return process.Exit{}, ctx.Err()
		}
	}
	return process.Exit{}, fault.New(fault.AgentFailed, "%s ended before its process", id)
}

// readFrames reads the frames of a connection, and closes it. It returns the number of the next
// frame.
func readFrames(ctx context.Context, reader *control.ProcessReader, from uint64, visit func(process.Frame) error) (*process.Exit, uint64, error) {
	defer reader.Close()
	stop := context.AfterFunc(ctx, func() { _ = reader.Close() })
	defer stop()
	for {
		frame, err := reader.Next()
		switch {
		case ctx.Err() != nil:
			return nil, from, ctx.Err()
		case err != nil:
			return nil, from, err
		}
		if err := visit(frame); err != nil {
			return nil, from, err
		}
		from = frame.Seq + 1
		switch frame.Kind {
		case process.Lost:
			gap, err := frame.Gap()
			if err != nil {
				return nil, from, err
			}
			from = gap.Next
		case process.Ended:
			exit, err := frame.Exit()
			return &exit, from, err
		}
	}
}

// ProcessInput sends input to a process until in ends, and then ends the process's input if
// end is set. When the process ends before, the fault has the cause session.ErrWrongState.
func (s *Client) ProcessInput(ctx context.Context, id session.ID, number int, in io.Reader, end bool) error {
	return s.sendPatiently(ctx, id, func(ctx context.Context, c control.Client) error { return c.ProcessInput(ctx, number, in, end) })
}

// SignalProcess sends a signal to a process's group.
func (s *Client) SignalProcess(ctx context.Context, id session.ID, number, signal int) error {
	return s.send(id, func(c control.Client) error { return c.SignalProcess(ctx, number, signal) })
}

// ResizeProcess sets the size of a process's terminal.
func (s *Client) ResizeProcess(ctx context.Context, id session.ID, number int, size screen.Size) error {
	return s.send(id, func(c control.Client) error { return c.ResizeProcess(ctx, number, size) })
}

// AttachProcess attaches a terminal to the terminal of a process, as Attach does for the
// agent's.
func (s *Client) AttachProcess(ctx context.Context, id session.ID, number int, size screen.Size, colors screen.Colors) (attachment *control.Attachment, err error) {
	err = s.send(id, func(c control.Client) error {
		attachment, err = c.AttachProcess(ctx, number, size, colors)
		return err
	})
	if err == nil {
		attachment.OnTimeout(func() error { return s.UnresponsiveFault(id) })
	}
	return attachment, err
}
