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

// Metrics measures a running sandbox.
func (s *Service) Metrics(ctx context.Context, tenant session.Tenant, id string) (Metrics, error) {
	found, err := s.see(tenant, id)
	if err != nil {
		return Metrics{}, err
	}
	if state := stateOf(&found); state != Running {
		return Metrics{}, notRunning(id, state)
	}
	live, err := s.Sessions.Live(found.ID)
	if err != nil {
		return Metrics{}, err
	}
	m := Metrics{Egress: live.Egress, Tokens: live.Tokens}
	for _, refusal := range live.Refused {
		m.Refused += refusal.Times
	}
	m.Usage, err = s.Sessions.Usage(ctx, found.ID)
	return m, err
}
