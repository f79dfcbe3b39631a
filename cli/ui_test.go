package cli

import (
	"strings"
	"testing"

	"aibox/app/run"
)

func TestARunOfTheUIThatStartsNothingReturnsItsError(t *testing.T) {
	a, _, errOut := testApp(t)
	err := uiHost{a}.runOnTerminal(t.Context(), run.Request{Agent: "codx", Repository: t.TempDir(), Prompt: "mend it"})
	if err == nil || !strings.Contains(err.Error(), "codx") || !strings.Contains(errOut.String(), "codx") {
		t.Errorf("%v, printed %s", err, errOut)
	}
}
