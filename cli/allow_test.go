package cli

import (
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
)

func TestTheListsOfAnEndedSessionChangeWhenItIsResumed(t *testing.T) {
	a, _, _ := testApp(t)
	storedSession(t, "0dq4f-shell", time.Now())
	for _, command := range []string{"allow", "deny"} {
		a.words = nil
		err := a.execute(t.Context(), []string{command, "0dq4f", "a.example"})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "aibox run --resume 0dq4f-shell") {
			t.Errorf("%s: %v, %q", command, err, fault.Hints(err))
		}
	}
}
