package auditlog

import (
	"encoding/json"
	"slices"

	"aibox/audit"
	"aibox/netguard"
	"aibox/netguard/preset"
	"aibox/session"
)

// Learned is the result of the analysis of a session's requests.
type Learned struct {
	// Proposals are the entries that an allow list needs for the allowed requests.
	Proposals []netguard.Proposal
	// Incomplete reports that the log does not name the hosts of all of these requests.
	Incomplete bool
}

// Learned returns an allow list that allows all allowed requests of a session, without
// entries that the session's own list covers and without hosts that never answered. It
// reads the session's log; it is an error if that is damaged.
func (s *Logs) Learned(id session.ID) (Learned, error) {
	found, err := s.store.Load(id)
	if err != nil {
		return Learned{}, err
	}
	policy, presets, err := found.Policy()
	if err != nil {
		return Learned{}, err
	}
	seen := observed{uses: map[netguard.Destination]*observedUse{}}
	if err := s.client.Events(id, seen.add); err != nil {
		return Learned{}, err
	}
	known := make([]netguard.Pattern, 0, len(policy.Allow))
	for _, rule := range policy.Allow {
		known = append(known, rule.Pattern)
	}
	fromPresets, err := presetPatterns(&found, presets)
	if err != nil {
		return Learned{}, err
	}
	known = append(known, fromPresets...)
	return Learned{netguard.Propose(seen.reached(), slices.Clip(known)), seen.incomplete()}, nil
}

// presetPatterns returns the entries of the session's allow list that tools in its sandbox have named
// for these presets.
func presetPatterns(s *session.Session, presets []string) (patterns []netguard.Pattern, err error) {
	if s.State.Lists == nil {
		return nil, nil
	}
	for _, entry := range s.State.Lists.Allow {
		if !slices.ContainsFunc(presets, func(name string) bool { return entry.Source == preset.Source(name) }) {
			continue
		}
		pattern, err := netguard.ParseAllow(entry.Pattern)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, pattern)
	}
	return patterns, nil
}

// observed is what the events of a log show about allowed requests.
type observed struct {
	uses   map[netguard.Destination]*observedUse
	others bool // there were requests to hosts that the log does not name
	total  int  // total of the session; 0 if unknown
}

// observedUse is the use of one destination, at first from its single requests in the log.
type observedUse struct {
	netguard.Use
	ended   int
	counted *audit.EgressCount // all requests, if the log does not have each
}

// of returns the use of a destination; nil if it is none.
func (o *observed) of(host string, port int) *observedUse {
	parsed, err := netguard.ParseHost(host)
	if err != nil || port < 1 || port > 65535 {
		return nil
	}
	d := netguard.Destination{Host: parsed, Port: uint16(port)}
	if o.uses[d] == nil {
		o.uses[d] = &observedUse{Use: netguard.Use{Destination: d}}
	}
	return o.uses[d]
}

func (o *observed) add(e audit.Event) error {
	switch e.Type.Today() {
	case audit.EgressAllowed:
		var request audit.Egress
		if err := json.Unmarshal(e.Data, &request); err != nil {
			return err
		}
		if use := o.of(request.Host, request.Port); use != nil {
			use.Requests++
		}
	case audit.EgressClosed:
		var end audit.EgressEnd
		if err := json.Unmarshal(e.Data, &end); err != nil {
			return err
		}
		if use := o.of(end.Host, end.Port); use != nil {
			use.Up, use.Down = use.Up+end.BytesUp, use.Down+end.BytesDown
			use.ended++
		}
	case audit.EgressCounted:
		var count audit.EgressCount
		if err := json.Unmarshal(e.Data, &count); err != nil {
			return err
		}
		if use := o.of(count.Host, count.Port); use != nil {
			use.counted = &count
		}
		o.others = o.others || count.Others
	case audit.SandboxDestroyed:
		var totals Totals
		if len(e.Data) > 0 && json.Unmarshal(e.Data, &totals) == nil {
			o.total = totals.Egress.Allowed
		}
	}
	return nil
}

// reached returns the uses of the hosts that answered or may have answered.
func (o *observed) reached() []netguard.Use {
	all := make([]netguard.Use, 0, len(o.uses))
	for _, use := range o.uses {
		unreachable := use.Down == 0 && use.ended >= use.Requests
		if c := use.counted; c != nil {
			use.Requests, use.Up, use.Down = c.Requests, c.BytesUp, c.BytesDown
			unreachable = false // the ends of some connections are unknown
		}
		if !unreachable {
			all = append(all, use.Use)
		}
	}
	return all
}

// incomplete reports whether there were requests to hosts that the log does not name. Logs
// of earlier versions then have fewer requests than their totals. It must be called after
// reached.
func (o *observed) incomplete() bool {
	named := 0
	for _, use := range o.uses {
		named += use.Requests
	}
	return o.others || named < o.total
}
