package images

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/ui/dialog"
	"aibox/ui/page"
	"aibox/ui/uitest"

	tea "charm.land/bubbletea/v2"
)

var noon = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// kitchen is one whose images and bakes are given.
type kitchen struct {
	states []bakery.Status
	err    error
	jobs   []bakery.Job
	put    []string
	gone   []string
	checks int
}

func (k *kitchen) Check(context.Context) ([]bakery.Status, error) {
	k.checks++
	return slices.Clone(k.states), k.err
}

func (k *kitchen) Put(anew bool, names ...string) {
	k.put = append(k.put, fmt.Sprint(anew, " ", strings.Join(names, " ")))
}

func (k *kitchen) Cancel(name string) { k.gone = append(k.gone, name) }
func (k *kitchen) Jobs() []bakery.Job { return slices.Clone(k.jobs) }

// Changed never tells anything: tests send the news themselves.
func (k *kitchen) Changed(context.Context) <-chan struct{} {
	changed := make(chan struct{})
	close(changed)
	return changed
}

func status(name string, state bakery.State, version string, size int64) bakery.Status {
	s := bakery.Status{Name: name, State: state, Version: version, Ref: "aibox/" + name + ":0123456789ab"}
	if state != bakery.Missing {
		s.Image = bakery.Image{ID: "sha256:" + strings.Repeat("ab", 32), Size: size, Created: noon.Add(-6 * time.Hour)}
	}
	return s
}

func sample() *kitchen {
	return &kitchen{states: []bakery.Status{
		status("base", bakery.Fresh, "", 637e6),
		status("claude", bakery.Outdated, "2.1.0", 1.01e9),
		status("codex", bakery.Fresh, "0.169.0", 702e6),
		status("gemini", bakery.Missing, "0.40.1", 0),
		status("qwen", bakery.Missing, "0.30.0", 0),
	}}
}

// baking are bakes in every state.
func baking() []bakery.Job {
	begun := noon.Add(-75 * time.Second)
	steps := []bakery.JobStep{
		{Text: "[1/4] FROM aibox/base", Kind: bakery.StepCached, Began: begun},
		{Text: "[2/4] RUN install the agent", Kind: bakery.StepDone, Began: begun, Took: 62 * time.Second},
		{Text: "[3/4] RUN warm its caches", Kind: bakery.StepStarted, Began: noon.Add(-9 * time.Second)},
	}
	log := []string{"building aibox/claude:0123456789ab", "cached [1/4] FROM aibox/base", "▸ [2/4] RUN install the agent"}
	for i := range 40 {
		log = append(log, fmt.Sprintf("  added package %d", i))
	}
	log = append(log, " 62.0s [2/4] RUN install the agent", "▸ [3/4] RUN warm its caches", "  warming")
	failed := fault.New(fault.Environment, "the image of qwen was not built: step [2/4] RUN install: exit code: 1").Hint("a second try: aibox bake qwen")
	return []bakery.Job{
		{Name: "claude", State: bakery.Baking, Ref: "aibox/claude:0123456789ab", Began: begun, Steps: steps, Log: log},
		{Name: "gemini", State: bakery.Waiting},
		{Name: "qwen", State: bakery.Failed, Began: begun, Ended: noon.Add(-time.Minute), Err: failed, Steps: []bakery.JobStep{
			{Text: "[2/4] RUN install", Kind: bakery.StepFailed, Began: begun, Took: 3 * time.Second, Err: "exit code: 1"},
		}, Log: []string{"▸ [2/4] RUN install", "  npm error 503", "FAILED [2/4] RUN install: exit code: 1", "not built"}},
		{Name: "codex", State: bakery.Reused, Began: noon, Ended: noon},
	}
}

func sit(t testing.TB, k *kitchen, width, height int) (*uitest.Person, *Model) {
	m := New(t.Context(), k)
	m.now, m.breath = func() time.Time { return noon }, 0
	m.after = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	p := uitest.New(t, m, width, height)
	p.Run(m.Init())
	return p, m
}

func goTo(p *uitest.Person, m *Model, name string) {
	p.T.Helper()
	p.Press("home")
	for range m.rows {
		if m.current().Name == name {
			return
		}
		p.Press("down")
	}
	p.T.Fatalf("there is no %q:\n%s", name, p.View())
}

