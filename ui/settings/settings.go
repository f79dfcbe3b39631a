// Package settings is the screen that shows every setting with its value and where
// that came from, and changes the user's own file. It decides nothing about what a
// value may be: the same code that `aibox config set` goes by says so while the user
// types. It never shows a secret, and never writes any other file.
package settings

import (
	"context"
	"strings"

	"aibox/app/settings"
	"aibox/config"
	"aibox/internal/termtext"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// Settings are the use cases that the screen asks for.
type Settings interface {
	// Read reads everything again. Its error says which file is wrong, and where.
	Read(ctx context.Context) (settings.Overview, error)
	// Set writes one setting into the user's own file, as `aibox config set` does.
	Set(ctx context.Context, key, text string) error
	// Unset takes one out of it.
	Unset(ctx context.Context, key string) error
}

// Model is the screen.
type Model struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	settings Settings
	theme    theme.Theme
	keys     keys

	width, height int
	book          settings.Overview
	loaded        bool
	reads         page.Latest
	broken        error // why there are no settings; nil when there are
	rows          []row
	cursor        cursor.Cursor
	at            string // key of the selected setting; it stays so when rows come and go
	filter        textinput.Model
	filtering     bool
	changed       bool // only what the user has set
	edit          *edit
	busy          bool // a change is being written
	note          frame.Note
}

// row is a line of the list: a setting, or the name of a section.
type row struct {
	heading string
	setting config.Setting
}

// New makes the screen. Its commands end with ctx.
func New(ctx context.Context, settings Settings) *Model {
	filter := keymap.Field("/")
	return &Model{ctx: ctx, settings: settings, theme: theme.New(true), keys: newKeys(), filter: filter}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.filter.SetWidth(max(5, min(30, width-30)))
	m.fit()
}

// read brings the settings.
type read struct {
	book settings.Overview
	err  error
}

// written says what became of a change.
type written struct {
	key string
	was string // what the user's file said, where it was taken out
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

// Update routes.
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

// take shows what was read.
func (m *Model) take(msg read) {
	m.loaded, m.broken = true, msg.err
	if msg.err == nil {
		m.book = msg.book
	}
	m.arrange()
}

// takeWritten says what became of a change, and reads what holds now.
func (m *Model) takeWritten(msg written) tea.Cmd {
	m.busy = false
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	m.edit = nil
	said := msg.key + " is set in your file"
	if msg.was != "" {
		said = msg.key + " is out of your file; it was " + termtext.Escape(msg.was)
	}
	m.note.Say(said, nil)
	m.fit()
	return m.reread()
}

// arrange makes the rows of what is to be shown, and stays at the same setting.
func (m *Model) arrange() {
	words := strings.Fields(strings.ToLower(m.filter.Value()))
	m.rows = nil
	section := "\x00"
	for _, setting := range m.book.Held {
		if m.changed && setting.Source().Kind == config.BuiltIn || !matches(setting, words) {
			continue
		}
		if setting.Section() != section {
			section = setting.Section()
			m.rows = append(m.rows, row{heading: title(section)})
		}
		m.rows = append(m.rows, row{setting: setting})
	}
	at := 0
	for i, r := range m.rows {
		if r.heading == "" && r.setting.Key == m.at {
			at = i
		}
	}
	m.fit()
	m.cursor.Go(at)
	m.skipHeadings(1)
}

// matches reports whether a setting has every word in its name, its value or its help.
func matches(setting config.Setting, words []string) bool {
	text := strings.ToLower(setting.Key + " " + setting.Text() + " " + setting.Field.Label + " " + setting.Field.Help)
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// title returns the name of a section for users.
func title(section string) string {
	if section == "" {
		return "sessions"
	}
	return section
}

// skipHeadings moves off a heading, in the direction given if there is a setting there.
func (m *Model) skipHeadings(direction int) {
	for _, step := range []int{direction, -direction} {
		for i := m.cursor.At(); i >= 0 && i < len(m.rows); i += step {
			if m.rows[i].heading == "" {
				m.cursor.Go(i)
				m.at = m.rows[i].setting.Key
				m.showHeading()
				return
			}
		}
	}
}

// showHeading shows the heading of a section with its first setting: the cursor alone, which
// goes to no heading, would leave it above the screen for good.
func (m *Model) showHeading() {
	if i := m.cursor.At(); i > 0 && i < len(m.rows) && m.rows[i-1].heading != "" {
		m.cursor.Show()
	}
}

// current returns the selected setting.
func (m *Model) current() (config.Setting, bool) {
	if i := m.cursor.At(); i < len(m.rows) && m.rows[i].heading == "" {
		return m.rows[i].setting, true
	}
	return config.Setting{}, false
}

// fit tells the parts how much room they have.
func (m *Model) fit() {
	m.cursor.Fit(len(m.rows), m.listHeight())
	m.showHeading()
	if m.edit != nil {
		m.edit.line.SetWidth(max(5, m.paneWidth()-4))
	}
}
