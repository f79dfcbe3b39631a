package client

import (
	"context"

	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session/control"
)

// ChangePolicy changes the lists of a running session, and closes the connections that are
// no longer allowed. The error is a Usage fault if the session has no egress proxy, an
// entry is invalid, or the session's own deny list makes an entry useless.
func (s *supervisorClient) ChangePolicy(ctx context.Context, id ID, change PolicyChange) (PolicyChanged, error) {
	found, err := s.store.Load(id)
	if err != nil {
		return PolicyChanged{}, err
	}
	if err := CheckLists(change.Allow, change.Deny); err != nil {
		return PolicyChanged{}, err
	}
	if mode := found.Mode(); !mode.HasProxy() && found.State.Phase != Ended {
		return PolicyChanged{}, noProxyFault(id, mode)
	}
	var changed PolicyChanged
	err = s.send(id, func(c control.Client) error {
		return c.ChangePolicy(ctx, change.Allow, change.Deny, change.Reason, &changed)
	})
	return changed, err
}

// noProxyFault is the fault for a change of the lists in a session without an egress proxy.
func noProxyFault(id ID, mode netguard.Mode) error {
	return fault.New(fault.Usage, "%s runs with the network policy %s, which has no way out of the sandbox, so it has no list of hosts", id, mode).
		Hint("aibox run --network allowlist --allow HOST …   # starts a session that reaches HOST")
}
