package dashboard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"aibox/internal/golden"
	"aibox/netguard"
	"aibox/review"
	"aibox/session"
	"aibox/ui/dialog"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
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

// person drives a dashboard and runs what its commands ask for.
type person struct {
	t   testing.TB
	m   *Model
	out []tea.Msg // what the owner of the screen is asked for
	now time.Time
}

func newPerson(t testing.TB, sessions Sessions, width, height int) *person {
	p := &person{t: t, m: New(t.Context(), sessions), now: noon}
	p.m.now = func() time.Time { return p.now }
	p.m.SetSize(width, height)
	p.send(p.m.list()())
	return p
}

func (p *person) send(msg tea.Msg) { p.run(p.m.Update(msg)) }

func (p *person) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			p.run(cmd)
		}
	case listed, looked, acted:
		p.send(msg)
	default:
		p.out = append(p.out, msg)
	}
}

func (p *person) press(keys ...string) {
	for _, name := range keys {
		p.send(keyPress(name))
	}
}

func keyPress(name string) tea.KeyPressMsg {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "tab": tea.KeyTab, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd, "delete": tea.KeyDelete, "backspace": tea.KeyBackspace}
	if code, ok := special[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

func (p *person) view() string { return ansi.Strip(p.m.View()) }

func (p *person) sees(want string) {
	p.t.Helper()
	if !strings.Contains(p.view(), want) {
		p.t.Errorf("%q is not to be seen:\n%s", want, p.view())
	}
}

func TestTheDashboardLooksAsItDid(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		p := newPerson(t, &recorded{briefs: some()}, size[0], size[1])
		var views strings.Builder
		show := func(what string) {
			view := p.view()
			for i, line := range strings.Split(view, "\n") {
				if ansi.StringWidth(line) > size[0] {
					t.Errorf("%v, %s: row %d is %d columns wide", size, what, i, ansi.StringWidth(line))
				}
			}
			if rows := strings.Count(view, "\n") + 1; rows != size[1] {
				t.Errorf("%v, %s: %d rows", size, what, rows)
			}
			fmt.Fprintf(&views, "== %s\n%s\n", what, view)
		}
		show("newest first")
		p.press("end")
		show("the oldest")
		p.press("v")
		show("grouped")
		p.press("v", "/", "s", "h", "o", "p")
		show("filtered")
		p.press("esc", "p")
		show("without a preview")
		p.press("end", "x")
		show("a question")
		golden.Check(t, fmt.Sprintf("%dx%d.golden", size[0], size[1]), views.String())
	}
}

func TestNothingOfTheAgentsReachesTheTerminalRaw(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some()}, 120, 40)
	p.press("end")
	for range 4 {
		if view := p.m.View(); strings.Contains(view, "\x1b]") || strings.Contains(view, "\x1b[2J") || strings.Contains(view, "\x07") {
			t.Errorf("%q", view)
		}
		p.press("up")
	}
}

func TestThePersonStaysAtTheirSessionWhenOthersComeAndGo(t *testing.T) {
	sessions := &recorded{briefs: some()}
	p := newPerson(t, sessions, 80, 24)
	p.press("down", "down")
	if p.m.at != "0bbbb-aider" {
		t.Fatalf("at %s", p.m.at)
	}
	sessions.briefs = append(sessions.briefs, session.Brief{ID: "0eeee-codex", Created: noon, Phase: session.Running, Repository: "/r"})
	p.send(p.m.list()())
	if p.m.at != "0bbbb-aider" {
		t.Errorf("at %s after a session has come", p.m.at)
	}
	sessions.briefs = append(sessions.briefs[:1], sessions.briefs[2:]...)
	p.send(p.m.list()())
	if p.m.at != "0aaaa-codex" {
		t.Errorf("at %s after the session has gone", p.m.at)
	}
	sessions.briefs = nil
	p.send(p.m.list()())
	p.press("down", "enter", "x", "d")
	p.sees("There is no session yet")
	if len(p.out)+len(sessions.done) > 0 {
		t.Errorf("%v %v happened with no session", p.out, sessions.done)
	}
}

func TestKeysTypedBeforeAQuestionAppearedDoNotAnswerIt(t *testing.T) {
	sessions := &recorded{briefs: some()}
	p := newPerson(t, sessions, 80, 24)
	p.press("end", "x", "y", "enter")
	if len(sessions.done) > 0 {
		t.Fatalf("%v was done", sessions.done)
	}
	p.sees("Discard 0aaaa-codex?")
	p.now = p.now.Add(dialog.Grace)
	p.press("enter") // the choice that does nothing has the focus
	if len(sessions.done) > 0 || p.m.ask != nil {
		t.Fatalf("%v was done", sessions.done)
	}
	p.press("x")
	p.now = p.now.Add(dialog.Grace)
	p.press("tab", "enter")
	if fmt.Sprint(sessions.done) != "[discard 0aaaa-codex]" {
		t.Errorf("%v was done", sessions.done)
	}
	p.sees("recover")
}

func TestAFailureIsSaid(t *testing.T) {
	sessions := &recorded{briefs: some(), fail: errors.New("the disk is \x1b[31mfull")}
	p := newPerson(t, sessions, 80, 24)
	p.press("home", "s")
	p.now = p.now.Add(dialog.Grace)
	p.press("y")
	if fmt.Sprint(sessions.done) != "[stop 0dddd-shell]" {
		t.Errorf("%v was done", sessions.done)
	}
	p.sees("the disk is")
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
		p.sees(strings.ReplaceAll(c.offered, "X remove", "delete remove"))
		p.press("down")
	}
	p.press("d", "home", "enter")
	if fmt.Sprint(p.out) != "[{diff 0aaaa-codex} {attach 0dddd-shell}]" {
		t.Errorf("asked for %v", p.out)
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
		p := newPerson(t, sessions, max(1, int(width)), max(1, int(height)))
		for range 60 {
			switch random.IntN(12) {
			case 0:
				p.m.SetSize(1+random.IntN(220), 1+random.IntN(70))
			case 1:
				sessions.briefs = some()[:random.IntN(5)]
				p.send(p.m.list()())
			case 2:
				p.send(tea.MouseClickMsg{Button: tea.MouseLeft, X: random.IntN(100), Y: random.IntN(40)})
			default:
				p.press(names[random.IntN(len(names))])
			}
			_ = p.m.View()
		}
		if len(sessions.done) > 0 { // the clock stands still, so no question was open long enough
			t.Errorf("%v was done", sessions.done)
		}
	})
}
