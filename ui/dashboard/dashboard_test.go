package dashboard

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/uitest"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
)

func TestTheDashboardLooksAsItDid(t *testing.T) {
	for _, size := range uitest.Sizes {
		p, _ := openAsIs(t, size[0], size[1])
		p.Show("what waits for the user first")
		p.Press("end")
		p.Show("the last")
		p.Press("v")
		p.Show("grouped")
		p.Press("v", "v", "v", "/")
		p.Type("shop")
		p.Show("filtered")
		p.Press("esc", "p")
		p.Show("without a preview")
		p.Press("end", "x")
		p.Show("a question")
		p.Golden("")
	}
}

func TestSessionsThatWaitForTheUserComeFirst(t *testing.T) {
	p, sessions := openAsIs(t, 120, 40)
	waiting := summary.Summary{ID: "0eeee-claude", Agent: "claude", Interactive: true, Prompting: true, Repository: "/r", Created: noon.Add(-24 * time.Hour), Phase: session.Running}
	sessions.briefs = append(sessions.briefs, waiting)
	p.Run(p.m.load())
	if got := p.order(); got != "e d a c b" {
		t.Errorf("the order is %s", got)
	}
	p.Sees("5 sessions · 1 waiting for you · 1 running · 1 to review")
	p.Sees("◆ waiting")
	sessions.briefs[4].Prompting = false
	p.Run(p.m.load())
	p.Sees("5 sessions · 2 running")
}

func TestTheHeaderCountsWhatTheFilterFinds(t *testing.T) {
	p, _ := open(t, 120, 40)
	p.Sees("4 sessions · 1 running · 1 to review")
	p.Press("/")
	p.Type("agent:codex")
	p.Sees("1 of 4 sessions · 1 to review")
	p.Press("enter", "v", "v")
	p.Sees("1 of 4 sessions")
	p.Press("esc")
	p.Sees("4 sessions · 1 running")
}

func TestNothingOfTheAgentsReachesTheTerminalRaw(t *testing.T) {
	p, _ := open(t, 120, 40)
	p.Press("end")
	for range 4 {
		if view := p.m.View(); strings.Contains(view, "\x1b]") || strings.Contains(view, "\x1b[2J") || strings.Contains(view, "\x07") {
			t.Errorf("%q", view)
		}
		p.Press("up")
	}
}

func TestTheSelectedSessionStaysSelectedWhenOthersComeAndGo(t *testing.T) {
	p, sessions := open(t, 80, 24)
	p.Press("down", "down")
	if p.m.list.at != "0bbbb-aider" {
		t.Fatalf("at %s", p.m.list.at)
	}
	sessions.briefs = append(sessions.briefs, summary.Summary{ID: "0eeee-codex", Created: noon, Phase: session.Running, Repository: "/r"})
	p.Run(p.m.load())
	if p.m.list.at != "0bbbb-aider" {
		t.Errorf("at %s after a session has come", p.m.list.at)
	}
	sessions.briefs = append(sessions.briefs[:1], sessions.briefs[2:]...)
	p.Run(p.m.load())
	if p.m.list.at != "0aaaa-codex" {
		t.Errorf("at %s after the session has gone", p.m.list.at)
	}
	sessions.briefs = nil
	p.Run(p.m.load())
	p.Press("down", "enter", "x", "d")
	p.Sees("No sessions yet")
	if len(p.Asked)+len(sessions.done) > 0 {
		t.Errorf("%v %v happened with no session", p.Asked, sessions.done)
	}
}

func TestAKeyForASessionThatHasLeftTheListDoesNothing(t *testing.T) {
	p, sessions := open(t, 120, 40)
	for i := range sessions.briefs {
		sessions.briefs[i].Phase, sessions.briefs[i].Interactive, sessions.briefs[i].Batch = session.Running, true, "b-0aaaa"
	}
	p.Press("/")
	p.Type("state:running")
	p.Press("enter", "home")
	end := func() *summary.Summary {
		t.Helper()
		i := slices.IndexFunc(sessions.briefs, func(b summary.Summary) bool { return b.ID == p.m.list.at })
		sessions.briefs[i].Phase = session.Ended
		p.Run(p.m.load())
		if p.m.list.at == sessions.briefs[i].ID {
			t.Fatalf("%s is still selected", p.m.list.at)
		}
		return &sessions.briefs[i]
	}
	for _, name := range []string{"enter", "t", "$", "o", "space", "="} {
		gone := end()
		p.Press(name)
		p.Sees("another session was selected just now, so nothing is done; press the key again")
		p.asked("[]")
		p.Press("Z")
		p.DoesNotSee("another session was selected just now")
		gone.Phase = session.Running
		p.Run(p.m.load())
	}
	if len(p.m.list.marked) > 0 {
		t.Errorf("marked is %v", p.m.list.marked)
	}
	p.wait()
	p.Press("enter")
	p.asked("[{[attach " + string(p.m.list.at) + "] false}]")
	end()
	p.Press("down", "enter")
	if len(p.Asked) != 2 {
		t.Errorf("a key for a session that the user has selected does nothing: %v", p.Asked)
	}
}

func TestADamagedSessionIsReportedAndTheOthersAreListed(t *testing.T) {
	p := newUser(t, &fakeSessions{briefs: sampleBriefs(), damaged: errors.New("0eeee-codex is damaged")}, 80, 24)
	p.Sees("0eeee-codex is damaged")
	p.Sees("4 sessions")
	p.Press("c")
	p.Run(p.m.load())
	p.Sees("copied: aibox attach 0dddd-shell")
	p.Press("down")
	p.DoesNotSee("copied")
	p.Sees("0eeee-codex is damaged")
}

