package newrun

import (
	"fmt"
	"regexp"
	"testing"

	"aibox/internal/prompts"
)

func TestLongListsShowWhichRowsAreHidden(t *testing.T) {
	w := newWorld(t)
	place := w.places["/home/ann/shop"]
	var files []string
	for i := range 70 {
		w.recent = append(w.recent, fmt.Sprintf("/home/ann/other%02d", i))
		place.Prompts = append(place.Prompts, prompts.Prompt{Name: fmt.Sprintf("prompt%02d", i), Source: prompts.User, Text: "x"})
		files = append(files, fmt.Sprintf("file%02d.go", i))
	}
	w.places["/home/ann/shop"] = place
	p := open(t, w)
	p.Press("shift+tab")
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		p.Resize(size[0], size[1])
		p.Sees("of 72")
	}
	p.Resize(80, 100)
	p.DoesNotSee("of 72")
	p = open(t, w)
	p.m.task.setFiles(newFileNames(files))
	p.tell("see @file")
	p.Sees("of 50") // as many as are offered
	p.Press("esc", "ctrl+l")
	p.Sees("of 72")
	p.Press("esc", "tab", "tab")
	for _, size := range [][2]int{{80, 24}, {120, 24}} {
		p.Resize(size[0], size[1])
		if got := regexp.MustCompile(`1-\d+ of \d+ ─`).FindString(p.View()); got == "" {
			t.Errorf("%dx%d: the hidden fields are not shown:\n%s", size[0], size[1], p.View())
		}
	}
	p.Resize(120, 100)
	if got := regexp.MustCompile(`\d+-\d+ of \d+`).FindString(p.View()); got != "" {
		t.Errorf("%s where all fit", got)
	}
}
