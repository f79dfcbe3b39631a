// Package logview shows what an agent said: lines that are followed as they come,
// scrolled and searched, of which only a part is in memory. It knows no session, only
// a Source, and never shows the agent's bytes as they are.
package logview

import (
	"context"

	"aibox/session/output"
	"aibox/ui/page"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/searchbar"
	"aibox/ui/widget/stream"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Source is where a record comes from.
type Source interface {
	// Size is the bytes that are recorded.
	Size() (int64, error)
	// Output visits what is recorded from an offset on. The data is only lent.
	Output(from int64, visit func(output.Chunk) error) error
	// Follow is Output that waits for more, until nothing comes any more or ctx ends.
	Follow(ctx context.Context, from int64, visit func(output.Chunk) error) error
}

// Model is a record on a part of a screen. Nothing is read before Start.
type Model struct {
	ctx    context.Context //nolint:containedctx // it ends with the screen
	source Source
	note   *frame.Note // of the screen
	theme  theme.Theme
	keys   Keys

	window  window
	started bool
	over    bool // nothing comes any more
	loading bool // a part of the record is on its way
	reads   page.Latest
	chunks  *stream.Stream[output.Chunk]

	line   searchbar.Line
	words  string // that are looked for; empty is none
	hit    int64  // where they stand, -1 for nowhere yet
	hits   hits
	counts page.Latest
}

// New makes the record of a source. What it waits for ends with ctx; what there is to
// say of a search is said in note.
func New(ctx context.Context, source Source, note *frame.Note) *Model {
	return &Model{
		ctx: ctx, source: source, note: note, theme: theme.New(true), keys: newKeys(),
		window: window{follow: true}, line: searchbar.New("search", "leave"), hit: -1,
	}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells. More may be wanted afterwards.
func (m *Model) SetSize(width, height int) {
	if m.window.width != width {
		m.window.row = 0
	}
	m.window.width, m.window.height = width, max(1, height)
	m.window.fill(m.window.all())
	m.line.SetWidth(width)
}

// SetOver tells whether the agent says anything more.
func (m *Model) SetOver(over bool) { m.over = over }

// Start begins to read, at the end.
func (m *Model) Start() tea.Cmd {
	m.started = true
	return m.end()
}

// Typing reports whether keys are words to look for.
func (m *Model) Typing() bool { return m.line.Typing() }

// Line is the words that are typed.
func (m *Model) Line() string { return m.line.View() }

// Update takes what commands of the record bring, and what is pasted.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case loaded:
		return m.load(msg)
	case stream.Batch[output.Chunk]:
		return m.takeOutput(msg)
	case searched:
		return m.takeSearch(msg)
	case counted:
		m.takeCount(msg)
	case tea.PasteMsg:
		return m.typed(msg)
	}
	return nil
}
