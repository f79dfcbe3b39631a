package session

import (
	"slices"
	"testing"

	"aibox/config"
)

func TestReviewersSeeTheHostsThatWereAllowedWhileTheSessionRan(t *testing.T) {
	for _, c := range []struct {
		allow []string
		later []ListEntry
		want  []string
	}{
		{nil, nil, nil},
		{[]string{"a.example"}, []ListEntry{{Pattern: "a.example", Source: "--allow"}}, []string{"The agent can send anything in its workspace to these hosts: a.example."}},
		{
			[]string{"a.example"},
			[]ListEntry{{Pattern: "a.example", Source: "--allow"}, {Pattern: "b.example", Source: ApprovedLater}, {Pattern: "c.example", Source: AllowedLater}},
			[]string{"The agent can send anything in its workspace to these hosts: a.example, b.example, c.example."},
		},
		{nil, []ListEntry{{Pattern: "b.example:8443", Source: ApprovedLater}}, []string{"The agent can send anything in its workspace to these hosts: b.example:8443."}},
	} {
		s := Session{Spec: Spec{Run: config.Run{Network: "allowlist", Allow: c.allow}}, State: State{Lists: &Lists{Allow: c.later}}}
		if got := s.ReachNotices(); !slices.Equal(got, c.want) {
			t.Errorf("%v and then %v: %q", c.allow, c.later, got)
		}
		if !slices.Equal(s.Allow, c.allow) {
			t.Errorf("the session's own list became %q", s.Allow)
		}
	}
	if got := (&Session{Spec: Spec{Run: config.Run{Network: "none"}}}).ReachNotices(); got != nil {
		t.Errorf("without a proxy: %q", got)
	}
}
