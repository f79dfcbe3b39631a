package sandbox

import (
	"context"

	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
)

// Network returns the current network policy of a sandbox.
func (s *Service) Network(ctx context.Context, tenant session.Tenant, id string) (Network, error) {
	v, err := s.Get(ctx, tenant, id)
	return v.Network, err
}

// SetNetwork replaces the lists of a running sandbox, and closes the connections that are
// no longer allowed. If the sandbox was created without network access, the error is a
// Usage fault.
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

// Explain returns the decision of a sandbox's policy about a host, like `aibox netguard
// explain`. It resolves no names.
func (s *Service) Explain(_ context.Context, tenant session.Tenant, id, host string, port int) (allowed bool, reason, rule string, err error) {
	found, err := s.find(tenant, id)
	if err != nil {
		return false, "", "", err
	}
	name, err := netguard.ParseHost(host)
	if err != nil {
		return false, "", "", fault.New(fault.Usage, "%w", err).Hint("give a host name or an address, without a scheme and a path")
	}
	if port < 1 || port > 65535 {
		return false, "", "", fault.New(fault.Usage, "%d is not a port", port)
	}
	e, err := run.Explain(&found.Spec, found.State.Lists, found.ID, netguard.Destination{Host: name, Port: uint16(port)}, s.CheckAddresses)
	return e.Allowed, e.Explanation, e.Rule, err
}
