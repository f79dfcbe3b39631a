package auditlog

import (
	"fmt"
	"slices"
	"testing"

	"aibox/audit"
	"aibox/config"
	"aibox/session"
	"aibox/session/client"
	"aibox/session/sessiontest"
)

// logEntry is an event for a log.
type logEntry struct {
	kind audit.Type
	data any
}

// learned returns what a session with this log has learned, as text.
func learned(t *testing.T, entries ...logEntry) (got []string, incomplete bool) {
	t.Helper()
	store := sessiontest.Store(t)
	id := past(t, store)
	lists := session.Lists{Allow: []session.ListEntry{
		{Pattern: "known.example.net", Source: "--allow"},
		{Pattern: "mirror.example.net", Source: "preset npm"},
		{Pattern: "later.example.net", Source: "aibox allow"},
		{Pattern: "other.example.net", Source: "preset pip"},
	}}
	sessiontest.Put(t, store, id, session.State{Phase: session.Ended, Result: &session.Result{}, Lists: &lists})
	if err := store.Write(id, session.SpecFile, session.Spec{ID: id, Run: config.Run{Network: "public", Learn: true, Allow: []string{"known.example.net", "npm"}}}); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(store.AuditPath(id))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := log.Append(e.kind, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := New(client.New(store), store).Learned(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Proposals {
		got = append(got, fmt.Sprintf("%s %d %d %d", p.Pattern, p.Requests, p.Up, p.Down))
	}
	return got, all.Incomplete
}

func TestLearnedCountsAllowedRequestsAndTheirBytes(t *testing.T) {
	got, incomplete := learned(t, []logEntry{
		{audit.EgressAllowed, audit.Egress{Host: "a.example.org", Port: 443}},
		{audit.EgressAllowed, audit.Egress{Host: "a.example.org", Port: 443}},
		{audit.EgressClosed, audit.EgressEnd{Host: "a.example.org", Port: 443, BytesUp: 7, BytesDown: 70}},
		{audit.EgressAllowed, audit.Egress{Host: "known.example.net", Port: 443}},
		{audit.EgressAllowed, audit.Egress{Host: "dead.example.org", Port: 443}},
		{audit.EgressClosed, audit.EgressEnd{Host: "dead.example.org", Port: 443, BytesUp: 7}},
		{audit.EgressRefused, audit.Egress{Host: "refused.example.org", Port: 443}},
		{audit.EgressAllowed, audit.Egress{Host: "not a host", Port: 0}},
		{audit.SandboxDestroyed, Totals{Egress: session.Egress{Allowed: 4}}},
	}...)
	if want := []string{"a.example.org 2 7 70"}; !slices.Equal(got, want) || incomplete {
		t.Errorf("%q, want %q, %v", got, want, incomplete)
	}
}

func TestLearnedHasNoHostsThatToolsInTheSandboxNamedForAPreset(t *testing.T) {
	got, _ := learned(t, []logEntry{
		{audit.EgressAllowed, audit.Egress{Host: "mirror.example.net", Port: 443}},
		{audit.EgressAllowed, audit.Egress{Host: "later.example.net", Port: 443}},
		{audit.EgressAllowed, audit.Egress{Host: "other.example.net", Port: 443}},
	}...)
	if want := []string{"later.example.net 1 0 0", "other.example.net 1 0 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLearnedIncludesHostsOfRequestsThatAreOnlyCounted(t *testing.T) {
	counts := []logEntry{
		{audit.EgressAllowed, audit.Egress{Host: "a.example.org", Port: 443}},
		{audit.EgressClosed, audit.EgressEnd{Host: "a.example.org", Port: 443, BytesUp: 7, BytesDown: 70}},
		{audit.EgressCounted, audit.EgressCount{Host: "a.example.org", Port: 443, Requests: 2, BytesUp: 7, BytesDown: 70}},
		{audit.EgressCounted, audit.EgressCount{Host: "late.example.org", Port: 443, Requests: 1}},
		{audit.EgressCounted, audit.EgressCount{Host: "a.example.org", Port: 443, Requests: 9, BytesUp: 8, BytesDown: 80}},
		{audit.SandboxDestroyed, Totals{Egress: session.Egress{Allowed: 10}}},
	}
	got, incomplete := learned(t, counts...)
	if want := []string{"a.example.org 9 8 80", "late.example.org 1 0 0"}; !slices.Equal(got, want) || incomplete {
		t.Errorf("%q, want %q, %v", got, want, incomplete)
	}
	for name, log := range map[string][]logEntry{
		"too many destinations": append(slices.Clone(counts), logEntry{audit.EgressCounted, audit.EgressCount{Others: true, Requests: 1}}),
		"an earlier version":    append(slices.Clone(counts[:2]), logEntry{"box.destroyed", Totals{Egress: session.Egress{Allowed: 2}}}),
	} {
		if _, incomplete := learned(t, log...); !incomplete {
			t.Errorf("%s: the list counts as complete", name)
		}
	}
}
