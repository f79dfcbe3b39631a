package snapshots

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/process"
	"aibox/session/snapshot"
	"aibox/session/summary"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// machine is a user's sandboxes and snapshots.
type machine struct {
	all     []snapshot.Snapshot
	running []summary.Summary
	fails   error // of each change
	broken  error // of each look
	done    []string
}

func (m *machine) Summaries() ([]summary.Summary, error) { return m.running, nil }

func (m *machine) Snapshots(context.Context) ([]snapshot.Snapshot, error) {
	return slices.Clone(m.all), m.broken
}

func (m *machine) Take(_ context.Context, sandbox session.ID) (string, error) {
	m.done = append(m.done, "take "+string(sandbox))
	if m.fails != nil {
		return "", m.fails
	}
	m.all = append([]snapshot.Snapshot{sample("snap-zzzznewzzzznewz", "", 0)}, m.all...)
	return m.all[0].ID, nil
}

func (m *machine) Start(_ context.Context, id string) (session.ID, error) {
	m.done = append(m.done, "start "+id)
	return "0dq7a-sandbox", m.fails
}

func (m *machine) Delete(_ context.Context, id string) error {
	m.done = append(m.done, "delete "+id)
	if m.fails == nil {
		m.all = slices.DeleteFunc(m.all, func(s snapshot.Snapshot) bool { return s.ID == id })
	}
	return m.fails
}

func sample(id, name string, hours int) snapshot.Snapshot {
	spec := session.Spec{Run: config.Run{Network: "allowlist", Memory: 2048}, Sandbox: &session.SandboxSpec{Template: "code"}}
	return snapshot.Snapshot{
		ID: id, Name: name, Sandbox: "0dq4f-sandbox", Created: noon.Add(-time.Duration(hours) * time.Hour), Spec: spec, Bytes: 187e6,
		Files:     []snapshot.File{{Name: "checkpoint.img", Size: 2e6}, {Name: "pages.img", Size: 185e6}},
		Processes: []snapshot.Process{{Request: process.Request{Argv: []string{"python3", "-m", "http.server", "\x1b[2J"}}}},
	}
}

func used() *machine {
	return &machine{
		all: []snapshot.Snapshot{sample("snap-7d2kqaaaabbbbccc", "warm \x1b[31mstart", 2), sample("snap-3xkqpaaaabbbbccc", "", 30), sample("snap-aakqpaaaabbbbccc", "before the update", 700)},
		running: []summary.Summary{
			{ID: "0dq4f-sandbox", Template: "code", Phase: session.Running, Task: "build \x1b[2J"},
			{ID: "0dq5g-sandbox", Template: "browser", Phase: session.Running},
			{ID: "0dq5h-sandbox", Template: "browser", Phase: session.Running, Paused: true},
			{ID: "0dq6h-codex", Agent: "codex", Phase: session.Running},
		},
	}
}

// user is the user of the screen; the time does not change.
type user struct {
	*uitest.User
	m   *Model
	now time.Time
}

func newUser(t testing.TB, of *machine, take session.ID, width, height int) *user {
	p := &user{m: New(t.Context(), of, of, take), now: noon}
	p.m.now = func() time.Time { return p.now }
	p.m.after = func(time.Duration, tea.Msg) tea.Cmd { return func() tea.Msg { return nil } }
	p.User = uitest.New(t, p.m, width, height)
	p.Run(p.m.Init())
	return p
}

func TestTheViewsAreAsTheyWere(t *testing.T) {
	for _, size := range uitest.Sizes {
		none := newUser(t, &machine{}, "", size[0], size[1])
		none.Show("none")
		none.Golden("none-")
		p := newUser(t, used(), "", size[0], size[1])
		p.Show("some")
		p.Press("n")
		p.Show("of which sandbox")
		p.Press("esc", "down", "x")
		p.Show("to delete one")
		p.Golden("")
	}
}

