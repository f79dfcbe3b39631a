package dashboard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/netguard"
	"aibox/review"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/keymap"
	"aibox/ui/page"
	"aibox/ui/uitest"

	tea "charm.land/bubbletea/v2"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// recorded are sessions that remember what was asked of them.
type recorded struct {
	briefs  []session.Brief
	done    []string
	fail    error
	damaged error         // beside every list
	said    chan struct{} // for Heard; nil is an agent that has said all
	tails   []string      // for Tail, the last one for ever; none is the usual
}

func (r *recorded) did(verb string, id session.ID) error {
	r.done = append(r.done, verb+" "+string(id))
	return r.fail
}

func (r *recorded) Briefs() ([]session.Brief, error) { return slices.Clone(r.briefs), r.damaged }
func (r *recorded) Changed(context.Context) (<-chan struct{}, error) {
	return make(chan struct{}), nil
}
func (r *recorded) Repair(context.Context) ([]session.ID, error) { return nil, nil }
func (r *recorded) Screen(context.Context, session.ID) ([]byte, error) {
	return nil, session.ErrNoScreen
}

func (r *recorded) Remove(_ context.Context, id session.ID, _ bool) error { return r.did("remove", id) }

func (r *recorded) Heard(context.Context, session.ID) (<-chan struct{}, error) {
	said := r.said
	if said == nil {
		said = make(chan struct{})
		close(said)
	}
	return said, nil
}

func (r *recorded) Tail(session.ID, int64) ([]byte, error) {
	if len(r.tails) > 0 {
		text := r.tails[0]
		r.tails = r.tails[min(1, len(r.tails)-1):]
		return []byte(text), nil
	}
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
	m     *Model
	now   time.Time
	waits []time.Duration // that the screen asked for
}

func newPerson(t testing.TB, sessions Sessions, width, height int) *person {
	p := &person{m: New(t.Context(), sessions, nil), now: noon}
	p.m.now = func() time.Time { return p.now }
	p.m.breath = 0
	p.m.after = func(d time.Duration, _ tea.Msg) tea.Cmd { p.waits = append(p.waits, d); return nil }
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

func TestADamagedSessionIsSaidOnceAndTheOthersAreListed(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some(), damaged: errors.New("0eeee-codex is damaged")}, 80, 24)
	p.Sees("0eeee-codex is damaged")
	p.Sees("4 sessions")
	p.Press("c")
	p.Run(p.m.list())
	p.Sees("copied: aibox attach 0dddd-shell")
}

func TestOnlyWhatCanBeDoneIsOffered(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some()}, 200, 40)
	for _, c := range []struct{ id, offered string }{
		{"0dddd-shell", "enter attach · s stop · n new run · R run again"},
		{"0cccc-qwen", "enter open · r review · a accept · n new run · delete remove"},
		{"0bbbb-aider", "enter open · n new run · delete remove"},
		{"0aaaa-codex", "enter open · r review · a accept · x discard · n new run"},
	} {
		if string(p.m.at) != c.id {
			t.Fatalf("at %s", p.m.at)
		}
		p.Sees(c.offered)
		p.Press("down")
	}
	p.Press("d", "enter", "r", "R", "w", "n", "home", "enter", "l")
	want := "[{[diff 0aaaa-codex] true} {0aaaa-codex} {0aaaa-codex} { 0aaaa-codex} {0aaaa-codex} { } {[attach 0dddd-shell] false} {0dddd-shell}]"
	if fmt.Sprint(p.Asked) != want {
		t.Errorf("asked for %v", p.Asked)
	}
}

func TestAHeadlessSessionThatRunsIsReadAlong(t *testing.T) {
	p := newPerson(t, &recorded{briefs: []session.Brief{{ID: "0eeee-codex", Created: noon, Phase: session.Running}}}, 80, 24)
	p.Press("enter")
	if fmt.Sprint(p.Asked) != fmt.Sprint([]page.Request{page.Attend{ID: "0eeee-codex"}}) {
		t.Errorf("asked for %v", p.Asked)
	}
}

