package logview

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"aibox/session/output"
	"aibox/ui/page"
	"aibox/ui/widget/stream"

	tea "charm.land/bubbletea/v2"
)

func TestWordsAreFoundFromEveryPlaceInTheRecord(t *testing.T) {
	p := open(t, steps())
	p.Press("/")
	if !p.m.Typing() {
		t.Error("keys are not text")
	}
	p.Type("STEP 1")
	p.Press("enter")
	at := func(want, place string) {
		t.Helper()
		p.Sees(" " + place + " · ")
		for _, l := range p.m.window.all() {
			if l.at == p.m.hit {
				if !strings.HasPrefix(l.text, want+" ") {
					t.Errorf("found %q, not %q", l.text, want)
				}
				return
			}
		}
		t.Errorf("nothing is found where %q stands", want)
	}
	at("step 1", "1/11")
	p.Press("n")
	at("step 10", "2/11")
	p.Press("n", "n")
	at("step 12", "4/11")
	p.Press("N")
	at("step 11", "3/11")
	p.Press("N", "N", "N")
	at("step 19", "11/11")
	p.Sees("search wrapped")
	p.Press("n")
	at("step 1", "1/11")
	p.search("nowhere")
	p.Sees("no match for nowhere")
	p.DoesNotSee("/11")
	p.Press("/")
	p.Type("q")
	p.Press("esc")
	if p.m.Typing() || len(p.Asked) != 0 {
		t.Errorf("left with %v", p.Asked)
	}
}

func TestHitsThatComeLaterAreCountedOnce(t *testing.T) {
	s := &scene{}
	s.say(output.Stdout, strings.Repeat("filler\n", 100)+"a needle\nanother needle that has not")
	p := open(t, s)
	p.search("needle")
	p.Sees("1/2 · ")
	s.say(output.Stdout, " ended\n")
	s.say(output.Stderr, "a needle beside\n")
	s.say(output.Stdout, "needle\nno more\n")
	p.Press("n")
	p.Sees("2/4 · ")
	p.Press("n")
	p.Sees("3/4 · ")
	p.Press("g")
	p.search("filler")
	p.Sees("1/100 · ")
}

func TestHitsAreCountedUpToABound(t *testing.T) {
	s := &scene{}
	s.say(output.Stdout, strings.Repeat("a needle\n", maxHits)+strings.Repeat("hay\n", 100))
	p := open(t, s)
	p.search("needle")
	p.Sees("1/10k · ")
	s.say(output.Stdout, "a needle\na needle\n")
	p.Press("n")
	p.Sees("2/10k+ · ")
	if n := len(p.m.hits.at); n != maxHits {
		t.Errorf("%d are kept", n)
	}
	p.Press("g", "N", "N")
	p.Sees("10k+ hits · ")
}

func TestACountForOtherWordsIsStaleAndEnds(t *testing.T) {
	p := open(t, steps())
	p.m.startSearch("step")
	count := p.m.count()
	p.search("warning")
	p.Sees("1/1 · ")
	msg := count()
	stale, current := page.Current(msg)
	if err := stale.(counted).err; current || !errors.Is(err, context.Canceled) {
		t.Errorf("it continued: %v, current %t", err, current)
	}
	p.Send(msg)
	p.Sees("1/1 · ")
}

func TestALogThatCannotBeReadIsReported(t *testing.T) {
	s := steps()
	p := open(t, s)
	s.fails = errors.New("the disk is gone")
	p.search("nowhere")
	p.Sees("the disk is gone")
}

func TestAnEndThatCannotBeReadIsShownUntilItIsReadAgain(t *testing.T) {
	s := steps()
	s.fails = errors.New("the index is \x1b[2Jdamaged")
	p := open(t, s)
	p.m.note.Say("", nil)
	p.Sees(`✗ the index is \x1b[2Jdamaged`)
	if err := p.m.Failed(); !errors.Is(err, s.fails) {
		t.Errorf("the reason is %v", err)
	}
	s.fails = nil
	p.Press("end")
	p.DoesNotSee("damaged")
	p.Sees("step 59 of many")
	if err := p.m.Failed(); err != nil {
		t.Errorf("after it was read: %v", err)
	}
}

