package sandbox

import (
	"context"

	"aibox/session"
)

// Network returns what a sandbox can reach now.
func (s *Service) Network(ctx context.Context, tenant session.Tenant, id string) (Network, error) {
	v, err := s.Get(ctx, tenant, id)
	return v.Network, err
}

// SetNetwork replaces the lists of a running sandbox, and closes the connections that are no
// longer allowed. A sandbox that was created without a way out has no lists: a Usage fault.
func (s *Service) SetNetwork(ctx context.Context, tenant session.Tenant, id string, lists session.NetworkLists) (Network, error) {
	found, err := s.find(tenant, id)
	if err != nil {
		return Network{}, err
	}
	if err := s.Sessions.SetNetwork(ctx, found.ID, lists, "set by "+string(tenant)); err != nil {
		return Network{}, err
	}
	return s.Network(ctx, tenant, id)
}