func TestNothingIsAcceptedWithoutAQuestion(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some()}, 80, 24)
	p.Press("end", "a", "y")
	if len(p.Asked) > 0 {
		t.Fatalf("asked for %v", p.Asked)
	}
	p.Sees("Accept 0aaaa-codex?")
	p.now = p.now.Add(dialog.Grace)
	p.Press("y")
	if fmt.Sprint(p.Asked) != "[{[accept 0aaaa-codex] true}]" {
		t.Errorf("asked for %v", p.Asked)
	}
}

func TestWhatIsMarkedIsActedOnTogether(t *testing.T) {
	sessions := &recorded{briefs: append(some(),
		session.Brief{ID: "0eeee-codex", Created: noon, Phase: session.Ended, Changed: true, Files: 2, Added: 5},
		session.Brief{ID: "0ffff-codex", Created: noon, Phase: session.Running})}
	p := newPerson(t, sessions, 120, 40)
	p.Press("ctrl+a")
	p.Sees("6 marked")
	p.Press("ctrl+a")
	p.DoesNotSee("marked")
	p.Press("home", "space", "space", "end", "space")
	p.Sees("▸*▲ to review  0aaaa-codex")
	p.Sees("3 marked")
	p.Press("x")
	p.Sees("Discard 2 sessions?")
	p.Sees("0eeee-codex, 0aaaa-codex")
	p.Sees("5 changed files (+45 -2)")
	p.Sees("With 1 more of")
	p.now = p.now.Add(dialog.Grace)
	p.Press("y")
	if fmt.Sprint(sessions.done) != "[discard 0eeee-codex discard 0aaaa-codex]" {
		t.Errorf("%v was done", sessions.done)
	}
	p.Sees("2 sessions are discarded")
	p.Sees("1 marked")
	p.Press("esc")
	p.DoesNotSee("marked")
}

func TestAMarkThatIsFilteredAwayIsNotActedOn(t *testing.T) {
	sessions := &recorded{briefs: some()}
	p := newPerson(t, sessions, 120, 40)
	p.Press("end", "space", "home", "/")
	p.Type("shell")
	p.Press("enter", "s")
	p.now = p.now.Add(dialog.Grace)
	p.Press("y")
	if fmt.Sprint(sessions.done) != "[stop 0dddd-shell]" {
		t.Errorf("%v was done", sessions.done)
	}
}

func TestOfSeveralThatFailTheFirstIsSaidAndTheMarksStay(t *testing.T) {
	sessions := &recorded{briefs: some(), fail: errors.New("the disk is full")}
	p := newPerson(t, sessions, 200, 60)
	p.Press("ctrl+a", "delete")
	p.now = p.now.Add(dialog.Grace)
	p.Press("y")
	p.Sees("2 of 2 failed: the disk is full")
	p.Sees("4 marked")
}

// order is the ids as they stand in the list.
func (p *person) order() string {
	var ids []string
	for _, r := range p.m.rows {
		if r.brief == nil {
			ids = append(ids, "/"+r.heading)
		} else {
			ids = append(ids, string(r.brief.ID[1:2]))
		}
	}
	return strings.Join(ids, " ")
}

func TestEveryColumnSortsByAKeyAndByAClickOnItsName(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some()}, 200, 40)
	p.Press("p") // the whole width for the list
	want := map[string]string{
		"STATE": "d a b c", "SESSION": "d c b a", "REPOSITORY": "b d c a", "TASK": "d c a b",
		"CHANGES": "a c d b", "TOKENS": "a d c b", "REFUSED": "a d c b", "TIME": "d c b a",
	}
	for c := range columnCount {
		name := kinds[c].name
		p.Press("S")
		p.Sees(name + "↓")
		if got := p.order(); got != want[name] {
			t.Errorf("by %s: %s", name, got)
		}
	}
	p.ClickOn("TOKENS")
	if got := p.order(); got != "a d c b" {
		t.Errorf("after a click: %s", got)
	}
	p.ClickOn("TOKENS")
	p.Sees("TOKENS↑")
	if got := p.order(); got != "d c b a" {
		t.Errorf("after another click: %s", got)
	}
	p.Press("O")
	if got := p.order(); got != "a d c b" {
		t.Errorf("turned round: %s", got)
	}
}