func TestALongListShowsWhichSnapshotsAreHidden(t *testing.T) {
	of := &machine{}
	for i := range 70 {
		of.all = append(of.all, sample(fmt.Sprintf("snap-%016d", i), "", i))
		of.running = append(of.running, summary.Summary{ID: session.ID(fmt.Sprintf("0dq%02d-sandbox", i)), Template: "code", Phase: session.Running})
	}
	p := newUser(t, of, "", 80, 24)
	p.Scrolls(70, "end")
	p.Press("n")
	p.Scrolls(70, "end")
}

func TestAListThatCannotBeReadOnceStays(t *testing.T) {
	of := used()
	p := newUser(t, of, "", 80, 24)
	p.Press("c")
	of.broken = fault.New(fault.Environment, "the disk does not answer")
	p.Run(p.m.load())
	p.Sees("copied: ") // the note stays, too
	p.Press("down")
	p.Sees("the disk does not answer")
	p.Sees("snap-aakqpaaaabbbbccc")
	of.broken = nil
	p.Run(p.m.load())
	p.DoesNotSee("the disk does not answer")
}

func TestASnapshotIsTakenOfARunningSandbox(t *testing.T) {
	of := used()
	p := newUser(t, of, "", 80, 24)
	p.Press("n")
	for _, other := range []string{"0dq5h", "0dq6h"} { // paused, and with an agent
		p.DoesNotSee(other)
	}
	p.Press("down", "enter")
	if !slices.Equal(of.done, []string{"take 0dq5g-sandbox"}) {
		t.Errorf("did %q", of.done)
	}
	p.Sees("taken: snap-zzzznewzzzznewz")
	p.Sees("▸ snap-zzzznewzzzznewz")
	p.Press("n", "esc")
	if p.m.choice.open || len(of.done) != 1 {
		t.Errorf("did %q", of.done)
	}
	of.running = nil
	p.Run(p.m.load())
	p.Press("n")
	p.Sees("no sandbox is running")
}

func TestTheScreenOpensWithASnapshotOfTheSelectedSandbox(t *testing.T) {
	of := used()
	p := newUser(t, of, "0dq4f-sandbox", 80, 24)
	p.Sees("▸ snap-zzzznewzzzznewz")
	if !slices.Equal(of.done, []string{"take 0dq4f-sandbox"}) {
		t.Errorf("did %q", of.done)
	}
	of.fails = fault.New(fault.Refused, "it has a \x1b[2Jvolume").Hint("create one without")
	p = newUser(t, of, "0dq4f-sandbox", 80, 24)
	p.Sees(`it has a \x1b[2Jvolume → create one without`)
}

func TestASandboxIsStartedFromASnapshot(t *testing.T) {
	of := used()
	p := newUser(t, of, "", 80, 24)
	p.Press("down", "enter")
	p.Sees("0dq7a-sandbox is running")
	if !slices.Equal(of.done, []string{"start snap-3xkqpaaaabbbbccc"}) {
		t.Errorf("did %q", of.done)
	}
}

func TestOnlyOneThingIsDoneAtATime(t *testing.T) {
	of := used()
	p := newUser(t, of, "", 80, 24)
	first := p.m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	p.Sees("starting a sandbox…")
	p.Press("enter", "n", "x")
	if len(of.done) > 0 || p.m.ask != nil || p.m.choice.open {
		t.Errorf("did %q", of.done)
	}
	p.Run(first)
	p.Press("n")
	if !p.m.choice.open {
		t.Error("it stays busy")
	}
}

func TestASnapshotIsDeletedAfterAQuestionWhoseFocusIsOnCancel(t *testing.T) {
	of := used()
	p := newUser(t, of, "", 80, 24)
	ask := func(answers ...string) {
		p.Press("x")
		p.Press("y") // too early
		p.now = p.now.Add(dialog.Grace)
		p.Press(answers...)
	}
	ask("enter")
	ask("esc")
	if len(of.done) > 0 {
		t.Fatalf("did %q", of.done)
	}
	of.fails = fault.New(fault.Refused, "a sandbox needs it")
	ask("y")
	p.Sees("a sandbox needs it")
	of.fails = nil
	ask("y")
	p.DoesNotSee("snap-7d2kqaaaabbbbccc ")
	p.Sees("▸ snap-3xkqpaaaabbbbccc")
	if !slices.Equal(of.done, []string{"delete snap-7d2kqaaaabbbbccc", "delete snap-7d2kqaaaabbbbccc"}) {
		t.Errorf("did %q", of.done)
	}
}

