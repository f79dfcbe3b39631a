package audit

import (
	"encoding/json"
	"slices"
	"strings"
)

// Kind groups the types of events, for filters.
type Kind string

// The kinds.
const (
	KindLifecycle Kind = "lifecycle" // start, sandbox, agent, end, repair, removal
	KindProcesses Kind = "processes" // what the user runs in the sandbox, and copies
	KindEgress    Kind = "egress"    // requests to the egress proxy, other packets, questions and policies
	KindDNS       Kind = "dns"
	KindInference Kind = "inference" // requests to the model
	KindProbes    Kind = "probes"
	KindLimits    Kind = "limits"
	KindPorts     Kind = "ports"  // ports of the sandbox on the host
	KindReview    Kind = "review" // changes, and the decisions on them
	KindNotices   Kind = "notices"
	KindAPI       Kind = "api" // calls of the API, only in the log of these calls
)

// kinds are all types by kind, in the order of documentation.
var kinds = []struct {
	kind  Kind
	types []Type
}{
	{KindLifecycle, []Type{
		SessionStarted, SessionQueued, SessionAdmitted, WorkspacePrepared, NetworkGuarded, SandboxStarted, AgentStarted, SandboxClaimed, SandboxCreated, SandboxRefused, SandboxEnded, SandboxPaused, SandboxResumed, SandboxSnapshot, SandboxRestored, StopRequested, AgentEnded, SandboxDestroyed,
		SessionRepaired, SessionForked, SessionContinued, SessionReturned, SessionRemoved, LogCut,
	}},
	{KindProcesses, []Type{ProcessStarted, ProcessEnded, FilesCopied, FileChanged}},
	{KindEgress, []Type{EgressAllowed, EgressRefused, EgressClosed, EgressCounted, AccessRefused, AccessAsked, AccessAnswered, PolicyChanged}},
	{KindDNS, []Type{DNSRefused}},
	{KindInference, []Type{ModelAnswered}},
	{KindProbes, []Type{ProbesRan}},
	{KindLimits, []Type{LimitReached, LimitExtended, LimitsDegraded, RequestMade, RequestAnswered}},
	{KindPorts, []Type{PortOpened, PortClosed}},
	{KindReview, []Type{
		ChangesComputed, WorkVerified, AcceptBegun, ChangesAccepted, DiscardBegun, ChangesDiscarded, ChangesRecovered,
	}},
	{KindNotices, []Type{NoticeGiven}},
	{KindAPI, []Type{APICalled, LogContinued}},
}

// Kinds returns the kinds of events in the logs of sessions, in the order of documentation.
func Kinds() []Kind {
	var all []Kind
	for _, k := range kinds {
		if k.kind != KindAPI {
			all = append(all, k.kind)
		}
	}
	return all
}

// Types returns the types of events of the kinds, or of Kinds() without any.
func Types(of ...Kind) []Type {
	if len(of) == 0 {
		of = Kinds()
	}
	var all []Type
	for _, k := range kinds {
		if slices.Contains(of, k.kind) {
			all = append(all, k.types...)
		}
	}
	return all
}

// Kind returns the kind of the event; "" if a later version wrote it. In older logs, refused
// DNS queries are events of type AccessRefused.
func (e Event) Kind() Kind {
	if e.Type == AccessRefused {
		var refusal struct{ What string }
		if json.Unmarshal(e.Data, &refusal) == nil && refusal.What == "name" {
			return KindDNS
		}
	}
	for _, k := range kinds {
		if slices.Contains(k.types, e.Type.Today()) {
			return k.kind
		}
	}
	return ""
}

// Selection selects events by kind and type. The zero value selects all.
type Selection struct {
	kinds []Kind
	types []Type
}

// ParseSelection parses kinds and types of events in the logs of sessions, such as "dns" and
// "egress.refused". It returns the first word that is neither.
func ParseSelection(words []string) (s Selection, unknown string) {
	for _, word := range words {
		word = strings.ToLower(strings.TrimSpace(word))
		switch {
		case slices.Contains(Kinds(), Kind(word)):
			s.kinds = append(s.kinds, Kind(word))
		case slices.Contains(Types(), Type(word)):
			s.types = append(s.types, Type(word))
		default:
			return Selection{}, word
		}
	}
	return s, ""
}

// Match reports whether the event is selected.
func (s Selection) Match(e Event) bool {
	return len(s.kinds)+len(s.types) == 0 || slices.Contains(s.types, e.Type) || slices.Contains(s.kinds, e.Kind())
}

// earlierTypes maps types in logs of earlier versions to those of today.
var earlierTypes = map[Type]Type{"box.started": SandboxStarted, "box.destroyed": SandboxDestroyed}

// Today returns the type that this version of aibox gives such an event.
func (t Type) Today() Type {
	if today, ok := earlierTypes[t]; ok {
		return today
	}
	return t
}
