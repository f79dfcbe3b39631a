package server

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/setting"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/process"
)

// Bounds of Exec and RunCode.
const (
	execTime      = 10 * time.Minute
	execLinger    = 30 * time.Second
	defaultOutput = 1 << 20
	maxOutput     = 16 << 20
)

// outputBound returns how many bytes of an output are returned.
func outputBound(given int64) (int64, error) {
	switch {
	case given < 0 || given > maxOutput:
		return 0, fault.New(fault.Usage, "max_output_bytes is from 0 to %d, not %d", maxOutput, given)
	case given == 0:
		return defaultOutput, nil
	default:
		return given, nil
	}
}

// bounded keeps the beginning of an output.
type bounded struct {
	kept    []byte
	bound   int64
	dropped int64
}

func (b *bounded) add(data []byte) {
	n := min(int64(len(data)), b.bound-int64(len(b.kept)))
	b.kept = append(b.kept, data[:n]...)
	b.dropped += int64(len(data)) - n
}

func (p *processes) Exec(ctx context.Context, r *connect.Request[aiboxv1.ExecRequest]) (*connect.Response[aiboxv1.ExecResponse], error) {
	m := r.Msg
	bound, err := outputBound(m.GetMaxOutputBytes())
	if err != nil {
		return nil, err
	}
	if len(m.GetStdin()) > maxInput {
		return nil, tooLarge(fmt.Sprintf("the standard input has up to %d bytes, not %d", maxInput, len(m.GetStdin())))
	}
	request := process.Request{
		Argv: m.GetArgv(), Env: variables(m.GetEnv()), Dir: m.GetDir(), User: m.GetUser(), Stdin: len(m.GetStdin()) > 0,
		Timeout: execTime, Linger: execLinger,
	}
	if m.Timeout != nil {
		if request.Timeout, err = setting.FromDuration("timeout", m.GetTimeout()); err != nil {
			return nil, err
		}
	}
	if err := request.Validate(); err != nil {
		return nil, err
	}
	id, err := p.running(ctx, m.GetSandboxId())
	if err != nil {
		return nil, err
	}
	info, err := p.cases.StartProcess(ctx, id, request)
	if err != nil {
		return nil, err
	}
	out, err := p.wait(ctx, id, info.ID, m.GetStdin(), bound)
	if err != nil {
		p.kill(ctx, id, info.ID)
		return nil, err
	}
	out.Duration, out.TimedOut = durationpb.New(time.Since(info.Started)), out.GetExit().GetTimedOut()
	return connect.NewResponse(out), nil
}

// wait gives a process its input, and returns its output when it has ended.
func (p *processes) wait(ctx context.Context, id session.ID, number int, stdin []byte, bound int64) (*aiboxv1.ExecResponse, error) {
	if len(stdin) > 0 {
		inputCtx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			// A process that does not read its input ends before.
			_ = p.cases.ProcessInput(inputCtx, id, number, bytes.NewReader(stdin), true)
		}()
		defer func() { cancel(); <-done }()
	}
	stdout, stderr := bounded{bound: bound}, bounded{bound: bound}
	exit, err := p.cases.ReadProcess(ctx, id, number, 1, func(frame process.Frame) error {
		switch frame.Kind {
		case process.Stdout:
			stdout.add(frame.Data)
		case process.Stderr:
			stderr.add(frame.Data)
		default:
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &aiboxv1.ExecResponse{
		ProcessId: int32(number), Stdout: stdout.kept, Stderr: stderr.kept,
		StdoutDroppedBytes: stdout.dropped, StderrDroppedBytes: stderr.dropped, Exit: toExit(exit),
	}, nil
}
