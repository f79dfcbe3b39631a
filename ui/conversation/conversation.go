// Package conversation shows the conversation of the user and an agent as a part of a
// screen: messages, plans, tool calls folded with their results, edits as diffs, and
// between them what the session's log reports. It reads from a Source, knows no session,
// and never shows the agent's bytes raw.
//
// Items are kept in memory, up to a limit, and rendered when they are on the screen, so a
// long conversation scrolls like a short one. The viewport of bubbles wraps the whole text at
// once.
package conversation

import (
	"context"
	"time"

	events "aibox/agents/conversation"
	"aibox/ui/page"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/searchbar"
	"aibox/ui/widget/stream"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Source is where the conversation is read from.
type Source interface {
	// Follow visits the events so far and then new ones, until the conversation or ctx
	// ends. visit keeps the events.
	Follow(ctx context.Context, visit func([]events.Event) error) error
}

// Model is a conversation on a part of a screen. Nothing is read before Start.
type Model struct {
	ctx    context.Context //nolint:containedctx // it ends with the screen
	source Source
	note   *frame.Note // of the screen
	theme  theme.Theme
	keys   Keys

	list   timeline
	window window
	stream *stream.Stream[[]events.Event]
	over   bool  // the conversation is complete
	failed error // why reading ended before the conversation; the key for the end reads it again

	line     searchbar.Line
	words    string // the search; empty for none
	hit      string // the number of the hit, "3/17"
	searches page.Latest
}

// New makes the view of a source. Its commands end with ctx. It reports the results of
// searches in note.
func New(ctx context.Context, source Source, note *frame.Note) *Model {
	m := &Model{ctx: ctx, source: source, note: note, keys: newKeys(), line: searchbar.New("search", "cancel")}
	m.window = window{list: &m.list, follow: true}
	m.SetTheme(theme.New(true))
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) {
	m.theme, m.window.theme = t, t
	m.window.forget()
}

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	if width != m.window.width {
		m.window.forget()
	}
	m.window.width, m.window.height = width, max(1, height)
	m.window.settle()
	m.line.SetWidth(width)
}

// SetOver sets whether the conversation is complete.
func (m *Model) SetOver(over bool) { m.over = over }

// SetPrompt sets the user's first message, which most agents do not print.
func (m *Model) SetPrompt(text string, at time.Time) {
	if text != "" && m.list.prompt == "" {
		m.list.setPrompt(text, at)
		m.window.settle()
	}
}

// Failed returns why the conversation is not read any more although it may go on; else nil.
func (m *Model) Failed() error { return m.failed }

// Started reports whether the conversation is being read.
func (m *Model) Started() bool { return m.stream != nil }

// Start starts to read.
func (m *Model) Start() tea.Cmd {
	source := m.source
	m.failed = nil
	m.stream = stream.Start(m.ctx, func(ctx context.Context, put func([]events.Event) error) error {
		return source.Follow(ctx, put)
	})
	return m.await()
}

// again reads the conversation again after a failure, from its start.
func (m *Model) again() tea.Cmd {
	m.list.clear()
	m.window.forget()
	m.window.settle()
	return m.Start()
}

func (m *Model) await() tea.Cmd {
	all := m.stream
	return func() tea.Msg { return all.Take() }
}

// AddNotes adds entries of the session's log, which need not be in order.
func (m *Model) AddNotes(notes ...Note) {
	past := m.list.pastNotes
	m.list.addNotes(notes)
	if m.list.pastNotes != past {
		m.hit = "" // it counts what was dropped
	}
	m.window.settle()
}

// Typing reports whether keys are text for the search.
func (m *Model) Typing() bool { return m.line.Typing() }

// Line returns the search field.
func (m *Model) Line() string { return m.line.View() }

// Update handles the messages of its commands, and pasted text.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case stream.Batch[[]events.Event]:
		return m.take(msg)
	case searched:
		m.takeSearch(msg)
	case tea.PasteMsg:
		return m.typed(msg)
	}
	return nil
}

// take adds events.
func (m *Model) take(batch stream.Batch[[]events.Event]) tea.Cmd {
	if batch.Over() {
		if m.failed = batch.Err; m.failed != nil {
			m.note.Say("", m.failed)
		}
		return nil // the screen reports how the session ended
	}
	past := m.list.pastEvents
	for _, part := range batch.All {
		for _, changed := range m.list.add(part) {
			m.window.forgetItem(changed)
		}
	}
	if m.list.pastEvents != past {
		m.window.forget() // it would keep what was dropped
		m.hit = ""
	}
	m.window.settle()
	return m.await()
}
