package session

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"aibox/audit"
	"aibox/config"
)

func TestLearnedCountsAllowedRequestsAndTheirBytes(t *testing.T) {
	sessions := newSessions(Deps{}, testStore(t))
	id := past(t, sessions)
	if err := sessions.store.write(id, specFile, Spec{ID: id, Run: config.Run{Network: "public", Learn: true, Allow: []string{"known.example.net"}}}); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(filepath.Join(sessions.store.Dir(id), auditFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct {
		kind audit.Type
		data any
	}{
		{audit.EgressAllowed, audit.Egress{Host: "a.example.org", Port: 443}},
		{audit.EgressAllowed, audit.Egress{Host: "a.example.org", Port: 443}},
		{audit.EgressClosed, audit.EgressEnd{Host: "a.example.org", Port: 443, BytesUp: 7, BytesDown: 70}},
		{audit.EgressAllowed, audit.Egress{Host: "known.example.net", Port: 443}},
		{audit.EgressAllowed, audit.Egress{Host: "dead.example.org", Port: 443}},
		{audit.EgressClosed, audit.EgressEnd{Host: "dead.example.org", Port: 443, BytesUp: 7}},
		{audit.EgressRefused, audit.Egress{Host: "refused.example.org", Port: 443}},
		{audit.EgressAllowed, audit.Egress{Host: "not a host", Port: 0}},
	} {
		if _, err := log.Append(e.kind, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	proposals, err := sessions.Learned(id)
	var got []string
	for _, p := range proposals {
		got = append(got, fmt.Sprintf("%s %d %d %d", p.Pattern, p.Requests, p.Up, p.Down))
	}
	if want := []string{"a.example.org 2 7 70"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
}
