package ui

import (
	"context"
	"io"

	"aibox/session"
	"aibox/ui/changes"
	"aibox/ui/dashboard"
	"aibox/ui/keymap"
	"aibox/ui/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// The smallest screen that shows something of use.
const (
	minWidth  = 40
	minHeight = 12
)

// page is a full screen. The app is its owner: it sets size and theme, routes
// messages to it and shows its keys.
type page interface {
	Init() tea.Cmd
	Update(msg tea.Msg) tea.Cmd
	View() string
	SetSize(width, height int)
	SetTheme(t theme.Theme)
	Keys() []keymap.Group
	Typing() bool // keys are text or answers: none of the app's own counts
}

// done says that the terminal is back from a command.
type done struct {
	said string
	err  error
}

// app is the root model.
type app struct {
	ctx       context.Context //nolint:containedctx // it ends with the program
	request   Request
	dashboard *dashboard.Model
	review    *changes.Model // on top of the dashboard, or nil
	keys      appKeys
	theme     theme.Theme

	width, height int
	help          bool
	scroll        int // first line of the help
}

type appKeys struct{ help, quit, force key.Binding }

func newApp(ctx context.Context, r Request) *app {
	return &app{
		ctx: ctx, request: r, dashboard: dashboard.New(ctx, r.Sessions), theme: theme.New(true),
		keys: appKeys{
			help: keymap.Bind("this help", "?", "f1"), quit: keymap.Bind("quit; what runs goes on", "q"), force: keymap.Bind("quit from anywhere", "ctrl+c"),
		},
	}
}

// page is the screen that is shown.
func (a *app) page() page {
	if a.review != nil {
		return a.review
	}
	return a.dashboard
}

// Init asks the terminal for its background and starts the first screen.
func (a *app) Init() tea.Cmd { return tea.Batch(tea.RequestBackgroundColor, a.page().Init()) }

// Update routes.
func (a *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.width, a.height = msg.Width, msg.Height
		a.fit()
		return a, nil
	case tea.BackgroundColorMsg:
		a.theme = theme.New(msg.IsDark())
		a.fit()
		return a, nil
	case dashboard.Request:
		if msg.Command == dashboard.Review {
			return a, a.open(msg.ID)
		}
		return a, a.hand(msg)
	case found:
		a.review = changes.New(a.ctx, a.request.Sessions, msg.session)
		a.fit()
		return a, a.review.Init()
	case changes.Closed:
		a.review = nil
		return a, a.dashboard.Say(msg.Said, msg.Err)
	case done:
		return a, a.dashboard.Say(msg.said, msg.err)
	case tea.KeyPressMsg:
		return a, a.press(msg)
	case tea.MouseWheelMsg, tea.MouseClickMsg:
		if a.help {
			return a, nil
		}
	}
	if a.review == nil || dashboard.Owns(msg) {
		return a, a.dashboard.Update(msg)
	}
	return a, a.review.Update(msg)
}

// fit gives every screen the size and the theme.
func (a *app) fit() {
	pages := []page{a.dashboard}
	if a.review != nil {
		pages = append(pages, a.review)
	}
	for _, p := range pages {
		p.SetTheme(a.theme)
		if a.width > 0 {
			p.SetSize(a.width, a.height)
		}
	}
}

// found brings a session to review.
type found struct{ session session.Session }

func (a *app) open(id session.ID) tea.Cmd {
	r := a.request
	return func() tea.Msg {
		of, err := r.Sessions.Find(string(id))
		if err != nil {
			return done{err: err}
		}
		return found{of}
	}
}

// press is one key: the app's own, or the page's.
func (a *app) press(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(msg, a.keys.force) && !a.page().Typing():
		return tea.Quit
	case a.help:
		a.turn(msg)
		return nil
	case a.page().Typing():
		return a.page().Update(msg)
	case key.Matches(msg, a.keys.help):
		a.help, a.scroll = true, 0
		return nil
	case key.Matches(msg, a.keys.quit) && a.review == nil:
		return tea.Quit
	}
	return a.page().Update(msg)
}

// turn is a key while the help is open.
func (a *app) turn(msg tea.KeyPressMsg) {
	switch msg.String() {
	case "down", "j", "pgdown", "space":
		a.scroll++
	case "up", "k", "pgup":
		a.scroll = max(0, a.scroll-1)
	default:
		a.help = false
	}
}

// hand gives the terminal to a command.
func (a *app) hand(r dashboard.Request) tea.Cmd {
	return tea.Exec(handover{a.ctx, a.request.Do, r}, func(err error) tea.Msg { return done{err: err} })
}

// handover is a command that has the terminal for itself.
type handover struct {
	ctx     context.Context //nolint:containedctx // it ends with the program
	do      func(context.Context, dashboard.Command, session.ID) error
	request dashboard.Request
}

// Run does the command.
func (h handover) Run() error { return h.do(h.ctx, h.request.Command, h.request.ID) }

// SetStdin and the others are not needed: the command knows the terminal.
func (handover) SetStdin(io.Reader)  {}
func (handover) SetStdout(io.Writer) {}
func (handover) SetStderr(io.Writer) {}
