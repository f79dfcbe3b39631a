package cli

import (
	"strings"
	"testing"
	"time"

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

func TestAttachedTerminalShowsAQuestionAboutABudget(t *testing.T) {
	budget := session.Request{Session: "0aaaa-codex", ID: 4, What: session.RequestTokens, Question: "It has used up its limit of 500 tokens.\x1b", Yes: "give it 500 tokens more", No: "let it end", Until: time.Now().Add(time.Minute)}
	line := &questionLine{openQuestions: newOpenQuestions()}
	_ = line.update([]session.Request{{What: session.RequestTime}, budget})
	if text := line.text(); strings.Contains(text, "\x1b") || !strings.Contains(text, "ctrl-p ctrl-a answers") || !strings.Contains(text, "used up its limit of 500 tokens") || !line.isNew() {
		t.Errorf("%q", text)
	}
	a, to := &cli{}, &answers{}
	for answer, want := range map[session.Answer]string{
		session.AnswerYes: "0aaaa-codex: answered yes: give it 500 tokens more", session.AnswerNo: "0aaaa-codex: answered no: let it end",
	} {
		to.said = nil
		if done, err := a.answerRequest(t.Context(), to, &budget, answer); err != nil || done != want || len(to.said) != 1 || to.said[0] != "0aaaa-codex "+string(answer) {
			t.Errorf("%s: %q, %v, %v", answer, done, err, to.said)
		}
	}
}
