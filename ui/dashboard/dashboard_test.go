package dashboard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"aibox/netguard"
	"aibox/review"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/uitest"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// recorded are sessions that remember what was asked of them.
type recorded struct {
	briefs []session.Brief
	done   []string
	fail   error
}

func (r *recorded) did(verb string, id session.ID) error {
	r.done = append(r.done, verb+" "+string(id))
	return r.fail
}

func (r *recorded) Briefs() ([]session.Brief, error) { return r.briefs, nil }
func (r *recorded) Changed(context.Context) (<-chan struct{}, error) {
	return make(chan struct{}), nil
}
func (r *recorded) Repair(context.Context) ([]session.ID, error) { return nil, nil }
func (r *recorded) Screen(context.Context, session.ID) ([]byte, error) {
	return nil, session.ErrNoScreen
}

func (r *recorded) Remove(_ context.Context, id session.ID, _ bool) error { return r.did("remove", id) }

func (r *recorded) Tail(session.ID, int64) ([]byte, error) {
	return []byte("reading main.go\n\x1b]52;c;ZXZpbA==\x07all tests pass\n"), nil
}

func (r *recorded) FinalChanges(session.ID) (*review.ChangeSet, error) {
	return &review.ChangeSet{Changes: []review.Change{{Path: "main.go", Kind: review.Modified, Added: 3, Deleted: 1}, {Path: "evil\x1b[2J", Kind: review.Added, Added: 1}}}, nil
}

func (r *recorded) Find(text string) (session.Session, error) {
	for _, b := range r.briefs {
		if string(b.ID) == text {
			spec := session.Spec{ID: b.ID, Agent: b.Agent, Created: noon, Model: "qwen3", Network: netguard.Local}
			result := &session.Result{Refused: []session.Refusal{{What: "name", Target: "evil.example", Reason: "no names", Times: 2}}}
			return session.Session{Spec: spec, State: session.State{Phase: b.Phase, Result: result}}, nil
		}
	}
	return session.Session{}, errors.New("there is none")
}

func (r *recorded) Stop(_ context.Context, id session.ID, _ string) (session.Session, error) {
	return session.Session{}, r.did("stop", id)
}

func (r *recorded) Discard(_ context.Context, id session.ID) (*review.Saved, error) {
	return nil, r.did("discard", id)
}

func some() []session.Brief {
	at := func(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }
	return []session.Brief{
		{ID: "0aaaa-codex", Agent: "codex", Repository: "/home/ann/shop", Task: "fix the failing test", Created: at(90), Ended: at(80), Phase: session.Ended, Changed: true, Files: 3, Added: 40, Deleted: 2, Tokens: 12345, Refused: 2},
		{ID: "0bbbb-aider", Agent: "aider", Repository: "/home/ann/blog", Branch: "dark", Task: "Ünïcode wörds 漢字", Created: at(70), Ended: at(60), Phase: session.Ended, Failed: true},
		{ID: "0cccc-qwen", Agent: "qwen", Repository: "/home/ann/shop", Task: "evil \x1b]0;title\x07 task", Created: at(50), Ended: at(40), Phase: session.Ended, Changed: true, Files: 1, Review: session.Accepted},
		{ID: "0dddd-shell", Agent: "shell", Interactive: true, Repository: "/home/ann/shop", Created: at(5), Started: at(4), Phase: session.Running},
	}
}

// person is one before a dashboard whose clock stands still.
type person struct {
	*uitest.Person
	m   *Model
	now time.Time
}

func newPerson(t testing.TB, sessions Sessions, width, height int) *person {
	p := &person{m: New(t.Context(), sessions), now: noon}
	p.m.now = func() time.Time { return p.now }
	p.Person = uitest.New(t, p.m, width, height)
	p.Run(p.m.list())
	return p
}

func TestTheDashboardLooksAsItDid(t *testing.T) {
	for _, size := range uitest.Sizes {
		p := newPerson(t, &recorded{briefs: some()}, size[0], size[1])
		p.Show("newest first")
		p.Press("end")
		p.Show("the oldest")
		p.Press("v")
		p.Show("grouped")
		p.Press("v", "/")
		p.Type("shop")
		p.Show("filtered")
		p.Press("esc", "p")
		p.Show("without a preview")
		p.Press("end", "x")
		p.Show("a question")
		p.Golden("")
	}
}

func TestNothingOfTheAgentsReachesTheTerminalRaw(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some()}, 120, 40)
	p.Press("end")
	for range 4 {
		if view := p.m.View(); strings.Contains(view, "\x1b]") || strings.Contains(view, "\x1b[2J") || strings.Contains(view, "\x07") {
			t.Errorf("%q", view)
		}
		p.Press("up")
	}
}

