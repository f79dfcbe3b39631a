package cli

import (
	"context"
	"net"

	"aibox/internal/scripted"
	"aibox/internal/secret"
	"aibox/netguard/gateway"
	"aibox/session"
)

// openInference finds the model server that --inference names.
func openInference(ctx context.Context, value string, env func(string) (string, bool)) (session.Inference, error) {
	upstream, err := gateway.Detect(ctx, value, env)
	if err != nil {
		return nil, err
	}
	if upstream.Kind == gateway.Scripted {
		script, err := scripted.Open(upstream.Script)
		if err != nil {
			return nil, err
		}
		upstream.Handler = scripted.New(script)
	}
	return inference{upstream}, nil
}

// inference adapts the gateway to session.Inference.
type inference struct{ upstream gateway.Upstream }

func (i inference) Name() string { return i.upstream.Name }

func (i inference) Models(ctx context.Context) ([]string, error) {
	models, err := gateway.Preflight(ctx, i.upstream)
	names := make([]string, 0, len(models))
	for _, model := range models {
		names = append(names, model.ID)
	}
	return names, err
}

func (i inference) Serve(ctx context.Context, listener net.Listener, placeholder secret.Value, log func(session.ModelCall)) error {
	handler, err := gateway.New(gateway.Config{
		Upstream: i.upstream, Placeholder: placeholder,
		Log: func(e gateway.Event) {
			log(session.ModelCall{
				Method: e.Method, Path: e.Path, Model: e.Model, Status: e.Status,
				Input: int(e.InputTokens), Output: int(e.OutputTokens), Millis: e.Millis, Error: e.Error,
			})
		},
	})
	if err != nil {
		return err
	}
	defer handler.Close()
	return gateway.Serve(ctx, listener, handler)
}