func TestSessionsAreGroupedAndFilteredByWhatIsTyped(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some()}, 120, 40)
	for _, want := range []string{
		"//home/ann/blog b //home/ann/shop d c a", "/running d /to review a /failed b /accepted c", "/aider b /codex a /qwen c /shell d", "d c b a",
	} {
		p.Press("v")
		if got := p.order(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	p.Press("/")
	p.Type("agent:codex,aider -state:failed")
	if got := p.order(); got != "a" {
		t.Errorf("filtered: %s", got)
	}
	p.Press("esc")
	if got := p.order(); got != "d c b a" {
		t.Errorf("no longer filtered: %s", got)
	}
}

func TestTheMouseGoesToASessionAndOpensItWithASecondClick(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some()}, 80, 24)
	p.ClickOn("0bbbb-aider")
	if p.m.at != "0bbbb-aider" || len(p.Asked) > 0 {
		t.Fatalf("at %s, asked for %v", p.m.at, p.Asked)
	}
	p.now = p.now.Add(doubleTime)
	p.ClickOn("0bbbb-aider") // too late for a double click
	p.ClickOn("0cccc-qwen")  // another one
	if len(p.Asked) > 0 {
		t.Fatalf("asked for %v", p.Asked)
	}
	p.ClickOn("0cccc-qwen")
	if fmt.Sprint(p.Asked) != "[{0cccc-qwen}]" {
		t.Errorf("asked for %v", p.Asked)
	}
	p.Send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if p.m.at != "0bbbb-aider" {
		t.Errorf("at %s after the wheel", p.m.at)
	}
}

func TestThePreviewShowsWhatAnAgentSaysAsItSaysIt(t *testing.T) {
	said := make(chan struct{}, 1)
	said <- struct{}{}
	close(said)
	sessions := &recorded{briefs: some()[3:], said: said, tails: []string{"the first word", "the last word"}}
	p := newPerson(t, sessions, 80, 24)
	p.Sees("the last word")
	p.DoesNotSee("the first word")
}

func TestALateAnswerIsDropped(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some()}, 80, 24)
	p.Send(listed{number: p.m.asked - 1})
	p.Send(looked{id: "0aaaa-codex", output: []string{"of somebody else"}})
	p.Sees("4 sessions")
	p.DoesNotSee("of somebody else")
	p.Send(heard{ear: &ear{id: "0aaaa-codex", ctx: t.Context()}})
}

func TestTheScreenIsDrawnAgainOnlyWhenATimeOnItChanges(t *testing.T) {
	sessions := &recorded{briefs: some()[:3]} // the youngest ended 40 minutes ago
	p := newPerson(t, sessions, 80, 24)
	p.m.Init()
	p.now = noon.Add(10 * time.Second)
	p.Run(p.m.list())
	if fmt.Sprint(p.waits) != "[50s]" {
		t.Fatalf("waits for %v", p.waits)
	}
	p.Send(tick{})
	sessions.briefs = append(sessions.briefs, session.Brief{ID: "0eeee-codex", Created: noon, Phase: session.Running})
	p.Run(p.m.list())
	p.Send(tick{})
	if fmt.Sprint(p.waits) != "[50s 50s 1s]" {
		t.Errorf("waits for %v", p.waits)
	}
}

func TestNothingIsToldByColorAlone(t *testing.T) {
	p := newPerson(t, &recorded{briefs: some()}, 120, 40)
	before := p.View()
	p.Press("p", "down", "p")
	p.Sees("▸ ✓ accepted")
	if p.View() == before {
		t.Error("another session looks the same")
	}
}

func BenchmarkAKeyWithManySessions(b *testing.B) {
	briefs := make([]session.Brief, 200)
	for i := range briefs {
		briefs[i] = some()[i%4]
		briefs[i].ID = session.ID(fmt.Sprintf("0%04d-codex", i))
	}
	p := newPerson(b, &recorded{briefs: briefs}, 200, 60)
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
	names := []string{"enter", "esc", "up", "down", "tab", "pgdown", "pgup", "home", "end", "delete", "backspace", "x", "s", "y", "n", "/", "a", "d", "v", "S", "p", "g", "G", "c", "o", "space", "ctrl+a", "O", "R", "w", "l", "r", "é"}
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
