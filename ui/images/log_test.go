package images

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"aibox/ui/widget/bakes"
)

func TestTheOutputIsFollowedUntilTheUserScrolls(t *testing.T) {
	p := watch(t)
	p.goTo("claude")
	p.Press("enter")
	p.Sees("  warming")
	more := p.k.Jobs()
	say := func(line string) {
		more[0].Log = append(slices.Clone(more[0].Log), line)
		p.Send(bakes.Changed{Jobs: more})
	}
	say("  still warming")
	p.Sees("still warming")
	p.Press("home")
	say("  warm")
	p.Sees("building aibox/claude")
	p.Press("f")
	p.Sees("  warm")
	say(strings.Repeat("long ", 20) + "line")
	p.DoesNotSee("long line")
	p.Press("right", "right")
	p.Sees("long line")
	p.Press("left", "left", "left")
	p.Sees("long long…")
	p.Press("esc")
	p.Sees("IMAGE")
}

func TestTheOutputIsSearchedInBothDirections(t *testing.T) {
	p := watch(t)
	p.goTo("claude")
	p.Press("enter", "/")
	if !p.m.Typing() {
		t.Fatal("what is typed is keys")
	}
	p.Type("PACKAGE 1")
	p.Press("enter")
	at := func() string { return p.m.log.lines[p.m.log.cursor.At()] }
	if line := at(); line != "  added package 19" {
		t.Errorf("the last hit is %q", line)
	}
	p.Press("N")
	if line := at(); line != "  added package 18" {
		t.Errorf("the one before is %q", line)
	}
	p.Press("n", "n")
	if line := at(); line != "  added package 1" {
		t.Errorf("around the end is %q", line)
	}
	p.Press("/")
	p.Send(tea.PasteMsg{Content: "nowhere"})
	p.Press("enter")
	p.Sees(`no line contains "nowhere"`)
	p.Press("/", "esc")
	if p.m.Typing() || p.m.log.search.Value() != "" {
		t.Error("the search is not left")
	}
}
