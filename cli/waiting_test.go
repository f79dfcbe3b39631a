package cli

import (
	"strings"
	"testing"

	"aibox/session"
)

func TestQuestionAboutABudgetIsAskedAndAnswered(t *testing.T) {
	budget := session.Request{What: session.RequestCost, Question: "It has used up its limit of $5.\x1b Its next request waits.", Yes: "give it $5 more", No: "let it end"}
	access := session.Request{What: session.RequestAccess, Access: &session.AccessRequest{Agent: "a", Host: "h", Port: 443}}
	open := waitingRequests([]session.Request{{What: session.RequestTime}, budget, access})
	if len(open) != 2 || open[0].What != session.RequestCost {
		t.Errorf("%+v", open)
	}
	if text := waitingQuestion(&budget) + waitingChoices(&budget); strings.Contains(text, "\x1b") || !strings.Contains(text, "$5") || !strings.Contains(text, "[y]es, give it $5 more, or [n]o, let it end") {
		t.Errorf("%q", text)
	}
	for text, want := range map[string]session.Answer{"y": session.AnswerYes, " YES\n": session.AnswerYes, "n": session.AnswerNo, "no": session.AnswerNo, "o": "", "": "", "x": ""} {
		if got, ok := parseWaitingAnswer(&budget, text); got != want || ok != (want != "") {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got, ok := parseWaitingAnswer(&access, "o"); !ok || got != session.AnswerOnce {
		t.Errorf("%q", got)
	}
}
