// Package images is the screen of the agents' images: whether each matches its recipe, and
// the running bakes with their steps and their output. It builds nothing itself, and bakes
// continue when the screen is closed.
package images

import (
	"context"
	"fmt"
	"time"

	"aibox/bakery"
	"aibox/ui/page"
	"aibox/ui/widget/bakes"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Builder are the use cases that the screen calls.
type Builder interface {
	// Check compares every image with its recipe.
	Check(ctx context.Context) ([]bakery.Status, error)
	// Put queues images to bake. force rebuilds even fresh ones without the cache.
	Put(force bool, names ...string)
	// Cancel cancels the bake of an image.
	Cancel(name string)
	bakes.Builder
}

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	builder  Builder
	theme    theme.Theme
	keys     keys
	now      func() time.Time
	after    func(time.Duration, tea.Msg) tea.Cmd
	debounce time.Duration // how long to collect changes before they are shown

	width, height int
	list          list
	loaded        bool
	listErr       error // why the images cannot be listed
	checks        page.Latest
	ticking       bool // a tick is scheduled
	log           log
	ask           *dialog.Confirm
	canceling     string // the image that ask is about
	note          frame.Note
}

// New makes the screen. Its commands end with ctx.
func New(ctx context.Context, builder Builder) *Model {
	m := &Model{
		ctx: ctx, builder: builder, theme: theme.New(true), keys: newKeys(), now: time.Now, debounce: bakes.Debounce,
		after: page.After,
		list:  list{marked: map[string]bool{}},
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

// Asking returns the open question, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether keys are text or answers now.
func (m *Model) Typing() bool { return m.ask != nil || m.log.search.Typing() }

// Init checks the images and starts to watch the bakes.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(m.check(), bakes.Watch(m.ctx, m.builder))
}

// statesLoaded carries the states of the images.
type statesLoaded struct {
	states []bakery.Status
	err    error
}

// tick updates the elapsed times while images are baked.
type tick struct{}

func (m *Model) check() tea.Cmd {
	ctx, builder := m.ctx, m.builder
	return m.checks.Replace(func() tea.Msg {
		states, err := builder.Check(ctx)
		return statesLoaded{states, err}
	})
}

// Update routes a message.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case statesLoaded:
		m.list.states, m.loaded, m.listErr = msg.states, true, msg.err
		m.arrange()
	case bakes.Changed:
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

// arrange rebuilds the list and updates the log.
func (m *Model) arrange() {
	m.list.arrange(m.listHeight())
	m.fitLog()
}

// fitLog passes the output of the selected image to the log. It closes the log if the
// image has no bake any more.
func (m *Model) fitLog() {
	if !m.log.open {
		return
	}
	r := m.list.current()
	if r == nil || r.job == nil {
		m.log.open = false
		return
	}
	m.log.fit(r.job.Log, m.bodyHeight())
}

// take stores the state of the bakes. If a bake has ended, it checks the images again.
func (m *Model) take(msg bakes.Changed) tea.Cmd {
	var again tea.Cmd
	if ended(msg.Jobs) != ended(m.list.jobs) {
		again = m.check()
	}
	m.reportEnded(msg.Jobs)
	m.list.jobs = msg.Jobs
	m.closeQuestion()
	m.arrange()
	return tea.Batch(again, msg.Next(m.ctx, m.builder, m.debounce), m.scheduleTick())
}

// closeQuestion closes the question whether to cancel a bake that has ended.
func (m *Model) closeQuestion() {
	if job := m.list.jobOf(m.canceling); m.ask != nil && (job == nil || job.State.Over()) {
		m.ask = nil
	}
}

// reportEnded reports the bakes that have ended since the last change.
func (m *Model) reportEnded(jobs []bakery.Job) {
	for _, job := range jobs {
		before := m.list.jobOf(job.Name)
		if before == nil || before.State.Over() {
			continue
		}
		switch job.State {
		case bakery.Failed:
			m.note.Say("", fmt.Errorf("%s failed to bake; see its output", job.Name))
		case bakery.Canceled:
			m.note.Say(job.Name+" was canceled", nil)
		case bakery.Done, bakery.Reused:
			m.note.Say(job.Name+" is baked", nil)
		}
	}
}

// scheduleTick schedules a redraw of the elapsed times in a second.
func (m *Model) scheduleTick() tea.Cmd {
	if m.ticking || m.list.baking() == 0 {
		return nil
	}
	m.ticking = true
	return m.after(time.Second, tick{})
}