func TestTheNoteIsClearedByTheNextKey(t *testing.T) {
	p, _ := open(t, 80, 24)
	for _, key := range []string{"down", "/", "x", "z", "S"} {
		p.Press("esc", "end", "c")
		p.Sees("copied: aibox diff 0aaaa-codex")
		p.Run(p.m.load()) // no key
		p.Sees("copied: aibox diff 0aaaa-codex")
		p.Press(key)
		p.DoesNotSee("copied")
		p.wait()
		p.Press("esc")
	}
}

func TestTheMouseGoesToASessionAndOpensItWithASecondClick(t *testing.T) {
	p, _ := open(t, 80, 24)
	p.ClickOn("0bbbb-aider")
	if p.m.list.at != "0bbbb-aider" || len(p.Asked) > 0 {
		t.Fatalf("at %s, asked for %v", p.m.list.at, p.Asked)
	}
	p.now = p.now.Add(doubleTime)
	p.ClickOn("0bbbb-aider") // too late for a double click
	p.ClickOn("0cccc-qwen")  // another one
	if len(p.Asked) > 0 {
		t.Fatalf("asked for %v", p.Asked)
	}
	p.ClickOn("0cccc-qwen")
	p.asked("[{0cccc-qwen}]")
	p.Send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if p.m.list.at != "0bbbb-aider" {
		t.Errorf("at %s after the wheel", p.m.list.at)
	}
}

func TestThePreviewFollowsTheOutput(t *testing.T) {
	said := make(chan struct{}, 1)
	said <- struct{}{}
	close(said)
	sessions := &fakeSessions{briefs: sampleBriefs()[3:], said: said, tails: []string{"the first word", "the last word"}}
	p := newUser(t, sessions, 80, 24)
	p.Sees("the last word")
	p.DoesNotSee("the first word")
}

func TestALateAnswerIsDropped(t *testing.T) {
	p, sessions := open(t, 80, 24)
	sessions.briefs = nil
	list := p.m.load()()
	sessions.briefs = sampleBriefs()
	p.Run(p.m.load())
	p.Send(list)
	p.Sees("4 sessions")
	p.m.preview.id, p.m.preview.known = "", false
	sessions.tails = []string{"of an earlier request"}
	old := p.m.loadPreview()()
	sessions.tails = nil
	p.Press("down", "up")
	p.Send(old)
	p.DoesNotSee("of an earlier request")
}

func TestTheScreenIsDrawnAgainOnlyWhenATimeOnItChanges(t *testing.T) {
	sessions := &fakeSessions{briefs: sampleBriefs()[:3]} // the youngest ended 40 minutes ago
	p := newUser(t, sessions, 80, 24)
	p.m.Init()
	p.now = noon.Add(10 * time.Second)
	p.Run(p.m.load())
	if fmt.Sprint(p.waits) != "[50s]" {
		t.Fatalf("waits for %v", p.waits)
	}
	p.Send(tick{})
	sessions.briefs = append(sessions.briefs, summary.Summary{ID: "0eeee-codex", Created: noon, Phase: session.Running})
	p.Run(p.m.load())
	p.Send(tick{})
	if fmt.Sprint(p.waits) != "[50s 50s 5s 5s 1s]" { // after 5 s the running session is measured again, and its supervisor checked
		t.Errorf("waits for %v", p.waits)
	}
}

func TestNothingIsShownByColorAlone(t *testing.T) {
	p, _ := open(t, 120, 40)
	before := p.View()
	p.Press("p", "down", "p")
	p.Sees("▸ ✓ accepted")
	if p.View() == before {
		t.Error("another session looks the same")
	}
}

func BenchmarkAKeyWithManySessions(b *testing.B) {
	briefs := make([]summary.Summary, 200)
	for i := range briefs {
		briefs[i] = sampleBriefs()[i%4]
		briefs[i].ID = session.ID(fmt.Sprintf("0%04d-codex", i))
	}
	p := newUser(b, &fakeSessions{briefs: briefs}, 200, 60)
	for i := range b.N {
		p.m.Update(keymap.Press([]string{"down", "up", "pgdown", "G", "S", "home"}[i%6]))
		_ = p.m.View()
		p.m.Short()
	}
}

// FuzzKeys presses any keys at any size: nothing panics, the view fits, and nothing
// is done without its question having been answered in time.
func FuzzKeys(f *testing.F) {
	f.Add(uint64(1), uint8(80), uint8(24))
	f.Add(uint64(2), uint8(41), uint8(12))
	f.Add(uint64(0), uint8(3), uint8(10)) // a filter that nothing meets, on the smallest screen
	names := []string{"enter", "esc", "up", "down", "tab", "pgdown", "pgup", "home", "end", "delete", "backspace", "x", "s", "y", "n", "/", "a", "d", "u", "v", "S", "p", "g", "G", "c", "o", "space", "ctrl+a", "O", "R", "w", "l", "r", "é"}
	f.Fuzz(func(t *testing.T, seed uint64, width, height uint8) {
		random := rand.New(rand.NewPCG(seed, 7))
		p, sessions := open(t, max(40, int(width)), max(11, int(height)))
		for range 6 {
			sessions.briefs = sampleBriefs()[:random.IntN(5)]
			p.Run(p.m.load())
			p.ActRandomly(random, 10, names)
		}
		if len(sessions.done) > 0 { // the time does not change, so no question was open long enough
			t.Errorf("%v was done", sessions.done)
		}
	})
}
