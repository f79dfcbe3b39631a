package server

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/session"
)

// Code runs source text in a running sandbox.
type Code interface {
	RunCode(ctx context.Context, id session.ID, r *aiboxv1.RunCodeRequest) (*aiboxv1.RunCodeResponse, error)
	CreateContext(ctx context.Context, id session.ID, r *aiboxv1.CreateContextRequest) (*aiboxv1.CodeContext, error)
	DeleteContext(ctx context.Context, id session.ID, context string) error
}

// runCode calls do for the caller's running sandbox, if the server can run code.
func (p *processes) runCode(ctx context.Context, sandbox string, do func(session.ID) error) error {
	id, err := p.running(ctx, sandbox)
	if err != nil {
		return err
	}
	if p.code == nil {
		return errUnsupported
	}
	return do(id)
}

func (p *processes) RunCode(ctx context.Context, r *connect.Request[aiboxv1.RunCodeRequest]) (response *connect.Response[aiboxv1.RunCodeResponse], err error) {
	err = p.runCode(ctx, r.Msg.GetSandboxId(), func(id session.ID) error {
		bound, err := outputBound(r.Msg.GetMaxOutputBytes())
		if err == nil {
			err = reserveOutput(ctx, bound)
		}
		if err != nil {
			return err
		}
		out, err := p.code.RunCode(ctx, id, r.Msg)
		response = connect.NewResponse(out)
		return err
	})
	return response, err
}

func (p *processes) CreateContext(ctx context.Context, r *connect.Request[aiboxv1.CreateContextRequest]) (response *connect.Response[aiboxv1.CodeContext], err error) {
	err = p.runCode(ctx, r.Msg.GetSandboxId(), func(id session.ID) error {
		out, err := p.code.CreateContext(ctx, id, r.Msg)
		response = connect.NewResponse(out)
		return err
	})
	return response, err
}

func (p *processes) DeleteContext(ctx context.Context, r *connect.Request[aiboxv1.DeleteContextRequest]) (*connect.Response[emptypb.Empty], error) {
	err := p.runCode(ctx, r.Msg.GetSandboxId(), func(id session.ID) error {
		return p.code.DeleteContext(ctx, id, r.Msg.GetContextId())
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}
