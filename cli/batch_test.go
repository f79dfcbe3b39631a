package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/comparison"
	"aibox/session/summary"
)

// Records of sessions that were interrupted during their start are removed.
func TestABatchWithoutASessionIsNotNamedForAComparison(t *testing.T) {
	a, _, _ := testApp(t)
	service, err := a.app.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	stopped := memberRun{err: fault.New(fault.Interrupted, "interrupted; nothing was started")}
	b := &batchRun{invocation: &invocation{cli: a, service: service}, batch: run.Batch{ID: "b-0dq4f"}, runs: []memberRun{stopped, stopped}}
	err = b.failure()
	if fault.KindOf(err) != fault.Interrupted || len(fault.Hints(err)) > 0 || err.Error() != "none of the 2 sessions started" {
		t.Errorf("got %v with %q", err, fault.Hints(err))
	}
	storedSession(t, "0dq4f-shell", time.Now())
	spec := filepath.Join(os.Getenv("HOME"), ".local/state/aibox/sessions/0dq4f-shell/spec.json")
	text := `{"id": "0dq4f-shell", "created": "2026-01-02T03:04:05Z", "agent": "shell", "network": "none", "batch": "b-0dq4f"}`
	if err := os.WriteFile(spec, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if hints := fault.Hints(b.failure()); len(hints) != 1 || !strings.Contains(hints[0], "aibox compare b-0dq4f") {
		t.Errorf("with a session the hints are %q", hints)
	}
	b.runs = append(b.runs, memberRun{id: "0dq4f-shell"})
	if err := b.failure(); err.Error() != "2 of 3 sessions did not start" {
		t.Error(err)
	}
	b.runs[2].err = fault.New(fault.Environment, "its supervisor died")
	if err := b.failure(); err.Error() != "3 of 3 sessions failed" {
		t.Error(err)
	}
}

func TestAFailedSessionIsSuggestedForAcceptanceOnlyIfNoOtherIsLeft(t *testing.T) {
	failed := comparison.Member{ID: "0a-x", Open: true, Status: summary.StatusFailed}
	unchanged := comparison.Member{ID: "0b-x", Status: summary.StatusUnchanged}
	changed := comparison.Member{ID: "0c-x", Open: true, Status: summary.StatusToReview}
	for _, c := range []struct {
		members []comparison.Member
		want    session.ID
	}{
		{[]comparison.Member{failed, unchanged, changed}, changed.ID},
		{[]comparison.Member{unchanged, failed}, failed.ID},
		{[]comparison.Member{unchanged}, ""},
	} {
		if got := acceptable(c.members); got != c.want {
			t.Errorf("of %v it suggests %q, not %q", c.members, got, c.want)
		}
	}
}
