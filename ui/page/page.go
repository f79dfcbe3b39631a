// Package page says what a screen is and what it may ask its owner for: all ways
// from one screen to another stand here. Screens know this package and not each
// other. It shows nothing and does nothing.
package page

import (
	"aibox/session"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Page is a full screen. Keys, mouse and pastes reach the page on top. What a page's
// commands return reaches that page alone, as long as it is open.
type Page interface {
	Init() tea.Cmd
	Update(msg tea.Msg) tea.Cmd
	// View is exactly the cells of the last SetSize.
	View() string
	// SetSize tells the cells there are, without the line of keys at the foot, which
	// the owner draws from Short.
	SetSize(width, height int)
	SetTheme(t theme.Theme)
	// Keys is every key that counts now, for the help and the command palette.
	Keys() []keymap.Group
	// Short is the keys for the foot of the screen, the most important first.
	Short() []key.Binding
	// Typing reports whether keys are text or answers now, so that none of the owner's
	// own counts.
	Typing() bool
}

// Request is what a page asks its owner for, as a message.
type Request interface{ request() }

// The screens that a page can ask for. They come on top of it.
type (
	// Review is about what a session's agent changed.
	Review struct{ ID session.ID }
	// Attend is about one session, as it goes on or as it was.
	Attend struct{ ID session.ID }
	// LookBack is about what the terminal of an interactive session's agent has shown.
	LookBack struct{ ID session.ID }
	// NewRun starts a session.
	NewRun struct {
		Repository string     // empty is the one a person is in, or was in last
		Again      session.ID // fill it in as this session was; empty: as it was last done
	}
	// Images is about the images of agents.
	Images struct{}
	// Network is about what boxes reached and were refused; of one session where ID is
	// not empty.
	Network struct{ ID session.ID }
	// Doctor is about this machine.
	Doctor struct{}
	// Settings is about the user's settings.
	Settings struct{}
)

// Command asks for one of aibox's own commands, on the whole terminal.
type Command struct {
	Args []string // without the program's name
	// Wait keeps what it printed on the screen until the person has read it. One that
	// failed is always waited for.
	Wait bool
}

// Close asks to leave the page. The one below gets a Returned.
type Close struct {
	Said string // what became of it, escaped; empty for nothing to say
	Err  error
}

func (Review) request()   {}
func (Attend) request()   {}
func (LookBack) request() {}
func (NewRun) request()   {}
func (Images) request()   {}
func (Network) request()  {}
func (Doctor) request()   {}
func (Settings) request() {}
func (Command) request()  {}
func (Close) request()    {}

// Covered tells a page that another one lies over it now, until a Returned.
type Covered struct{}

// Returned tells a page that it is on top again: the page above it was left, or the
// command it asked for has ended.
type Returned struct {
	Said string // escaped
	Err  error
}

// Ask brings a request to the owner.
func Ask(r Request) tea.Cmd { return func() tea.Msg { return r } }

// Leave is Ask for a Close.
func Leave(said string, err error) tea.Cmd { return Ask(Close{said, err}) }
