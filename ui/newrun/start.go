package newrun

import (
	"context"
	"fmt"
	"maps"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/frame"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// launching is a start: under way, failed or done.
type launching struct {
	cancel  context.CancelFunc
	steps   chan session.Step
	stages  []stage
	running bool
	err     error
	noImage bool
	said    []string   // by the step of a bake that failed, raw
	id      session.ID // once it runs
	over    bool       // the person is on the way to what was started
}

// stage is a step of the start.
type stage struct {
	session.Step
	begun time.Time
}

type (
	stepped struct {
		of   *launching
		step session.Step
	}
	started struct {
		of      *launching
		started Started
		err     error
	}
	tick struct{ of *launching }
)

// tickTime is how often the time of a stage grows on the screen.
const tickTime = 100 * time.Millisecond

// start starts what was put together, unless it cannot be.
func (m *Model) start(bake bool) tea.Cmd {
	if m.begin != nil && (m.begin.running || m.begin.id != "") {
		return nil
	}
	if m.checking {
		m.eager = true // it begins when that is over, unless a key comes first
		m.note.Say("it is still being checked", nil)
		return nil
	}
	if m.wrong() != nil {
		return nil // it stands at the foot
	}
	if m.wanted.Edit != nil {
		m.begin = &launching{over: true}
		return page.Ask(page.Run{Request: m.draft.Clone()})
	}
	if m.checked.Stays {
		return m.runToEnd()
	}
	ctx, cancel := context.WithCancel(m.ctx)
	l := &launching{cancel: cancel, steps: make(chan session.Step, 64), running: true}
	m.begin = l
	m.note.Say("", nil)
	runs, d, options := m.services.Runs, m.draft.Clone(), m.options.part.Draft()
	begin := func() tea.Msg {
		defer cancel()
		defer close(l.steps)
		ran, err := runs.Start(ctx, d, options, bake, func(step session.Step) {
			select {
			case l.steps <- step:
			case <-ctx.Done():
			}
		})
		if err == nil {
			_ = runs.Remember(d) // choices that cannot be remembered are made again
		}
		return started{l, ran, err}
	}
	return tea.Batch(begin, l.next(), l.tick())
}

// runToEnd hands a run that delivers at its end to the whole terminal, where it is
// followed until then.
func (m *Model) runToEnd() tea.Cmd {
	m.begin = &launching{over: true}
	runs, d := m.services.Runs, m.draft.Clone()
	remember := func() tea.Msg {
		_ = runs.Remember(d)
		return nil
	}
	return tea.Batch(remember, page.Ask(page.Run{Request: d}))
}

// next waits for the next step.
func (l *launching) next() tea.Cmd {
	return func() tea.Msg {
		step, more := <-l.steps
		if !more {
			return nil
		}
		return stepped{l, step}
	}
}

func (l *launching) tick() tea.Cmd {
	return tea.Tick(tickTime, func(time.Time) tea.Msg { return tick{l} })
}

// advance takes what a start brings.
func (m *Model) advance(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case stepped:
		if msg.of != m.begin {
			return nil
		}
		m.begin.step(msg.step, m.now())
		if msg.step.Name == imageStage && msg.step.Done {
			m.baked()
		}
		return msg.of.next()
	case tick:
		if msg.of == m.begin && m.begin.running {
			return msg.of.tick()
		}
	case started:
		if msg.of == m.begin {
			return m.ran(msg)
		}
	}
	return nil
}

// step takes one step of the start.
func (l *launching) step(step session.Step, now time.Time) {
	for i := range l.stages {
		if l.stages[i].Name == step.Name && !l.stages[i].Done {
			begun := l.stages[i].begun
			l.stages[i] = stage{step, begun}
			return
		}
	}
	l.stages = append(l.stages, stage{step, now})
}

