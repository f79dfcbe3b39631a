package client

import (
	"context"

	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/control"
)

// ChangePolicy changes the lists of a running session, and closes the connections that are
// no longer allowed. The error is a Usage fault if the session has no egress proxy, an
// entry is invalid, or the session's own deny list makes an entry useless.
func (s *Client) ChangePolicy(ctx context.Context, id session.ID, change session.PolicyChange) (session.PolicyChanged, error) {
	found, err := s.store.Load(id)
	if err != nil {
		return session.PolicyChanged{}, err
	}
	if mode := found.Mode(); !mode.HasProxy() && found.State.Phase != session.Ended {
		return session.PolicyChanged{}, noProxyFault(id, mode)
	}
	var changed session.PolicyChanged
	err = s.send(id, func(c control.Client) error {
		return c.ChangePolicy(ctx, change.Allow, change.Deny, change.Reason, &changed)
	})
	return changed, err
}

// noProxyFault is the fault for a change of the lists in a session without an egress proxy.
func noProxyFault(id session.ID, mode netguard.Mode) error {
	return fault.New(fault.Usage, "%s runs with the network policy %s, which has no way out of the sandbox, so it has no list of hosts", id, mode).
		Hint("aibox run --network allowlist --allow HOST …   # starts a session that reaches HOST")
}
