package cli

import (
	"strings"
	"testing"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

func TestAVariableThatIsGoneFailsTheVerificationBeforeAnAccept(t *testing.T) {
	a, _, _ := testApp(t)
	o := options(func(o *runOptions) { o.Env = []string{"AIBOX_NO_SUCH_VARIABLE"} })
	ended := session.Session{Spec: session.Spec{Run: config.Run{Verify: "make test"}}}
	if verify, err := a.verifierAtEnd(o, nil, ended); verify != nil || fault.KindOf(err) != fault.Usage {
		t.Errorf("error %v", err)
	}
}

func TestVariablesThatTheUserLacksNowAreNamed(t *testing.T) {
	a, _, errOut := testApp(t)
	t.Setenv("AIBOX_HERE", "x")
	a.warnUnset([]string{"AIBOX_HERE", "AIBOX_GONE"})
	if got := errOut.String(); !strings.Contains(got, "AIBOX_GONE is not set here") || strings.Contains(got, "AIBOX_HERE") {
		t.Errorf("printed %q", got)
	}
}
