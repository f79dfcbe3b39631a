package server

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/budget"
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

// outputBound returns the maximum number of bytes to return of an output.
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

// reserveOutput reserves the bytes of both outputs of a call, each of up to bound bytes.
func reserveOutput(ctx context.Context, bound int64) error {
	return budget.Reserve(ctx, 2*bound, "ask for less with max_output_bytes, or read the output as a stream with Start")
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
		Argv: m.GetArgv(), Dir: m.GetDir(), User: m.GetUser(), Stdin: len(m.GetStdin()) > 0,
		Timeout: execTime, Linger: execLinger,
	}
	if request.Env, err = variables(m.GetEnv()); err != nil {
		return nil, err
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
	if err := reserveOutput(ctx, bound); err != nil {
		return nil, err
	}
	ran := execution{bound: bound, stdin: m.GetStdin()}
	exit, err := ran.run(ctx, p.cases, id, request)
	if err != nil {
		if ran.info.ID != 0 {
			p.end(ctx, id, ran.info.ID, syscall.SIGKILL)
		}
		return nil, err
	}
	return connect.NewResponse(&aiboxv1.ExecResponse{
		ProcessId: int32(ran.info.ID), Stdout: ran.stdout.kept, Stderr: ran.stderr.kept,
		StdoutDroppedBytes: ran.stdout.dropped, StderrDroppedBytes: ran.stderr.dropped, Exit: toExit(exit),
		Duration: durationpb.New(time.Since(ran.info.Started)), TimedOut: exit.TimedOut,
	}), nil
}

// execution is a process that Exec runs.
type execution struct {
	stdin []byte
	bound int64 // of each output, in bytes

	info           process.Info // zero until it is started
	stdout, stderr bounded
}

// run gives a process its input, and returns when it has ended.
func (x *execution) run(ctx context.Context, cases Processes, id session.ID, request process.Request) (process.Exit, error) {
	x.stdout.bound, x.stderr.bound = x.bound, x.bound
	var input sync.WaitGroup
	defer input.Wait()
	inputCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	return cases.RunProcess(ctx, id, request, func(info process.Info) error {
		x.info = info
		if len(x.stdin) > 0 {
			input.Go(func() {
				// A process that does not read its input may end earlier.
				_ = cases.ProcessInput(inputCtx, id, info.ID, bytes.NewReader(x.stdin), true)
			})
		}
		return nil
	}, x.visit)
}

// visit adds the output of a frame.
func (x *execution) visit(frame process.Frame) error {
	switch frame.Kind {
	case process.Stdout:
		x.stdout.add(frame.Data)
	case process.Stderr:
		x.stderr.add(frame.Data)
	default:
	}
	return nil
}
