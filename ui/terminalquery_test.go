package ui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

func TestTheUIWaitsForTheTerminalsAnswerBeforeItEnds(t *testing.T) {
	quits := make(chan struct{}, 10)
	quit := func() { quits <- struct{}{} }
	early := &terminalQuery{sent: time.Now().Add(time.Hour)}
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
	silent := &terminalQuery{sent: time.Now().Add(-queryWait + 20*time.Millisecond)}
	if msg := silent.filter(tea.QuitMsg{}, quit); msg != nil {
		t.Fatalf("a request to quit before the answer is passed on: %v", msg)
	}
	<-quits
	if msg := silent.filter(tea.QuitMsg{}, quit); msg == nil {
		t.Error("a terminal that never answers keeps the UI")
	}
	if msg := silent.filter(tea.FocusMsg{}, quit); msg == nil {
		t.Error("another message is lost")
	}
}