func TestTheViewsAreAsTheyWere(t *testing.T) {
	for _, size := range uitest.Sizes {
		k := sample()
		p, m := sit(t, k, size[0], size[1])
		p.Show("nothing goes on")
		k.jobs = baking()
		p.Run(m.Init())
		goTo(p, m, "claude")
		p.Show("at one that is baked")
		goTo(p, m, "qwen")
		p.Show("at one that failed")
		goTo(p, m, "claude")
		p.Press("enter")
		p.Show("its output")
		p.Press("esc", "x")
		p.Show("give it up?")
		p.Golden("")
	}
}

func TestAPersonBakesTheImageTheyAreAtOrTheMarkedOnes(t *testing.T) {
	k := sample()
	p, m := sit(t, k, 80, 24)
	goTo(p, m, "gemini")
	p.Press("b")
	p.Sees("baking gemini")
	goTo(p, m, "claude")
	p.Press("space", "space", "space") // claude, codex, gemini
	p.Sees("3 marked")
	p.Press("b")
	p.Sees("baking 2 images")
	p.DoesNotSee("marked")
	p.Press("A")
	goTo(p, m, "codex")
	p.Press("b")
	p.Sees("nothing to bake: codex, fresh; B bakes anew")
	p.Press("B")
	want := []string{"false gemini", "false claude gemini", "false claude gemini qwen", "true codex"}
	if !slices.Equal(k.put, want) {
		t.Errorf("put %q", k.put)
	}
	p.Press("*", "B")
	if last := k.put[len(k.put)-1]; last != "true base claude codex gemini qwen" {
		t.Errorf("put %q", last)
	}
}

func TestWhatIsBakedAlreadyIsNotPutAgain(t *testing.T) {
	k := sample()
	k.jobs = baking()
	p, m := sit(t, k, 80, 24)
	goTo(p, m, "claude")
	p.Press("b", "B")
	p.Sees("it is being baked already")
	p.Press("A")
	if !slices.Equal(k.put, []string{"false qwen"}) {
		t.Errorf("put %q", k.put)
	}
}

func TestABakeIsGivenUpOnlyAfterAQuestionThatWasRead(t *testing.T) {
	k := sample()
	k.jobs = baking()
	p, m := sit(t, k, 80, 24)
	goTo(p, m, "claude")
	p.Press("x", "y")
	if len(k.gone) != 0 {
		t.Error("an answer counted before the question could be read")
	}
	later := noon.Add(dialog.Grace)
	m.now = func() time.Time { return later }
	p.Press("enter")
	if len(k.gone) != 0 {
		t.Error("enter gave it up")
	}
	p.Press("x")
	later = later.Add(dialog.Grace)
	p.Press("y")
	if !slices.Equal(k.gone, []string{"claude"}) {
		t.Errorf("given up %q", k.gone)
	}
	goTo(p, m, "codex")
	p.Press("x")
	if m.ask != nil {
		t.Error("what is over can be given up")
	}
}

func TestTheEndOfABakeChangesHowItsImageStands(t *testing.T) {
	k := sample()
	k.jobs = baking()[:1]
	p, m := sit(t, k, 120, 40)
	goTo(p, m, "claude")
	p.Sees("step 3/4 · 1m15s")
	p.Sees("RUN warm its caches")
	before := k.checks
	k.jobs[0].State, k.jobs[0].Ended = bakery.Done, noon
	k.states[1] = status("claude", bakery.Fresh, "2.1.0", 1e9)
	p.Send(news{k.Jobs(), k.Changed(t.Context())})
	if k.checks != before+1 {
		t.Errorf("%d checks", k.checks-before)
	}
	p.Sees("✓ fresh     claude")
	p.Sees("done after 1m15s")
	p.Sees("claude is baked")
}

func TestTimesGrowOnlyWhileSomethingIsBaked(t *testing.T) {
	k := sample()
	_, m := sit(t, k, 80, 24)
	ticks := 0
	m.after = func(time.Duration, tea.Msg) tea.Cmd { ticks++; return nil }
	m.Update(tick{})
	if ticks != 0 {
		t.Error("an idle screen ticks")
	}
	m.Update(news{baking(), nil})
	m.Update(news{baking(), nil})
	if ticks != 1 {
		t.Errorf("%d ticks at once", ticks)
	}
	m.Update(tick{})
	if ticks != 2 {
		t.Error("the clock stands still")
	}
}

