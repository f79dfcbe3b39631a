// Package sessionview is the screen of one session: the conversation with its agent, the
// agent's live output, or the screen of an interactive agent's terminal, next to its network
// accesses and events. It never prints the agent's bytes raw.
package sessionview

import (
	"context"
	"slices"
	"time"

	"aibox/audit"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"
	"aibox/ui/conversation"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/logview"
	"aibox/ui/widget/stream"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases of the screen; *manager.Manager has them.
type Sessions interface {
	logview.Sessions
	Find(text string) (session.Session, error)
	Watch(ctx context.Context, id session.ID, from int, visit func(audit.Event) error) error
	Screen(ctx context.Context, id session.ID) ([]byte, error)
	WatchOutput(ctx context.Context, id session.ID) (<-chan struct{}, error)
	Stop(ctx context.Context, id session.ID, reason string) (session.Session, error)
	Signal(ctx context.Context, id session.ID, number int) error
	Extend(ctx context.Context, id session.ID, by time.Duration) error
	Measure(ctx context.Context, ids ...session.ID) map[session.ID]session.Usage
	Repair(ctx context.Context) ([]manager.Repaired, error)
}

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	sessions Sessions
	id       session.ID
	theme    theme.Theme
	keys     keys
	now      func() time.Time

	width, height int
	session       session.Session
	finds         page.Latest
	loaded        bool // session was read
	repaired      bool // Repair was called, as the supervisor had died

	log          *logview.Model
	conversation *conversation.Model // of an agent that prints events
	raw          bool                // the log is shown in place of the conversation
	terminal     terminal

	stream *stream.Stream[audit.Event]
	live   session.Live
	usage  usageMeter
	events eventPane
	side   bool // the event pane is shown
	ask    *dialog.Confirm
	form   *form
	left   map[bool]*form // forms that the user has left with a text, by form.copies
	note   frame.Note
	about  noteAbout
}

// noteAbout is what the note is about, which decides when it goes away.
type noteAbout int

const (
	aboutAction noteAbout = iota // the next key clears it
	aboutRecord                  // an error; reading the record clears it
	aboutEvents                  // an error that stays, as no more events follow
)

// New makes the screen of a session. Its commands end with ctx.
func New(ctx context.Context, sessions Sessions, id session.ID) *Model {
	m := &Model{ctx: ctx, sessions: sessions, id: id, keys: newKeys(), now: time.Now, side: true, left: map[bool]*form{}}
	m.log = logview.New(ctx, logview.Of(sessions, id), &m.note)
	m.conversation = conversation.New(ctx, eventSource{sessions, id}, &m.note)
	m.terminal = terminal{ctx: ctx, sessions: sessions, id: id}
	m.usage = usageMeter{ctx: ctx, sessions: sessions, id: id, after: page.After}
	m.SetTheme(theme.New(true))
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) {
	m.theme, m.events.theme = t, t
	m.log.SetTheme(t)
	m.conversation.SetTheme(t)
}

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.fit()
}

// Asking returns the open question, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether keys are text for the search or a form, or answers.
func (m *Model) Typing() bool { return m.output().Typing() || m.ask != nil || m.form != nil }

// Init reads the session and starts to watch it.
func (m *Model) Init() tea.Cmd {
	id, sessions := m.id, m.sessions
	m.stream = stream.Start(m.ctx, func(ctx context.Context, put func(audit.Event) error) error {
		return sessions.Watch(ctx, id, 0, put)
	})
	return tea.Batch(m.find(), m.awaitEvents())
}

// The messages of the screen's commands.
type (
	found struct {
		session session.Session
		err     error
	}
	actionDone struct {
		text string
		err  error
	}
)

// find reads the session.
func (m *Model) find() tea.Cmd {
	id, sessions := m.id, m.sessions
	return m.finds.Replace(func() tea.Msg {
		found := found{}
		found.session, found.err = sessions.Find(string(id))
		return found
	})
}

func (m *Model) awaitEvents() tea.Cmd {
	events := m.stream
	return func() tea.Msg { return events.Take() }
}

