package server

import (
	"context"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/creation"
	"aibox/app/sandbox"
)

// create creates a sandbox, or returns the one that an earlier call with the key created. A
// creation without a key is recorded, too, so that a caller who gets no answer does not own
// an unknown sandbox.
func (s *sandboxes) create(ctx context.Context, request sandbox.Request, m *aiboxv1.CreateSandboxRequest) (made sandbox.Sandbox, err error) {
	if s.creations == nil {
		if err := creation.Check(m.GetIdempotencyKey()); err != nil {
			return made, err
		}
		return s.cases.Create(ctx, request, nil)
	}
	create := func(record creation.Record) error {
		request.RecordID = record
		made, err = s.cases.Create(ctx, request, nil)
		return err
	}
	if m.GetIdempotencyKey() == "" {
		err = s.creations.DoOnce(ctx, request.Tenant, create)
		return made, err
	}
	earlier, err := s.creations.Do(ctx, request.Tenant, m.GetIdempotencyKey(), m, create)
	if err != nil || earlier == "" {
		return made, err
	}
	return s.cases.Get(ctx, request.Tenant, string(earlier))
}

// EndAbandoned settles the creations whose process was killed: it ends sandboxes that no
// caller knows of.
func (s *Server) EndAbandoned(ctx context.Context) error {
	if s.options.Services.Creations == nil {
		return nil
	}
	return s.options.Services.Creations.SettleAll(ctx)
}
