package auditlog

import (
	"encoding/json"

	"aibox/audit"
	"aibox/session"
)

// Summary summarizes events. The zero value summarizes none.
type Summary struct {
	Allowed   int   `json:"allowed"` // requests to the egress proxy
	Refused   int   `json:"refused"` // requests to the egress proxy and other packets
	BytesUp   int64 `json:"bytes_up"`
	BytesDown int64 `json:"bytes_down"`
	Names     int   `json:"dns_refused"`
	Calls     int   `json:"model_calls"`
	Input     int   `json:"input_tokens"`
	Output    int   `json:"output_tokens"`
	Probes    int   `json:"probes"`
	Failed    int   `json:"probes_failed"`
	Accepted  int   `json:"accepted"` // number of accepts
	Discarded int   `json:"discarded"`
}

// Totals are the counts of a whole session, in the data of its SandboxDestroyed event. The log
// has repeated accesses only once, and not all if there are very many.
type Totals struct {
	Calls   int                  `json:"calls"`
	Input   int                  `json:"input_tokens"`
	Output  int                  `json:"output_tokens"`
	Sent    int64                `json:"sent_bytes,omitempty"` // of requests to the model, as in ModelCall
	Models  []session.ModelUsage `json:"models,omitempty"`     // the most used first
	Refused map[string]int       `json:"refused,omitempty"`    // by Access.What
	Egress  session.Egress       `json:"egress,omitzero"`
}

// Add adds an event.
func (a *Summary) Add(e audit.Event) {
	switch e.Type.Today() {
	case audit.EgressClosed:
		var end audit.EgressEnd
		if json.Unmarshal(e.Data, &end) == nil {
			a.BytesUp, a.BytesDown = a.BytesUp+max(end.BytesUp, 0), a.BytesDown+max(end.BytesDown, 0)
		}
	case audit.EgressCounted: // counted in the totals
	case audit.ProbesRan:
		a.addProbes(e)
	case audit.ChangesAccepted:
		a.Accepted++
	case audit.ChangesDiscarded:
		a.Discarded++
	case audit.SandboxDestroyed:
		a.addTotals(e)
	default:
		if access, ok := AccessOf("", e); ok {
			a.addAccess(access)
		}
	}
}

func (a *Summary) addAccess(access Access) {
	switch {
	case access.What == AskedModel:
		a.Calls++
		a.Input, a.Output = a.Input+access.Call.Input, a.Output+access.Call.Output
	case access.What == AskedName:
		a.Names++
	case access.Allowed:
		a.Allowed++
	default:
		a.Refused++
	}
}

func (a *Summary) addProbes(e audit.Event) {
	var ran struct {
		Results []struct {
			OK bool `json:"ok"`
		} `json:"results"`
	}
	if json.Unmarshal(e.Data, &ran) != nil {
		return
	}
	for _, result := range ran.Results {
		a.Probes++
		if !result.OK {
			a.Failed++
		}
	}
}

// addTotals replaces counts of the logged events by the totals of the session.
func (a *Summary) addTotals(e audit.Event) {
	var t Totals
	if len(e.Data) == 0 || json.Unmarshal(e.Data, &t) != nil {
		return
	}
	a.Calls, a.Input, a.Output = max(a.Calls, t.Calls), max(a.Input, t.Input), max(a.Output, t.Output)
	refused := 0
	for what, times := range t.Refused {
		switch what {
		case AskedModel:
		case AskedEgress:
			refused += max(times, t.Egress.Refused) // the proxy does not log repeated ones
		case AskedName:
			a.Names = max(a.Names, times)
		default:
			refused += times
		}
	}
	a.Refused = max(a.Refused, refused)
	a.Allowed = max(a.Allowed, t.Egress.Allowed)
	a.BytesUp, a.BytesDown = max(a.BytesUp, t.Egress.Up), max(a.BytesDown, t.Egress.Down)
}

// Plus returns the sum of two summaries.
func (a Summary) Plus(b Summary) Summary {
	return Summary{
		a.Allowed + b.Allowed, a.Refused + b.Refused, a.BytesUp + b.BytesUp, a.BytesDown + b.BytesDown, a.Names + b.Names,
		a.Calls + b.Calls, a.Input + b.Input, a.Output + b.Output, a.Probes + b.Probes, a.Failed + b.Failed,
		a.Accepted + b.Accepted, a.Discarded + b.Discarded,
	}
}
