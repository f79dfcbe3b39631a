package changes

import (
	"errors"
	"slices"
	"testing"

	"aibox/review"
	"aibox/ui/changes/diff"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// typeText gives text to something that handles keys, rune by rune.
func typeText(update func(tea.Msg), text string) {
	for _, r := range text {
		update(keymap.Press(string(r)))
	}
}

func TestASearchHasAFieldThatCanBeLeft(t *testing.T) {
	var s search
	s.open(80)
	typeText(func(msg tea.Msg) { s.Update(msg) }, "one")
	if s.Update(keymap.Press("esc")) || s.typing() || s.text != "" {
		t.Fatalf("%+v", s)
	}
	s.open(80)
	if s.Update(keymap.Press("enter")) {
		t.Error("an empty search begins")
	}
	s.open(80)
	typeText(func(msg tea.Msg) { s.Update(msg) }, "one")
	s.Update(keymap.Press("tab"))
	if !s.Update(keymap.Press("enter")) || s.text != "one" || !s.all || !s.running {
		t.Fatalf("%+v", s)
	}
	s.open(80)
	s.Update(keymap.Press("tab"))
	if s.Update(keymap.Press("esc")); !s.all || s.text != "one" {
		t.Errorf("a field that is left changes the search to %+v", s)
	}
	s.end()
	if s.text != "" || s.match != nil || !s.all || s.View(theme.New(true), nil) != "" {
		t.Errorf("%+v", s)
	}
}

func TestASearchStepsThroughItsHitsAroundTheEnds(t *testing.T) {
	files := []*diff.File{loadedFile(&review.Change{Path: "b"}), loadedFile(&review.Change{Path: "a"})}
	s := search{text: "x", match: matcher("x"), running: true}
	if s.step(1) {
		t.Error("there is a hit already")
	}
	hits := []hit{{path: "a", line: 1}, {path: "b", line: 7}, {path: "a", line: 5}}
	if note, err := s.take(searched{hits: hits}, files, nil); note != "" || err != nil || s.running {
		t.Fatalf("%q, %v", note, err)
	}
	if want := []hit{hits[1], hits[0], hits[2]}; !slices.Equal(s.hits, want) {
		t.Fatalf("%+v", s.hits)
	}
	s.startAfter(func(h hit) bool { return h.path == "a" && h.line > 1 })
	var lines []int
	for range 4 {
		lines = append(lines, s.hit().line)
		s.step(1)
	}
	if !slices.Equal(lines, []int{5, 7, 1, 5}) {
		t.Errorf("%v", lines)
	}
	s.step(-1)
	s.awaited = true
	if _, err := s.take(searched{hits: hits[:1], err: errors.New("the disk failed")}, files, nil); err == nil || len(s.hits) != 3 || s.hit() != hits[2] || !s.awaited {
		t.Errorf("a search that failed leaves %+v, %v", s, err)
	}
	if _, err := s.take(searched{hits: hits[:1]}, files, nil); err != nil || s.hit() != hits[0] || s.awaited {
		t.Errorf("%+v", s)
	}
	s.awaited = true
	if note, _ := s.take(searched{}, files, nil); s.awaited || note != "no match for x in this file" || s.match != nil {
		t.Errorf("%q", note)
	}
}

func TestASearchWithoutCapitalsMatchesBothCases(t *testing.T) {
	for text, want := range map[string]bool{"line": true, "Line": false, "LINE": true, "l.ne": false} {
		if got := matcher(text).MatchString("a LINE"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestARepeatedSearchThatFindsNothingOrFailsIsNoError(t *testing.T) {
	for name, answer := range map[string]searched{
		"nothing": {}, "a failure": {hits: []hit{{"src/big.txt", 4, false}}, err: errors.New("the disk failed")},
	} {
		p, _ := open(t)
		p.goTo("src/big.txt")
		p.Press("/", "tab")
		p.Type("line 4")
		p.Press("enter", "N", "n", "N")
		p.m.searchAgain()
		p.m.search.awaited = true // its file was dropped from memory
		p.Send(answer)
		p.m.loader.Unload(p.m.diff.At)
		p.Run(p.m.load())
		p.Press("e", "n", "N")
		p.Fits(name)
	}
}
