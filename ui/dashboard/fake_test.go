package dashboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"aibox/config"
	"aibox/netguard"
	"aibox/review"
	"aibox/session"
	"aibox/ui/uitest"
	"aibox/ui/welcome"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"

	"aibox/review/recovery"
	"aibox/session/manager"
	"aibox/session/summary"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// fakeSessions are sessions that record the calls.
type fakeSessions struct {
	briefs  []summary.Summary
	done    []string
	fail    error
	damaged error         // added to every list
	said    chan struct{} // for Heard; nil means that the agent has printed everything
	tails   []string      // results of Tail, of which the last one repeats; nil means the default
	count   func(session.ID) (session.Changes, error)
	counted []session.ID
	usage   session.Usage
	dead    bool // the supervisors of the sessions that have not ended have died
	ended   bool // such sessions end by themselves before Repair
}

func (r *fakeSessions) do(verb string, id session.ID) error {
	r.done = append(r.done, verb+" "+string(id))
	return r.fail
}

func (r *fakeSessions) Summaries() ([]summary.Summary, error) {
	return slices.Clone(r.briefs), r.damaged
}

func (r *fakeSessions) Measure(_ context.Context, ids ...session.ID) map[session.ID]session.Usage {
	used := map[session.ID]session.Usage{}
	for _, id := range ids {
		used[id] = r.usage
	}
	return used
}

func (r *fakeSessions) Changed(context.Context) (<-chan struct{}, error) {
	return make(chan struct{}), nil
}

func (r *fakeSessions) Repair(context.Context) ([]manager.Repaired, error) {
	r.done = append(r.done, "repair")
	var repaired []manager.Repaired
	for i := range r.briefs {
		if b := &r.briefs[i]; r.dead && r.fail == nil && b.Phase != session.Ended {
			b.Phase, b.Failed = session.Ended, !r.ended
			if !r.ended {
				repaired = append(repaired, manager.Repaired{ID: b.ID})
			}
		}
	}
	return repaired, r.fail
}

func (r *fakeSessions) Screen(context.Context, session.ID) ([]byte, error) {
	return nil, session.ErrNoScreen
}

func (r *fakeSessions) Remove(_ context.Context, id session.ID, _ bool) error {
	return r.do("remove", id)
}

func (r *fakeSessions) WatchOutput(context.Context, session.ID) (<-chan struct{}, error) {
	said := r.said
	if said == nil {
		said = make(chan struct{})
		close(said)
	}
	return said, nil
}

func (r *fakeSessions) Tail(session.ID, int64) ([]byte, error) {
	if len(r.tails) > 0 {
		text := r.tails[0]
		r.tails = r.tails[min(1, len(r.tails)-1):]
		return []byte(text), nil
	}
	return []byte("reading \x1b[1mmain.go\x1b[0m\n\x1b]52;c;ZXZpbA==\x07all tests pass\n"), nil
}

func (r *fakeSessions) CountChanges(_ context.Context, id session.ID) (session.Changes, error) {
	r.counted = append(r.counted, id)
	if r.count == nil {
		return session.Changes{}, errors.New("nothing was to be counted")
	}
	return r.count(id)
}

func (r *fakeSessions) FinalChanges(session.ID) (*review.ChangeSet, error) {
	return &review.ChangeSet{Changes: []review.Change{{Path: "main.go", Kind: review.Modified, Added: 3, Deleted: 1}, {Path: "evil\x1b[2J", Kind: review.Added, Added: 1}}}, nil
}

func (r *fakeSessions) Find(text string) (session.Session, error) {
	for _, b := range r.briefs {
		if string(b.ID) == text {
			spec := session.Spec{ID: b.ID, Agent: b.Agent, Created: b.Created, Run: config.Run{Model: "qwen3", Network: netguard.Local.String()}}
			result := &session.Result{Refused: []session.Refusal{{What: "name", Target: "evil.example", Reason: "no names", Times: 2}}}
			return session.Session{Spec: spec, State: session.State{Phase: b.Phase, Result: result}, Alive: !r.dead && b.Phase != session.Ended}, nil
		}
	}
	return session.Session{}, errors.New("there is none")
}

func (r *fakeSessions) Stop(_ context.Context, id session.ID, _ string) (session.Session, error) {
	return session.Session{}, r.do("stop", id)
}

func (r *fakeSessions) Discard(_ context.Context, id session.ID) (*recovery.Point, error) {
	return nil, r.do("discard", id)
}

func (r *fakeSessions) RestoreNewest(_ context.Context, id session.ID) error {
	return r.do("restore", id)
}

func sampleBriefs() []summary.Summary {
	at := func(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }
	return []summary.Summary{
		{ID: "0aaaa-codex", Agent: "codex", Repository: "/home/ann/shop", Task: "fix the failing test", Created: at(90), Ended: at(80), Phase: session.Ended, Changed: true, Files: 3, Added: 40, Deleted: 2, Tokens: 12345, Cost: 0.416, Refused: 2},
		{ID: "0bbbb-aider", Agent: "aider", Repository: "/home/ann/blog", Branch: "dark", Task: "Ünïcode wörds 漢字", Created: at(70), Ended: at(60), Phase: session.Ended, Failed: true},
		{ID: "0cccc-qwen", Agent: "qwen", Repository: "/home/ann/shop", Task: "evil \x1b]0;title\x07 task", Created: at(50), Ended: at(40), Phase: session.Ended, Changed: true, Files: 1, Review: session.Accepted},
		{ID: "0dddd-shell", Agent: "shell", Interactive: true, Repository: "/home/ann/shop", Created: at(5), Started: at(4), Phase: session.Running},
	}
}

// user uses a dashboard at a fixed time.
type user struct {
	*uitest.User
	m     *Model
	now   time.Time
	waits []time.Duration // that the screen asked for
}

func newUser(t testing.TB, sessions Sessions, width, height int) *user {
	p := &user{m: New(t.Context(), sessions, welcome.Services{}), now: noon}
	p.m.now = func() time.Time { return p.now }
	p.m.debounce, p.m.preview.debounce = 0, 0
	p.m.after = func(d time.Duration, _ tea.Msg) tea.Cmd { p.waits = append(p.waits, d); return nil }
	p.User = uitest.New(t, p.m, width, height)
	p.Run(p.m.load())
	return p
}

// open opens the dashboard with some sessions, the newest first.
func open(t testing.TB, width, height int) (*user, *fakeSessions) {
	p, sessions := openAsIs(t, width, height)
	p.m.list.order = byTime
	p.m.arrange()
	return p, sessions
}

// openAsIs opens the dashboard with some sessions in the user's order.
func openAsIs(t testing.TB, width, height int) (*user, *fakeSessions) {
	sessions := &fakeSessions{briefs: sampleBriefs()}
	return newUser(t, sessions, width, height), sessions
}

// wait waits until a question can be answered.
func (p *user) wait() { p.now = p.now.Add(dialog.Grace) }

// asked checks what the owner of the screen was asked for, all of it.
func (p *user) asked(want string) {
	p.T.Helper()
	if got := fmt.Sprint(p.Asked); got != want {
		p.T.Errorf("asked for %s, not %s", got, want)
	}
}

// did checks what was done to the sessions, all of it: "[stop 0dddd-shell]".
func (r *fakeSessions) did(t testing.TB, want string) {
	t.Helper()
	if got := fmt.Sprint(r.done); got != want {
		t.Errorf("%s was done, not %s", got, want)
	}
}
