package images

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/ui/uitest"

	tea "charm.land/bubbletea/v2"
)

var noon = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// builder is a builder with given images and bakes.
type builder struct {
	states []bakery.Status
	err    error
	jobs   []bakery.Job
	bake   []string
	gone   []string
	checks int
}

func (k *builder) Check(context.Context) ([]bakery.Status, error) {
	k.checks++
	return slices.Clone(k.states), k.err
}

func (k *builder) Put(force bool, names ...string) {
	k.bake = append(k.bake, fmt.Sprint(force, " ", strings.Join(names, " ")))
}

func (k *builder) Cancel(name string) { k.gone = append(k.gone, name) }
func (k *builder) Jobs() []bakery.Job { return slices.Clone(k.jobs) }

// Changed never reports anything: tests send the updates themselves.
func (k *builder) Changed(context.Context) <-chan struct{} {
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

func sample() *builder {
	return &builder{states: []bakery.Status{
		status("base", bakery.Fresh, "", 637e6),
		status("claude", bakery.Outdated, "2.1.0", 1.01e9),
		status("codex", bakery.Fresh, "0.169.0", 702e6),
		status("gemini", bakery.Missing, "0.40.1", 0),
		status("qwen", bakery.Missing, "0.30.0", 0),
	}}
}

// busy is the sample with bakes in every state.
func busy() *builder {
	k := sample()
	k.jobs = baking()
	return k
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

// user is a user of the screen; the time is always noon.
type user struct {
	*uitest.User
	m *Model
	k *builder
}

func newUser(t testing.TB, k *builder, width, height int) *user {
	m := New(t.Context(), k)
	m.now, m.debounce = func() time.Time { return noon }, 0
	m.after = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	p := &user{uitest.New(t, m, width, height), m, k}
	p.Run(m.Init())
	return p
}

// open shows the images while nothing is baked, and watch shows them while bakes of every kind run,
// at the usual size.
func open(t testing.TB) *user { return newUser(t, sample(), 80, 24) }

func watch(t testing.TB) *user { return newUser(t, busy(), 80, 24) }

// goTo goes to the row of an image.
func (p *user) goTo(name string) {
	p.T.Helper()
	p.Press("home")
	for range p.m.list.rows {
		if p.m.list.current().Name == name {
			return
		}
		p.Press("down")
	}
	p.T.Fatalf("there is no %q:\n%s", name, p.View())
}