func TestTheOutputFollowsItsEndUntilAPersonScrolls(t *testing.T) {
	k := sample()
	k.jobs = baking()
	p, m := sit(t, k, 80, 24)
	goTo(p, m, "claude")
	p.Press("enter")
	p.Sees("  warming")
	more := k.Jobs()
	more[0].Log = append(slices.Clone(more[0].Log), "  still warming")
	p.Send(news{more, k.Changed(t.Context())})
	p.Sees("still warming")
	p.Press("home")
	more[0].Log = append(slices.Clone(more[0].Log), "  warm")
	p.Send(news{more, k.Changed(t.Context())})
	p.Sees("building aibox/claude")
	p.Press("f")
	p.Sees("  warm")
	more[0].Log = append(slices.Clone(more[0].Log), strings.Repeat("long ", 20)+"line")
	p.Send(news{more, k.Changed(t.Context())})
	p.DoesNotSee("long line")
	p.Press("right", "right")
	p.Sees("long line")
	p.Press("left", "left", "left")
	p.Sees("long long…")
	p.Press("esc")
	p.Sees("IMAGE")
}

func TestTheOutputIsSearchedInBothDirections(t *testing.T) {
	k := sample()
	k.jobs = baking()
	p, m := sit(t, k, 80, 24)
	goTo(p, m, "claude")
	p.Press("enter", "/")
	if !m.Typing() {
		t.Fatal("what is typed is keys")
	}
	p.Type("PACKAGE 1")
	p.Press("enter")
	if line := m.lines()[m.log.cursor.At()]; line != "  added package 19" {
		t.Errorf("the last hit is %q", line)
	}
	p.Press("N")
	if line := m.lines()[m.log.cursor.At()]; line != "  added package 18" {
		t.Errorf("the one before is %q", line)
	}
	p.Press("n", "n")
	if line := m.lines()[m.log.cursor.At()]; line != "  added package 1" {
		t.Errorf("around the end is %q", line)
	}
	p.Press("/")
	p.Send(tea.PasteMsg{Content: "nowhere"})
	p.Press("enter")
	p.Sees(`nothing says "nowhere"`)
	p.Press("/", "esc")
	if m.Typing() || m.log.query.Value() != "" {
		t.Error("the search is not left")
	}
}

func TestAFailureKeepsWhatWasSaidLast(t *testing.T) {
	k := sample()
	k.jobs = baking()
	p, m := sit(t, k, 120, 40)
	goTo(p, m, "qwen")
	for _, want := range []string{"exit code: 1", "→ a second try: aibox bake qwen", "npm error 503"} {
		p.Sees(want)
	}
}

func TestWhyImagesCannotBeListedIsSaid(t *testing.T) {
	k := &kitchen{err: fault.New(fault.Environment, "there is no Docker").Hint("aibox doctor --fix")}
	p, _ := sit(t, k, 80, 24)
	p.Sees("there is no Docker")
	p.Sees("→ aibox doctor --fix")
	k.err = nil
	k.states = sample().states
	p.Press("r")
	p.Sees("codex")
	p.DoesNotSee("no Docker")
	p.Send(page.Returned{Err: errors.New("it broke")})
	p.Sees("it broke")
}

func TestAStaleAnswerIsDropped(t *testing.T) {
	k := sample()
	p, m := sit(t, k, 80, 24)
	stale := m.check()
	k.states = k.states[:1]
	late := stale()
	p.Run(m.check())
	k.states = sample().states
	p.Send(late)
	p.Send(checked{number: 1, states: k.states})
	p.DoesNotSee("codex")
}

func TestTheMouseGoesToAnImageAndMarksIt(t *testing.T) {
	k := sample()
	p, m := sit(t, k, 80, 24)
	p.ClickOn("gemini")
	if m.at != "gemini" || len(m.marked) != 0 {
		t.Errorf("at %q, marked %v", m.at, m.marked)
	}
	p.Click(0, 4) // base stands on row 3
	if !m.marked["claude"] {
		t.Errorf("marked %v", m.marked)
	}
	p.Press("c")
	p.Sees("copied: aibox bake claude")
	p.Press("q")
	if !slices.Equal(p.Asked, []page.Request{page.Close{}}) {
		t.Errorf("asked %+v", p.Asked)
	}
}

var mash = []string{"enter", "b", "B", "A", "space", "*", "x", "l", "r", "c", "esc", "q", "up", "down", "pgdown", "home", "end", "/", "n", "N", "f", "y", "a", "tab", "left", "right"}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(2))
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		k := sample()
		k.jobs = baking()
		p, _ := sit(t, k, 80, 24)
		p.Mash(random, 200, mash) // time stands still, so that no question is ever answered
		if len(k.gone) != 0 {
			t.Errorf("given up without an answer: %q", k.gone)
		}
	})
}
