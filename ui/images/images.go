// Package images is the screen of the images that agents run in: how each stands to
// its recipe, and bakes side by side, with their steps, their output and a way to give
// one up. It builds nothing itself, and bakes continue when the screen is left.
package images

import (
	"context"
	"fmt"
	"time"

	"aibox/bakery"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Builder are the use cases that the screen asks for.
type Builder interface {
	// Check tells how every image stands to its recipe.
	Check(ctx context.Context) ([]bakery.Status, error)
	// Put queues images to bake. force rebuilds even fresh ones without the cache.
	Put(force bool, names ...string)
	// Cancel gives up what Put began.
	Cancel(name string)
	// Jobs are the bakes of this program, as they are now.
	Jobs() []bakery.Job
	// Changed tells that Jobs are not what they were. It is closed when ctx ends.
	Changed(ctx context.Context) <-chan struct{}
}

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	builder  Builder
	theme    theme.Theme
	keys     keys
	now      func() time.Time
	after    func(time.Duration, tea.Msg) tea.Cmd
	debounce time.Duration // how long news are gathered before they are shown

	width, height int
	states        []bakery.Status
	loaded        bool
	broken        error // why the images cannot be listed; nil when they can
	checks        page.Latest
	jobs          []bakery.Job
	rows          []row
	cursor        cursor.Cursor
	at            string // the selected image
	marked        map[string]bool
	ticking       bool // a tick is under way
	log           log
	ask           *dialog.Confirm
	note          frame.Note
}

// breath is how long news are gathered: a build says hundreds of lines in a second.
const debounce = 120 * time.Millisecond

// New makes the screen. Its commands end with ctx.
func New(ctx context.Context, builder Builder) *Model {
	m := &Model{
		ctx: ctx, builder: builder, theme: theme.New(true), keys: newKeys(), now: time.Now, debounce: debounce,
		after:  func(d time.Duration, msg tea.Msg) tea.Cmd { return tea.Tick(d, func(time.Time) tea.Msg { return msg }) },
		marked: map[string]bool{},
	}
	m.log = newLog(&m.note)
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.arrange()
}

// Asking returns the question that is open, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether keys are text or answers now.
func (m *Model) Typing() bool { return m.ask != nil || m.log.search.Typing() }

// Init looks at the images and begins to watch the bakes.
func (m *Model) Init() tea.Cmd {
	ctx, builder := m.ctx, m.builder
	return tea.Batch(m.check(), func() tea.Msg {
		changed := builder.Changed(ctx)
		return jobsChanged{builder.Jobs(), changed}
	})
}

// statesLoaded brings how the images stand.
type statesLoaded struct {
	states []bakery.Status
	err    error
}

// jobsChanged brings the bakes, and where the next news come from.
type jobsChanged struct {
	jobs    []bakery.Job
	changed <-chan struct{}
}

// tick makes times grow while something is baked.
type tick struct{}

func (m *Model) check() tea.Cmd {
	ctx, builder := m.ctx, m.builder
	return m.checks.Replace(func() tea.Msg {
		states, err := builder.Check(ctx)
		return statesLoaded{states, err}
	})
}

// await waits for news, and a moment longer, so that many are shown at once.
func (m *Model) await(changed <-chan struct{}) tea.Cmd {
	ctx, builder, pause := m.ctx, m.builder, m.debounce
	return func() tea.Msg {
		if _, going := <-changed; !going {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		return jobsChanged{builder.Jobs(), changed}
	}
}

// Update routes.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case statesLoaded:
		m.states, m.loaded, m.broken = msg.states, true, msg.err
		m.arrange()
	case jobsChanged:
		return m.take(msg)
	case tick:
		m.ticking = false
		return m.scheduleTick()
	case page.Returned:
		m.note.Say(msg.Text, msg.Err)
		return m.check()
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		m.log.typed(msg)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case tea.MouseClickMsg:
		m.click(msg)
	}
	return nil
}

// take shows the bakes as they are now. One that has come to its end has changed how
// its image stands.
func (m *Model) take(msg jobsChanged) tea.Cmd {
	var again tea.Cmd
	if ended(msg.jobs) != ended(m.jobs) {
		again = m.check()
	}
	m.reportEnded(msg.jobs)
	m.jobs = msg.jobs
	m.arrange()
	return tea.Batch(again, m.await(msg.changed), m.scheduleTick())
}

// reportEnded says what has come to its end since the last news.
func (m *Model) reportEnded(jobs []bakery.Job) {
	for _, job := range jobs {
		before := m.jobOf(job.Name)
		if before == nil || before.State.Over() {
			continue
		}
		switch job.State {
		case bakery.Failed:
			m.note.Say("", fmt.Errorf("%s was not baked; its output says why", job.Name))
		case bakery.Canceled:
			m.note.Say(job.Name+" was canceled", nil)
		case bakery.Done, bakery.Reused:
			m.note.Say(job.Name+" is baked", nil)
		}
	}
}

func ended(jobs []bakery.Job) int {
	n := 0
	for _, j := range jobs {
		if j.State.Over() {
			n++
		}
	}
	return n
}

// scheduleTick has the times of what is baked drawn again in a second.
func (m *Model) scheduleTick() tea.Cmd {
	if m.ticking || m.baking() == 0 {
		return nil
	}
	m.ticking = true
	return m.after(time.Second, tick{})
}

// baking returns how many images wait or are at work.
func (m *Model) baking() int { return len(m.jobs) - ended(m.jobs) }