func TestALongRecordIsReadInParts(t *testing.T) {
	s := &scene{}
	for i := range 40_000 {
		s.say(output.Stdout, fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", 40)))
	}
	p := open(t, s)
	p.Sees("line 39999 ")
	if len(p.m.window.lines) > 3*maxLines/2 || p.m.window.lo == 0 {
		t.Fatalf("%d lines from %d are in memory", len(p.m.window.lines), p.m.window.lo)
	}
	p.Press("g")
	p.Sees("line 0 ")
	p.search("line 20000 ")
	p.Sees("line 20000 ")
	for range 400 {
		p.Press("pgup")
	}
	p.search("line 39998 ")
	p.Sees("line 39998 ")
	for range 3 {
		p.Press("pgdown")
	}
	p.Sees("line 39999 ")
	if !p.m.window.follow {
		t.Error("the end is not followed")
	}
	for range 700 {
		p.Press("pgup")
	}
	if len(p.m.window.lines) > 3*maxLines/2 {
		t.Errorf("%d lines are in memory", len(p.m.window.lines))
	}
}

func TestAnswersToWhatWasAskedBeforeAreNotTaken(t *testing.T) {
	p := open(t, steps())
	n := len(p.m.window.lines)
	p.m.startSearch("step")
	replaced := []tea.Cmd{p.m.part(around, 0, 10, 0), p.m.seek(false)}
	newest := p.m.end()
	for _, cmd := range replaced {
		p.Run(cmd)
	}
	if len(p.m.window.lines) != n || p.m.hit >= 0 {
		t.Error("the answer to a replaced request is taken")
	}
	p.Run(newest)
	p.Sees("step 59 of many")
}

func TestAStreamOfTheRecordIsTakenAsItComes(t *testing.T) {
	s := steps()
	p := open(t, s)
	chunks := make(chan output.Chunk)
	p.m.chunks = stream.Start(t.Context(), func(_ context.Context, put func(output.Chunk) error) error {
		return put(<-chunks)
	})
	text := "and now for something else\n"
	go func() { chunks <- output.Chunk{Offset: s.size(), Stream: output.Stdout, Data: []byte(text)} }()
	p.Send(p.m.awaitOutput()())
	p.Sees("and now for something else")
}

func TestOnlyRealErrorsAreReportedAtTheEnd(t *testing.T) {
	p := open(t, steps())
	p.DoesNotSee("end follows")
	p.Press("g")
	p.Sees("end follows")
	if help := p.m.Keys().Last.Help().Desc; help != "end, and follow" {
		t.Errorf("the help says %q", help)
	}
	p.m.SetOver(true)
	p.Sees("end to the bottom")
	p.DoesNotSee("follow")
	if help := p.m.Keys().Last.Help().Desc; help != "end" {
		t.Errorf("the help of what has ended says %q", help)
	}
}

func TestAnEmptyLogSaysSo(t *testing.T) {
	p := newUser(t, &scene{})
	p.DoesNotSee("said")
	p.Press("/", "g", "up")
	if p.m.Typing() || !p.m.window.follow {
		t.Error("a key counts before there is a record")
	}
	p.Run(p.m.Start())
	p.Sees("no output yet")
	p.m.SetOver(true)
	p.Sees("no output")
}

func TestAPasteIsTypedWhileWordsAreTyped(t *testing.T) {
	p := open(t, steps())
	p.Send(tea.PasteMsg{Content: "lost"})
	p.Press("/")
	p.Send(tea.PasteMsg{Content: "a warning"})
	p.Press("enter")
	p.Sees("1/1 · ")
}

func FuzzKeys(f *testing.F) {
	keys := []string{
		"up", "down", "pgup", "pgdown", "home", "end", "g", "G", "j", "k", "f", "/", "n", "N", "enter", "esc", "x", "s", "t", "space", "backspace",
	}
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		open(t, steps()).ActRandomly(rand.New(rand.NewPCG(seed, 1)), 60, keys)
	})
}

func TestAFailureToFollowIsShownAndTheEndFollowsAgain(t *testing.T) {
	s := steps()
	s.ends = errors.New("the supervisor does not answer")
	p := open(t, s)
	p.Sees("the supervisor does not answer")
	s.ends = nil
	s.say(output.Stdout, "it went on\n")
	p.Press("end")
	p.Sees("it went on")
	if p.m.Failed() != nil {
		t.Error("it does not follow again")
	}
}