// ran shows what came of a start, and goes on to the session.
func (m *Model) ran(msg started) tea.Cmd {
	l := m.begin
	l.running, l.err, l.noImage, l.said, l.id = false, msg.err, msg.started.NoImage, msg.started.Said, msg.started.ID
	m.note.Say("", nil)
	if l.err != nil {
		return nil
	}
	return m.watch()
}

// watch goes to the session that was started.
func (m *Model) watch() tea.Cmd {
	l := m.begin
	l.over = true
	m.note.Say(string(l.id)+" runs", nil)
	if m.draft.Interactive {
		return page.Ask(page.Command{Args: []string{"attach", string(l.id)}})
	}
	return page.Ask(page.Session{ID: l.id})
}

// pressBegin is a key of the step.
func (m *Model) pressBegin(msg tea.KeyPressMsg) tea.Cmd {
	l := m.begin
	switch {
	case l != nil && l.running:
		if msg.String() == "esc" || msg.String() == "ctrl+c" {
			l.cancel()
			m.note.Say("taking the start back…", nil)
		}
		return nil
	case l != nil && l.id != "":
		switch msg.String() {
		case "enter":
			return m.watch()
		case "esc", "q":
			return page.Leave(string(l.id)+" runs", nil)
		}
		return nil
	case msg.String() == "enter":
		return m.start(false)
	case key.Matches(msg, m.keys.bake) && m.bakes():
		return m.start(true)
	case msg.String() == "c":
		return m.copy()
	case msg.String() == "shift+tab":
		return m.enter(box)
	}
	return nil
}

// imageStage is the stage of a start in which a missing image is baked.
const imageStage = "image"

// baked takes note that the agent's image is there now.
func (m *Model) baked() {
	if m.images == nil {
		return // of none it is known
	}
	m.images = maps.Clone(m.images)
	m.images[m.draft.Agent] = imageFresh
	m.listAgents()
}

// bakes reports whether the image is missing, and can be baked for the start.
func (m *Model) bakes() bool {
	return m.wanted.Edit == nil && m.mustBake() || m.begin != nil && m.begin.noImage
}

// beginView is the step: what will be, or what is becoming of it.
func (m *Model) beginView(width, height int) []string {
	if m.begin == nil || m.begin.over && m.begin.id == "" {
		return m.summary(width, height)
	}
	return m.startView(width)
}

// mostSaid is how many lines of a bake that failed are shown.
const mostSaid = 6

// startView is a start.
func (m *Model) startView(width int) []string {
	l, t := m.begin, m.theme
	var out []string
	for _, s := range l.stages {
		mark, took := t.Live.Render("●"), m.now().Sub(s.begun)
		switch {
		case s.Done:
			mark, took = t.Good.Render("✓"), s.Took
		case !l.running:
			mark, took = t.Faint.Render("·"), 0
		}
		time := ""
		if took > 0 {
			time = t.Faint.Render(fmt.Sprintf("%7s", amount.Took(took)))
		}
		line := mark + " " + frame.Pad(termtext.Escape(s.Name), 10) + " " + frame.Pad(time, 7) + " " + termtext.Escape(s.Detail)
		out = append(out, line)
	}
	switch {
	case l.running && len(l.stages) == 0:
		out = append(out, t.Live.Render("●")+" beginning")
	case l.err != nil:
		out = append(out, "")
		for _, line := range l.said[max(0, len(l.said)-mostSaid):] {
			out = append(out, t.Faint.Render(ansi.Truncate("  "+termtext.Escape(line), width, "…")))
		}
		out = append(out, wrapped(t.Bad.Render, "✗ "+termtext.Escape(l.err.Error()), width)...)
		for _, hint := range fault.Hints(l.err) {
			out = append(out, wrapped(t.Faint.Render, "  → "+termtext.Escape(hint), width)...)
		}
		next := "enter tries again"
		if m.bakes() {
			next = "b bakes the image (some minutes) and starts · " + next
		}
		out = append(out, "", next)
	case l.id != "":
		out = append(out, "", t.Good.Render("✓")+" "+string(l.id)+" runs; enter goes to it, esc leaves it running")
	}
	return out
}
