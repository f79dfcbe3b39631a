// Package logview shows an agent's output: it follows, scrolls and searches the log, and
// keeps only a part of it in memory. It knows no session, only a Source, and never shows
// the agent's bytes raw.
//
// The viewport of bubbles does not do this: it holds the whole text as one string and
// wraps it at once, but a log may have gigabytes and grows while it is read.
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

// Source is where the log is read from.
type Source interface {
	// Size returns the number of recorded bytes.
	Size() (int64, error)
	// Output visits the recorded output from an offset on. visit must not keep the data.
	Output(from int64, visit func(output.Chunk) error) error
	// Follow is Output that also waits for more, until the output or ctx ends.
	Follow(ctx context.Context, from int64, visit func(output.Chunk) error) error
}

// Model is a log on a part of a screen. Nothing is read before Start.
type Model struct {
	ctx    context.Context //nolint:containedctx // it ends with the screen
	source Source
	note   *frame.Note // of the screen
	theme  theme.Theme
	keys   Keys

	window  window
	started bool
	over    bool // the output is complete
	loading bool // a part of the log is being read
	reads   page.Latest
	failed  error // why the output is not followed to its end; the key for the end reads again
	chunks  *stream.Stream[output.Chunk]

	line   searchbar.Line
	words  string // the search; empty for none
	hit    int64  // the offset of the current hit; -1 for none
	hits   hits
	counts page.Latest
}

// New makes the view of a source. Its commands end with ctx. It reports the results of
// searches in note.
func New(ctx context.Context, source Source, note *frame.Note) *Model {
	return &Model{
		ctx: ctx, source: source, note: note, theme: theme.New(true), keys: NewKeys(),
		window: window{follow: true}, line: searchbar.New("search", "cancel"), hit: -1,
	}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells. The caller must run More afterwards.
func (m *Model) SetSize(width, height int) {
	if m.window.width != width {
		m.window.row = 0
	}
	m.window.width, m.window.height = width, max(1, height)
	m.window.fill(m.window.all())
	m.line.SetWidth(width)
}

// SetOver sets whether the output is complete.
func (m *Model) SetOver(over bool) { m.over = over }

// Failed returns why the log is not followed any more although there may be more output; else nil.
func (m *Model) Failed() error { return m.failed }

// Started reports whether the log is being read.
func (m *Model) Started() bool { return m.started }

// Start starts to read, at the end of the log.
func (m *Model) Start() tea.Cmd {
	m.started = true
	return m.end()
}

// Typing reports whether keys are text for the search.
func (m *Model) Typing() bool { return m.line.Typing() }

// Line returns the search field.
func (m *Model) Line() string { return m.line.View() }

// Update handles the messages of its commands, and pasted text.
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
