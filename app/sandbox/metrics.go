package sandbox

import (
	"context"

	"aibox/session"
)

// Metrics are the resource usage and the network traffic of a running sandbox.
type Metrics struct {
	session.Usage
	Egress  session.Egress
	Tokens  session.Tokens
	Refused int // accesses that the network refused
}

// Metrics measures a running sandbox. A sandbox that has ended has only its last counters.
func (s *Service) Metrics(ctx context.Context, tenant session.Tenant, id string) (Metrics, error) {
	found, err := s.see(tenant, id)
	if err != nil {
		return Metrics{}, err
	}
	live, err := s.Sessions.Live(found.ID)
	if err != nil {
		return Metrics{}, err
	}
	m := Metrics{Egress: live.Egress, Tokens: live.Tokens}
	for _, refusal := range live.Refused {
		m.Refused += refusal.Times
	}
	if found.State.Phase != session.Running {
		return m, nil
	}
	m.Usage, err = s.Sessions.Usage(ctx, found.ID)
	return m, err
}