func TestThePersonStaysAtTheirSessionWhenOthersComeAndGo(t *testing.T) {
	sessions := &recorded{briefs: some()}
	p := newPerson(t, sessions, 80, 24)
	p.Press("down", "down")
	if p.m.at != "0bbbb-aider" {
		t.Fatalf("at %s", p.m.at)
	}
	sessions.briefs = append(sessions.briefs, session.Brief{ID: "0eeee-codex", Created: noon, Phase: session.Running, Repository: "/r"})
	p.Run(p.m.list())
	if p.m.at != "0bbbb-aider" {
		t.Errorf("at %s after a session has come", p.m.at)
	}
	sessions.briefs = append(sessions.briefs[:1], sessions.briefs[2:]...)
	p.Run(p.m.list())
	if p.m.at != "0aaaa-codex" {
		t.Errorf("at %s after the session has gone", p.m.at)
	}
	sessions.briefs = nil
	p.Run(p.m.list())
	p.Press("down", "enter", "x", "d")
	p.Sees("There is no session yet")
	if len(p.Asked)+len(sessions.done) > 0 {
		t.Errorf("%v %v happened with no session", p.Asked, sessions.done)
	}
}

func TestKeysTypedBeforeAQuestionAppearedDoNotAnswerIt(t *testing.T) {
	sessions := &recorded{briefs: some()}
	p := newPerson(t, sessions, 80, 24)
	p.Press("end", "x", "y", "enter")
	if len(sessions.done) > 0 {
		t.Fatalf("%v was done", sessions.done)
	}
	p.Sees("Discard 0aaaa-codex?")
	p.now = p.now.Add(dialog.Grace)
	p.Press("enter") // the choice that does nothing has the focus
	if len(sessions.done) > 0 || p.m.ask != nil {
		t.Fatalf("%v was done", sessions.done)
	}
	p.Press("x")
	p.now = p.now.Add(dialog.Grace)
	p.Press("tab", "enter")
	if fmt.Sprint(sessions.done) != "[discard 0aaaa-codex]" {
		t.Errorf("%v was done", sessions.done)
	}
	p.Sees("recover")
}

func TestAFailureIsSaid(t *testing.T) {
	sessions := &recorded{briefs: some(), fail: errors.New("the disk is \x1b[31mfull")}
	p := newPerson(t, sessions, 80, 24)
	p.Press("home", "s")
	p.now = p.now.Add(dialog.Grace)
	p.Press("y")
	if fmt.Sprint(sessions.done) != "[stop 0dddd-shell]" {
		t.Errorf("%v was done", sessions.done)
	}
	p.Sees("the disk is")
}

func TestOnlyWhatCanBeDoneIsOffered(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some()}, 200, 40)
	for _, c := range []struct{ id, offered string }{
		{"0dddd-shell", "enter attach · s stop · l output"},
		{"0cccc-qwen", "d diff · a accept · X remove"},
		{"0bbbb-aider", "X remove · l output"},
		{"0aaaa-codex", "d diff · a accept · x discard · l output"},
	} {
		if string(p.m.at) != c.id {
			t.Fatalf("at %s", p.m.at)
		}
		p.Sees(strings.ReplaceAll(c.offered, "X remove", "delete remove"))
		p.Press("down")
	}
	p.Press("d", "home", "enter")
	if fmt.Sprint(p.Asked) != "[{[diff 0aaaa-codex] true} {[attach 0dddd-shell] false}]" {
		t.Errorf("asked for %v", p.Asked)
	}
}

// FuzzKeys presses any keys at any size: nothing panics, the view fits, and nothing
// is done without its question having been answered in time.
func FuzzKeys(f *testing.F) {
	f.Add(uint64(1), uint8(80), uint8(24))
	f.Add(uint64(2), uint8(41), uint8(12))
	names := []string{"enter", "esc", "up", "down", "tab", "pgdown", "pgup", "home", "end", "delete", "backspace", "x", "s", "y", "n", "/", "a", "d", "v", "S", "p", "g", "G", "c", "o", "é"}
	f.Fuzz(func(t *testing.T, seed uint64, width, height uint8) {
		random := rand.New(rand.NewPCG(seed, 7))
		sessions := &recorded{briefs: some()}
		p := newPerson(t, sessions, max(40, int(width)), max(11, int(height)))
		for range 6 {
			sessions.briefs = some()[:random.IntN(5)]
			p.Run(p.m.list())
			p.Mash(random, 10, names)
		}
		if len(sessions.done) > 0 { // the clock stands still, so no question was open long enough
			t.Errorf("%v was done", sessions.done)
		}
	})
}
