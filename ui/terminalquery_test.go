package ui

import (
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

func TestTheUIWaitsForTheTerminalsAnswerBeforeItEnds(t *testing.T) {
	quits := make(chan struct{}, 10)
	quit := func() { quits <- struct{}{} }
	early := newTerminalQuery(time.Hour)
	if msg := early.filter(tea.QuitMsg{}, quit); msg != nil {
		t.Fatalf("a request to quit before the answer is passed on: %v", msg)
	}
	if msg := early.filter(tea.BackgroundColorMsg{}, quit); msg == nil {
		t.Fatal("the answer is lost")
	}
	<-quits
	if msg := early.filter(tea.QuitMsg{}, quit); msg == nil {
		t.Error("a request to quit after the answer is lost")
	}
}

func TestATerminalThatNeverAnswersKeepsTheUIForAMomentOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		quits := make(chan struct{}, 10)
		quit := func() { quits <- struct{}{} }
		silent := newTerminalQuery(queryWait)
		if msg := silent.filter(tea.QuitMsg{}, quit); msg != nil {
			t.Fatalf("a request to quit before the answer is passed on: %v", msg)
		}
		<-quits
		if took := time.Since(begin); took != queryWait {
			t.Errorf("the request is repeated after %v", took)
		}
		if msg := silent.filter(tea.QuitMsg{}, quit); msg == nil {
			t.Error("the repeated request is lost")
		}
		if msg := silent.filter(tea.FocusMsg{}, quit); msg == nil {
			t.Error("another message is lost")
		}
	})
}
