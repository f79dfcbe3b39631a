package sessionview

import (
	"fmt"
	"path/filepath"
	"testing"

	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

func TestACommandOfTheUserRunsInTheSandboxOnTheWholeTerminal(t *testing.T) {
	p := open(t, running())
	p.Press("x", "enter")
	if !p.m.Typing() || len(p.Asked) != 0 {
		t.Errorf("an empty command asks for %v", p.Asked)
	}
	p.Type("git ")
	p.Send(tea.PasteMsg{Content: "status | cat"})
	p.Sees("$ git status | cat")
	p.Press("enter")
	want := page.Command{Args: []string{"exec", "-it", "--show-exit-code", string(id), "--", "sh", "-c", "git status | cat"}, Wait: true}
	if p.m.Typing() || len(p.Asked) != 1 || fmt.Sprintf("%#v", p.Asked[0]) != fmt.Sprintf("%#v", want) {
		t.Errorf("it asks for %#v", p.Asked)
	}
	p.Press("x")
	p.Type("q")
	p.Press("esc")
	if p.m.Typing() || len(p.Asked) != 1 {
		t.Errorf("esc asks for %#v", p.Asked)
	}
}

func TestFilesAreCopiedBothWays(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, test := range []struct {
		name string
		do   func(p *user)
		want []string
	}{
		{"out", func(p *user) { p.Type("report.pdf") }, []string{string(id) + ":report.pdf", "."}},
		{"out to another file", func(p *user) {
			p.Type("/tmp/a b")
			p.Press("tab", "backspace")
			p.Type("x:y")
		}, []string{string(id) + ":/tmp/a b", "./x:y"}},
		{"into", func(p *user) {
			p.Press("ctrl+t")
			p.Type("/tmp/")
			p.Press("tab", "backspace")
			p.Type("~/data")
		}, []string{filepath.Join(home, "data"), string(id) + ":/tmp/"}},
		{"into, from a file named like an option", func(p *user) {
			p.Type("/tmp/")
			p.Press("ctrl+t", "tab", "backspace")
			p.Type("-")
		}, []string{"./-", string(id) + ":/tmp/"}},
	} {
		p := open(t, running())
		p.Press("c", "enter")
		if !p.m.Typing() || len(p.Asked) != 0 {
			t.Errorf("%s: without a path it asks for %v", test.name, p.Asked)
		}
		test.do(p)
		p.Press("enter")
		want := page.Command{Args: append([]string{"cp"}, test.want...), Wait: true}
		if len(p.Asked) != 1 || fmt.Sprintf("%#v", p.Asked[0]) != fmt.Sprintf("%#v", want) {
			t.Errorf("%s: it asks for %#v", test.name, p.Asked)
		}
	}
}

func TestAFormThatWasLeftShowsWhatWasTypedUntilItIsSent(t *testing.T) {
	p := open(t, running())
	p.Press("x", "esc")
	p.DoesNotSee("has not run")
	p.Press("x")
	p.Type("make test")
	p.Press("esc")
	p.Sees("the command has not run yet; the same key shows what you typed")
	p.Press("c", "ctrl+t")
	p.Type("/tmp/")
	p.Press("tab", "backspace")
	p.Type("~/data")
	p.Press("ctrl+c")
	p.Sees("nothing is copied yet")

	p.Press("x")
	p.Sees("$ make test")
	p.Press("esc", "c")
	p.Sees("Copy what into the sandbox?")
	p.Sees("/tmp/")
	p.Type("2")
	p.Sees("~/data2")
	p.Press("enter", "c")
	p.Sees("Copy what out of the sandbox?")
	p.DoesNotSee("data2")
	p.Press("esc", "x")
	p.Type("-unit")
	p.Press("enter", "x")
	p.DoesNotSee("make test")
	if len(p.Asked) != 2 || p.Asked[1].(page.Command).Args[7] != "make test-unit" {
		t.Errorf("it asks for %v", p.Asked)
	}
}
