package changes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"aibox/review/decision"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"
)

func TestAVerificationThatHasNotBegunIsNeitherAskedForNorShown(t *testing.T) {
	var none *verification
	if none.asks() || none.shown() || none.running() {
		t.Error("nil asks for something")
	}
	none.resize(80)
}

func TestAVerificationCoversThePartOnlyWhereThereIsOne(t *testing.T) {
	for _, c := range []struct {
		tally     decision.Tally
		part, any bool
	}{
		{decision.Tally{Undecided: 3}, false, false},
		{decision.Tally{Accepted: 3}, false, true},
		{decision.Tally{Accepted: 1, Undecided: 2}, true, true},
		{decision.Tally{Mixed: 1}, true, true},
	} {
		if v := newVerification(new(page.Latest), "make", c.tally); v.part != c.part || v.any != c.any || !v.asks() {
			t.Errorf("%+v: part %v, any %v", c.tally, v.part, v.any)
		}
	}
}

func TestTheOutputOfAVerificationIsKeptInLinesAndBounded(t *testing.T) {
	v := &verification{answers: new(page.Latest), started: true, output: make(chan string)}
	v.print(printed{text: "one\ntw", more: true})
	v.print(printed{text: "o\nthree\n", more: true})
	if got := strings.Join(v.lines, "|"); got != "one|two|three" {
		t.Fatalf("%s", got)
	}
	v.scroll(-1)
	v.print(printed{text: "four\n", more: true})
	if v.back != 2 {
		t.Errorf("the view moved: %d lines back", v.back)
	}
	for i := range maxPrinted {
		v.print(printed{text: fmt.Sprintln(i), more: true})
	}
	if len(v.lines) != maxPrinted {
		t.Errorf("%d lines are kept", len(v.lines))
	}
	if cmd := v.print(printed{}); cmd != nil {
		t.Error("it listens after the end")
	}
}

func TestTheResultOfAHiddenVerificationIsNoted(t *testing.T) {
	v := &verification{started: true}
	if note, err := v.end(checked{err: errors.New("no sandbox")}); note != "" || err == nil || v.running() {
		t.Errorf("%q, %v", note, err)
	}
	v = &verification{started: true}
	v.pressOutput(keymap.Press("esc"))
	if note, err := v.end(checked{result: session.Verification{Seconds: 2}}); note != "passed in 2.0s" || err != nil {
		t.Errorf("%q, %v", note, err)
	}
	if view := strings.Join(v.View(theme.New(true), 80, 10), "\n"); !strings.Contains(view, "passed in 2.0s") {
		t.Errorf("%s", view)
	}
}
