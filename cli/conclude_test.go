package cli

import (
	"bytes"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/accept"
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

func TestARunOfWhichEverythingIsLeftOutDoesNotSayThatItWasAccepted(t *testing.T) {
	for _, target := range []accept.Target{accept.ToBranch, accept.ToWorktree} {
		var messages bytes.Buffer
		a := newCLI(&console{in: noInput(t), out: &messages, err: &messages, term: terminal{width: 80}, errTerm: terminal{width: 80}})
		ended := session.Session{Spec: session.Spec{ID: "0dq4f-shell"}, State: session.State{Result: &session.Result{Changed: true}}}
		left := []review.LeftOut{{Path: "Makefile"}}
		(&invocation{cli: a}).summarize(runResult{Session: ended, Accepted: &accept.Result{Target: target, Repo: "/repo", Left: left}}, nil)
		if text := messages.String(); strings.Contains(text, "✓") || strings.Contains(text, "/repo") {
			t.Errorf("%s: it says that something was accepted:\n%s", target, text)
		}
		for _, want := range []string{"! left out: Makefile\n", "aibox accept 0dq4f-shell --accept-risky FILE", "! nothing was accepted\n", "aibox diff 0dq4f-shell", "aibox discard 0dq4f-shell"} {
			if !strings.Contains(messages.String(), want) {
				t.Errorf("%s: it does not say %q:\n%s", target, want, &messages)
			}
		}
	}
}

func TestOneOfAThingIsNotCalledSeveral(t *testing.T) {
	var messages bytes.Buffer
	a := newCLI(&console{in: noInput(t), out: &messages, err: &messages, term: terminal{width: 80}, errTerm: terminal{width: 80}})
	ended := session.Session{Spec: session.Spec{ID: "0dq4f-shell"}, State: session.State{Result: &session.Result{ModelFailures: &session.ModelFailures{Count: 1, Message: "busy"}}}}
	(&invocation{cli: a}).summarize(runResult{Session: ended}, nil)
	printNotes(&messages, &review.ChangeSet{Ignored: []review.Ignored{{Path: "build", Files: 1}}})
	for _, want := range []string{"the model failed 1 time, most recently: busy\n", "ignored by your own rules: 1 file in 1 place\n"} {
		if !strings.Contains(messages.String(), want) {
			t.Errorf("%q is not in\n%s", want, &messages)
		}
	}
}
