package e2b

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/e2b/processpb"
)

// maxInput is the maximum size of the input of one call of aibox's API in bytes.
const maxInput = 1 << 20

var (
	errNoTerminal = connect.NewError(connect.CodeFailedPrecondition, errors.New("the process has no terminal"))
	errNoPipe     = connect.NewError(connect.CodeFailedPrecondition, errors.New("the process has a terminal: send its input there, and end it with the byte 4"))
	errOrder      = connect.NewError(connect.CodeInvalidArgument, errors.New("the first message names the process, and no other one does"))
)

// SendInput sends input to a pipe or a terminal.
func (p *processes) SendInput(ctx context.Context, r *connect.Request[processpb.SendInputRequest]) (*connect.Response[processpb.SendInputResponse], error) {
	found, err := p.find(ctx, r.Msg.Process)
	if err != nil {
		return nil, err
	}
	if err := p.write(ctx, found, r.Msg.Input); err != nil {
		return nil, err
	}
	return connect.NewResponse(&processpb.SendInputResponse{}), nil
}

// StreamInput sends input to one process, in order.
func (p *processes) StreamInput(ctx context.Context, in *connect.ClientStream[processpb.StreamInputRequest]) (*connect.Response[processpb.StreamInputResponse], error) {
	var found *aiboxv1.Process
	for in.Receive() {
		var err error
		switch event := in.Msg().Event.(type) {
		case *processpb.StreamInputRequest_Start:
			if found != nil {
				return nil, errOrder
			}
			found, err = p.find(ctx, event.Start.Process)
		case *processpb.StreamInputRequest_Data:
			if found == nil {
				return nil, errOrder
			}
			err = p.write(ctx, found, event.Data.Input)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return connect.NewResponse(&processpb.StreamInputResponse{}), nil
}

// write sends input to a process.
func (p *processes) write(ctx context.Context, to *aiboxv1.Process, input *processpb.ProcessInput) error {
	var data []byte
	switch in := input.GetInput().(type) {
	case *processpb.ProcessInput_Stdin:
		if to.Tty {
			return errNoPipe
		}
		data = in.Stdin
	case *processpb.ProcessInput_Pty:
		if !to.Tty {
			return errNoTerminal
		}
		data = in.Pty
	}
	for len(data) > 0 {
		part := data[:min(len(data), maxInput)]
		data = data[len(part):]
		_, err := p.api.processes.SendInput(ctx, connect.NewRequest(&aiboxv1.SendInputRequest{
			SandboxId: callerOf(ctx).sandbox, ProcessId: to.ProcessId, Data: part,
		}))
		if err != nil {
			return p.api.insideError(ctx, err)
		}
	}
	return nil
}

// CloseStdin ends the input of a process.
func (p *processes) CloseStdin(ctx context.Context, r *connect.Request[processpb.CloseStdinRequest]) (*connect.Response[processpb.CloseStdinResponse], error) {
	found, err := p.find(ctx, r.Msg.Process)
	if err != nil {
		return nil, err
	}
	if found.Tty {
		return nil, errNoPipe
	}
	_, err = p.api.processes.CloseInput(ctx, connect.NewRequest(&aiboxv1.CloseInputRequest{
		SandboxId: callerOf(ctx).sandbox, ProcessId: found.ProcessId,
	}))
	if err != nil {
		return nil, p.api.insideError(ctx, err)
	}
	return connect.NewResponse(&processpb.CloseStdinResponse{}), nil
}
