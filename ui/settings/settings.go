// Package settings is the screen that shows every setting with its value and its source,
// and edits the user's own file. The same code as in `aibox config set` validates values
// while the user types. The screen never shows a secret and never writes another file.
package settings

import (
	"context"

	"aibox/app/settings"
	"aibox/internal/termtext"
	"aibox/ui/page"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Settings are the use cases that the screen calls.
type Settings interface {
	// Read reads all settings. Its error names the invalid file and the line.
	Read(ctx context.Context) (settings.Overview, error)
	// Set writes a setting to the user's own file, as `aibox config set` does.
	Set(ctx context.Context, key, text string) error
	// Unset removes a setting from it.
	Unset(ctx context.Context, key string) error
}

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	settings Settings
	theme    theme.Theme
	keys     keys

	width, height int
	overview      settings.Overview
	loaded        bool
	reads         page.Latest
	readErr       error // why there are no settings
	list          list
	edit          *edit
	busy          bool // a change is being saved
	note          frame.Note
}

// New makes the screen. Its commands end with ctx.
func New(ctx context.Context, settings Settings) *Model {
	return &Model{ctx: ctx, settings: settings, theme: theme.New(true), keys: newKeys(), list: list{filter: keymap.Field("/")}}
}

// Select selects the setting with a key before the screen is shown. An unknown key selects
// the first setting.
func (m *Model) Select(key string) { m.list.at = key }

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.list.filter.SetWidth(max(5, min(30, width-30)))
	m.fit()
}

// read carries the settings.
type read struct {
	book settings.Overview
	err  error
}

// written carries the result of a change.
type written struct {
	key string
	was string // the old value, if the setting was removed
	err error
}

// Init reads the settings.
func (m *Model) Init() tea.Cmd { return m.reread() }

func (m *Model) reread() tea.Cmd {
	ctx, settings := m.ctx, m.settings
	return m.reads.Replace(func() tea.Msg {
		book, err := settings.Read(ctx)
		return read{book, err}
	})
}

// Update routes a message.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case read:
		m.take(msg)
	case written:
		return m.takeWritten(msg)
	case page.Returned: // from the editor
		m.note.Say(msg.Text, msg.Err)
		return m.reread()
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		m.paste(msg)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case tea.MouseClickMsg:
		return m.click(msg)
	}
	return nil
}

// take shows the settings.
func (m *Model) take(msg read) {
	m.loaded, m.readErr = true, msg.err
	m.overview = msg.book
	if msg.err != nil { // the error takes the place of the list
		m.overview, m.edit = settings.Overview{}, nil
	}
	m.list.held = m.overview.Held
	m.list.arrange()
}

// takeWritten reports a change and reads the settings again.
func (m *Model) takeWritten(msg written) tea.Cmd {
	m.busy = false
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	m.edit = nil
	text := "saved " + msg.key + " in your file"
	if msg.was != "" {
		text = "removed " + msg.key + " from your file; it was " + termtext.Escape(msg.was)
	}
	m.note.Say(text, nil)
	m.fit()
	return m.reread()
}

// fit resizes the parts.
func (m *Model) fit() {
	m.list.resize(m.listWidth(), m.listHeight())
	if m.edit != nil {
		m.edit.line.SetWidth(max(5, m.paneWidth()-4))
	}
}
