package session

import (
	"encoding/json"
	"slices"

	"aibox/audit"
	"aibox/netguard"
)

// Learned returns the allow list that would have allowed all requests of a session that
// were allowed, without what the session's own list allows and without hosts that never
// answered. It reads the session's log;
// a damaged one is an error.
func (s *contact) Learned(id ID) ([]netguard.Proposal, error) {
	found, err := s.store.Load(id)
	if err != nil {
		return nil, err
	}
	policy, _, err := found.Policy()
	if err != nil {
		return nil, err
	}
	uses := map[netguard.Destination]*netguard.Use{}
	ended := map[netguard.Destination]int{}
	of := func(host string, port int) *netguard.Use {
		parsed, err := netguard.ParseHost(host)
		if err != nil || port < 1 || port > 65535 {
			return nil
		}
		d := netguard.Destination{Host: parsed, Port: uint16(port)}
		if uses[d] == nil {
			uses[d] = &netguard.Use{Destination: d}
		}
		return uses[d]
	}
	err = s.Events(id, func(e audit.Event) error {
		switch e.Type {
		case audit.EgressAllowed:
			var request audit.Egress
			if err := json.Unmarshal(e.Data, &request); err != nil {
				return err
			}
			if use := of(request.Host, request.Port); use != nil {
				use.Requests++
			}
		case audit.EgressClosed:
			var end audit.EgressEnd
			if err := json.Unmarshal(e.Data, &end); err != nil {
				return err
			}
			if use := of(end.Host, end.Port); use != nil {
				use.Up, use.Down = use.Up+end.BytesUp, use.Down+end.BytesDown
				ended[use.Destination]++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]netguard.Use, 0, len(uses))
	for d, use := range uses {
		if unreachable := use.Down == 0 && ended[d] >= use.Requests; !unreachable {
			all = append(all, *use)
		}
	}
	known := make([]netguard.Pattern, 0, len(policy.Allow))
	for _, rule := range policy.Allow {
		known = append(known, rule.Pattern)
	}
	return netguard.Propose(all, slices.Clip(known)), nil
}
