package ui

import (
	"errors"
	"slices"
	"testing"

	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// inbox is a page that keeps its messages.
type inbox struct {
	page.Page
	got []tea.Msg
	cmd tea.Cmd // what Update returns
}

func (i *inbox) Update(msg tea.Msg) tea.Cmd {
	i.got = append(i.got, msg)
	return i.cmd
}

func (i *inbox) Typing() bool { return false }

func TestAnAnswerReachesOnlyTheScreenThatAsked(t *testing.T) {
	a := newTestApp(t, 120, 40)
	below, top := &inbox{}, &inbox{}
	a.open = []*layer{{Page: below}, {Page: top}}
	below.cmd = tea.Batch(func() tea.Msg { return "one" }, func() tea.Msg { return "two" })
	batch := a.open[0].Update("ask")().(tea.BatchMsg)
	below.cmd, below.got = nil, nil
	one, two := batch[0](), batch[1]()
	drive(a, one)
	if len(below.got) != 1 || below.got[0] != "one" || len(top.got) != 0 {
		t.Errorf("the screen below got %v, the one on top %v", below.got, top.got)
	}
	a.open = a.open[1:]
	drive(a, two)
	if len(below.got) != 1 || len(top.got) != 0 {
		t.Errorf("after it was closed the screen got %v, the one on top %v", below.got, top.got)
	}
}

func TestTheEndOfAProgramReachesOnlyTheScreenThatRanIt(t *testing.T) {
	a := newTestApp(t, 120, 40)
	below, top := &inbox{}, &inbox{}
	a.open = []*layer{{Page: below}, {Page: top}}
	below.cmd = page.Ask(page.Exec{})
	if a.deliver(a.open[0].Update("edit")().(answer)) != nil {
		t.Error("a screen that is covered gets the terminal")
	}
	below.cmd, below.got = nil, nil
	ended := errors.New("ended")
	drive(a, executed{answer{a.open[0], ended}})
	if !slices.Equal(below.got, []tea.Msg{ended}) || len(top.got) != 0 {
		t.Errorf("the screen below got %v, the one on top %v", below.got, top.got)
	}
}

func TestAnAnswerToAReplacedRequestIsDropped(t *testing.T) {
	a := newTestApp(t, 120, 40)
	screen := &inbox{}
	a.open = []*layer{{Page: screen}}
	var series page.Latest
	screen.cmd = series.Replace(func() tea.Msg { return "first" })
	first := a.page().Update("ask")
	screen.cmd = series.Replace(func() tea.Msg { return "second" })
	second := a.page().Update("ask")
	screen.cmd, screen.got = nil, nil
	drive(a, second())
	drive(a, first())
	if len(screen.got) != 1 || screen.got[0] != "second" {
		t.Errorf("the screen got %v", screen.got)
	}
}

func TestMessagesThatBubbleTeaHandlesAreNotTakenForAnswers(t *testing.T) {
	l := &layer{Page: &inbox{cmd: tea.SetClipboard("text")}}
	if msg := l.Update("copy")(); msg != tea.SetClipboard("text")() {
		t.Errorf("it became %T", msg)
	}
}