// Update routes a message.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case found:
		return tea.Batch(m.takeSession(msg), m.startMeasuring(), m.endDead())
	case usageMeasured:
		return m.usage.take(msg)
	case usageDue:
		return m.usage.measure()
	case stream.Batch[audit.Event]:
		return m.takeEvents(msg)
	case outputWatched:
		m.terminal.output = msg.output
		if msg.err != nil {
			m.say(aboutRecord, "", msg.err)
		}
		return m.terminal.load()
	case screenLoaded:
		return m.takeScreen(msg)
	case actionDone:
		m.say(aboutAction, msg.text, msg.err)
		return m.find()
	case page.Returned:
		m.say(aboutAction, msg.Text, msg.Err)
		return m.find()
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	case tea.MouseClickMsg:
		m.click(msg)
	case tea.PasteMsg:
		if m.form != nil {
			m.form.paste(msg)
			return nil
		}
		return m.output().Update(msg)
	default: // answers to the commands of the log and the conversation
		return tea.Batch(m.log.Update(msg), m.conversation.Update(msg))
	}
	return nil
}

// say shows a note.
func (m *Model) say(about noteAbout, text string, err error) {
	m.note.Say(text, err)
	m.about = about
}

// takeSession stores the session. The first time it also starts to read the output or the
// terminal's screen.
func (m *Model) takeSession(msg found) tea.Cmd {
	if msg.err != nil {
		m.say(aboutRecord, "", msg.err)
		return nil
	}
	if m.about == aboutRecord {
		m.say(aboutAction, "", nil)
	}
	first := !m.loaded
	m.session, m.loaded = msg.session, true
	m.log.SetOver(m.finished())
	m.conversation.SetOver(m.finished())
	if m.session.State.Output.Format.Known() && !m.conversation.Started() {
		m.side = false // the conversation shows the events, too
		m.conversation.SetPrompt(m.session.Task(), m.session.Created)
		m.fit()
		return m.conversation.Start()
	}
	m.fit()
	switch {
	case !first:
		return m.terminal.watchAgain(&m.session)
	case m.session.Interactive:
		return m.terminal.watch()
	default:
		return m.log.Start()
	}
}

// endDead ends the session, as `aibox ls` does, if its supervisor has died. It tries that once.
func (m *Model) endDead() tea.Cmd {
	if !m.loaded || m.repaired || m.session.Alive || m.session.State.Phase == session.Ended {
		return nil
	}
	m.repaired = true
	ctx, sessions, id := m.ctx, m.sessions, m.id
	return func() tea.Msg {
		repaired, err := sessions.Repair(ctx)
		text := ""
		if slices.ContainsFunc(repaired, func(one manager.Repaired) bool { return one.ID == id }) { // else it has ended by itself
			text = summary.Died(id)
		}
		return actionDone{text, err}
	}
}

// startMeasuring starts to measure the sandbox of a running session.
func (m *Model) startMeasuring() tea.Cmd {
	if !m.loaded || m.session.State.Phase != session.Running {
		m.usage.last = session.Usage{}
		return nil
	}
	return m.usage.start()
}

// converses reports whether the conversation is shown instead of the log.
func (m *Model) converses() bool { return m.conversation.Started() && !m.raw }

// takeEvents stores events of the session.
func (m *Model) takeEvents(msg stream.Batch[audit.Event]) tea.Cmd {
	var find tea.Cmd
	var notes []conversation.Note
	for _, e := range msg.All {
		if live, ok := session.LiveOf(e); ok {
			m.live = live
		} else if stateChanges[e.Type.Today()] {
			find = m.find()
		}
		m.events.add(m.id, e)
		if note, ok := noteOf(m.id, e); ok {
			notes = append(notes, note)
		}
	}
	if len(notes) > 0 {
		m.conversation.AddNotes(notes...)
	}
	if !msg.Over() {
		return tea.Batch(find, m.awaitEvents())
	}
	if msg.Err != nil {
		m.say(aboutEvents, "", msg.Err)
	}
	return m.find()
}
