// Package page defines what a screen is and what it may request from the root, such as
// opening another screen. Screens know this package and not each other. It shows nothing
// and does nothing.
package page

import (
	"aibox/app/run"
	"aibox/session"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Page is a full screen. Keys, mouse events and pastes reach the page on top. Messages from a
// page's commands reach only that page, and only while it is open.
type Page interface {
	Init() tea.Cmd
	Update(msg tea.Msg) tea.Cmd
	// View returns exactly the cells of the last SetSize.
	View() string
	// SetSize sets the size in cells, without the line of keys at the foot, which the
	// root draws from Short.
	SetSize(width, height int)
	SetTheme(t theme.Theme)
	// Keys returns every active key, for the help and the command palette.
	Keys() []keymap.Group
	// Short returns the keys for the foot of the screen, the most important first.
	Short() []key.Binding
	// Typing reports whether the page takes every key, as text or as an answer. The
	// root's own keys are off then.
	Typing() bool
}

// Request is a message that asks the root for something.
type Request interface{ request() }

// The screens that a page can open on top of itself.
type (
	// Review shows the changes of a session.
	Review struct{ ID session.ID }
	// Session shows one session, running or ended.
	Session struct{ ID session.ID }
	// Scrollback shows the terminal output of an interactive session.
	Scrollback struct{ ID session.ID }
	// Ports shows the ports of a running session's sandbox.
	Ports struct{ ID session.ID }
	// NewRun starts a session.
	NewRun struct {
		Repository string     // empty: the current one, or the last one used
		Again      session.ID // prefill from this session; empty: from the last run
		// Begin prefills from this request, such as the choices of the first run. The screen starts
		// the edited request, unlike with Edit.
		Begin *run.Request
		// Edit prefills from this request. The screen starts nothing itself: it sends a Run with
		// the edited request.
		Edit *run.Request
	}
	// Images shows the images of agents.
	Images struct{}
	// Snapshots shows the snapshots of sandboxes. Take is a sandbox to take a snapshot of at once;
	// empty means none.
	Snapshots struct{ Take session.ID }
	// Network shows the allowed and the refused requests of sandboxes. ID limits it to one
	// session; empty means all.
	Network struct{ ID session.ID }
	// Compare shows the results of several sessions side by side.
	Compare struct {
		Batch session.BatchID // the sessions of this batch
		IDs   string          // without a batch: these sessions, separated by commas
	}
	// Doctor shows the state of this machine.
	Doctor struct{}
	// Settings shows the user's settings, with the cursor at one of them. An empty Key
	// means the first.
	Settings struct{ Key string }
)

// System runs a command of this machine, such as one with sudo, on the whole terminal. It
// asks before it runs the command, and keeps the output until the user presses a key.
type System struct{ Command []string }

// SendBack asks the user for feedback on a session's work in an editor, on the whole
// terminal, and resumes the session with it. An empty text cancels.
type SendBack struct {
	ID   session.ID
	Fork bool // continue a copy of the work instead, and leave the session as it is
}

// Run starts a run on the whole terminal and follows it to its end. The output stays on
// the screen until the user presses a key. An error in the Returned means that nothing was
// started.
type Run struct{ Request run.Request }

// Close leaves the page. The page below gets a Returned.
type Close struct {
	Text string // the outcome, escaped; empty for none
	Err  error
}

func (Review) request()     {}
func (Session) request()    {}
func (Scrollback) request() {}
func (Ports) request()      {}
func (NewRun) request()     {}
func (Images) request()     {}
func (Network) request()    {}
func (Snapshots) request()  {}
func (Compare) request()    {}
func (Doctor) request()     {}
func (Settings) request()   {}
func (Command) request()    {}
func (System) request()     {}
func (Run) request()        {}
func (SendBack) request()   {}
func (Close) request()      {}

// Covered reports to a page that another page covers it. A Returned reports the end of this.
type Covered struct{}

// Returned reports to a page that it is on top again: the page above was closed, or the
// command it requested has ended.
type Returned struct {
	Text string // escaped
	Err  error
}

// Ask sends a request to the root.
func Ask(r Request) tea.Cmd { return func() tea.Msg { return r } }

// Leave sends a Close to the root.
func Leave(text string, err error) tea.Cmd { return Ask(Close{text, err}) }
