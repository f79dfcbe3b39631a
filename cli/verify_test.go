package cli

import (
	"strings"
	"testing"
)

func TestVariablesThatTheUserLacksNowAreNamed(t *testing.T) {
	a, _, errOut := testApp(t)
	t.Setenv("AIBOX_HERE", "x")
	a.warnUnset([]string{"AIBOX_HERE", "AIBOX_GONE"})
	if got := errOut.String(); !strings.Contains(got, "AIBOX_GONE is not set here") || strings.Contains(got, "AIBOX_HERE") {
		t.Errorf("printed %q", got)
	}
}