func TestTheSelectedSnapshotIsShownInFull(t *testing.T) {
	p := newUser(t, used(), "", 120, 40)
	for _, want := range []string{"of 0dq4f-sandbox", "pages.img", "python3 -m http.server", "up to 2 GiB", "allowlist", `warm \x1b[31mstart`} {
		p.Sees(want)
	}
	if strings.Contains(p.m.View(), "\x1b[2J") {
		t.Error("a process reached the terminal raw")
	}
	p.Press("c")
	p.Sees("copied: aibox sandbox create --snapshot snap-7d2kqaaaabbbbccc")
	p.Press("esc")
	if len(p.Asked) != 1 || p.Asked[0] != page.Request(page.Close{}) {
		t.Errorf("asked for %v", p.Asked)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(2))
	f.Fuzz(func(t *testing.T, seed uint64) {
		p := newUser(t, used(), "", 80, 24)
		p.ActRandomly(rand.New(rand.NewPCG(seed, 1)), 200, []string{"enter", "x", "n", "c", "y", "esc", "tab", "up", "down", "pgdown", "home", "end"})
	})
}

func TestATemplateIsShownInFullAtEveryWidth(t *testing.T) {
	of := used()
	of.all[1].Spec.Sandbox = &session.SandboxSpec{Template: "a-template-x"}
	for _, width := range []int{80, 100, 110, 120, 200} {
		p := newUser(t, of, "", width, 24)
		p.Sees("a-template-x") // the pane shows another snapshot
	}
}

func TestNamesGetTheRoomThatOtherColumnsLeave(t *testing.T) {
	for _, width := range []int{80, 200} {
		newUser(t, used(), "", width, 24).Sees("before the update")
	}
}

func TestAKeyForARowThatHasGoneDoesNothing(t *testing.T) {
	of := used()
	p := newUser(t, of, "", 120, 40)
	of.all = of.all[1:]
	p.Run(p.m.load())
	p.Press("enter")
	p.Sees("another snapshot was selected just now")
	if len(of.done) > 0 {
		t.Fatalf("did %v", of.done)
	}
	p.now = p.now.Add(dialog.Grace)
	p.Press("n")
	of.running = of.running[1:]
	p.Run(p.m.load())
	p.Press("enter")
	p.Sees("another sandbox was selected just now")
	if len(of.done) > 0 {
		t.Fatalf("did %v", of.done)
	}
	p.now = p.now.Add(dialog.Grace)
	p.Press("enter")
	if want := []string{"take 0dq5g-sandbox"}; !slices.Equal(of.done, want) {
		t.Errorf("did %v, not %v", of.done, want)
	}
}

func TestAChoiceThatClosesByItselfStartsNothing(t *testing.T) {
	of := used()
	p := newUser(t, of, "", 120, 40)
	p.Press("n")
	of.running = nil
	p.Run(p.m.load())
	p.Press("enter")
	if len(of.done) > 0 {
		t.Errorf("did %v", of.done)
	}
}

func TestAnOldListIsDroppedAndOneRefreshIsDue(t *testing.T) {
	of := used()
	p := newUser(t, of, "", 120, 40)
	due := 0
	p.m.after = func(_ time.Duration, msg tea.Msg) tea.Cmd {
		due++
		return func() tea.Msg { return msg }
	}
	p.Withhold = func(msg tea.Msg) bool { _, is := msg.(refresh); return is }
	old := p.m.load()()
	of.all = of.all[:1]
	p.Send(acted{done: "deleted"})
	p.Send(old)
	p.DoesNotSee("before the update")
	if due != 1 || len(p.Withheld) != 1 {
		t.Errorf("%d timers run", due)
	}
	p.Send(acted{done: "deleted"})
	for _, msg := range p.Withheld[:1] {
		if _, current := page.Current(msg); current {
			t.Error("an earlier timer counts, too")
		}
	}
}
