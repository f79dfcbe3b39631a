package cli

import (
	"bytes"
	"strings"
	"testing"

	"aibox/session"
)

func TestTheEndOfARunNamesOnceHowToAllowWhatWasRefused(t *testing.T) {
	const hint = "aibox netguard log 0dq4f-shell"
	egress := session.Refusal{What: "egress", Target: "a.example:443", Reason: "no", Times: 1}
	for _, c := range []struct {
		refused []session.Refusal
		hints   int
	}{{nil, 0}, {[]session.Refusal{egress}, 1}, {[]session.Refusal{egress, {What: "name", Target: "b.example", Reason: "no", Times: 3}}, 1}} {
		var messages bytes.Buffer
		a := newCLI(&console{in: noInput(t), out: &messages, err: &messages, term: terminal{width: 80}, errTerm: terminal{width: 80}})
		ended := session.Session{Spec: session.Spec{ID: "0dq4f-shell"}, State: session.State{Result: &session.Result{Refused: c.refused}}}
		(&invocation{cli: a}).summarize(runResult{Session: ended}, nil)
		if got := strings.Count(messages.String(), hint); got != c.hints {
			t.Errorf("%d of %d hints:\n%s", got, c.hints, &messages)
		}
	}
}
