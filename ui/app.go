package ui

import (
	"context"
	"slices"
	"time"

	"aibox/app/run"
	"aibox/internal/termtext"
	"aibox/ui/approvals"
	"aibox/ui/changes"
	"aibox/ui/compare"
	"aibox/ui/dashboard"
	"aibox/ui/doctor"
	"aibox/ui/images"
	"aibox/ui/network"
	"aibox/ui/newrun"
	"aibox/ui/openports"
	"aibox/ui/page"
	"aibox/ui/scrollback"
	"aibox/ui/sessionview"
	"aibox/ui/settings"
	"aibox/ui/snapshots"
	"aibox/ui/welcome"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// app is the root model. It holds a stack of screens with the dashboard at the bottom, or a single
// requested screen. It routes messages, draws the line of keys, sets the size and the theme of
// every screen, and closes screens.
type app struct {
	ctx     context.Context //nolint:containedctx // it ends with the program
	request Request
	open    []*layer // the last one is shown
	keys    appKeys
	theme   theme.Theme

	width, height int
	over          overlay
	questions     *approvals.Model // of running sessions
	ports         *openports.Opened
	snapshots     snapshots.Underway
	alerts        alerts
	colors        colorprofile.Profile // what the terminal can show
	light         bool                 // its background
	closed        page.Close           // sent by the only screen
	job           func() job           // reads the job of this process
	remark        string               // about the last key, escaped; empty for none
	interrupted   bool                 // the last key was ctrl+c
	handing       bool                 // a function or the shell has the terminal, or is about to get it
	composes      bool                 // a Run ends the program instead of starting
	composed      *run.Request         // that Run's request
	query         *terminalQuery       // for its background
}

// The minimum size of a usable screen.
const (
	minWidth  = 40
	minHeight = 12
)

// sides are the screens that the digit keys open, starting at 2. The key 1 opens the dashboard.
var sides = []page.Request{page.Images{}, page.Network{}, page.Doctor{}, page.Settings{}, page.Snapshots{}}

type appKeys struct {
	help, palette, quit, force, suspend key.Binding
	sides                               []key.Binding // the dashboard, then sides
	// inText are the keys that also work while the user types.
	inText struct{ help, palette, force key.Binding }
}

func newApp(ctx context.Context, r Request) *app {
	a := &app{
		ctx: ctx, request: r, theme: theme.New(true), colors: colorprofile.TrueColor, job: currentJob, query: newTerminalQuery(queryWait),
		keys: appKeys{
			help: keymap.Bind("this help", "?", "f1"), palette: keymap.Bind("search all commands", ":", "ctrl+k"),
			quit: keymap.Bind("quit; sessions continue", "q"), force: keymap.Bind("quit; cancels a question or a text first", "ctrl+c"),
			suspend: keymap.Bind("back to the shell; fg returns", "ctrl+z"),
			sides: []key.Binding{
				keymap.Bind("sessions", "1"), keymap.Bind("images", "2"), keymap.Bind("network", "3"), keymap.Bind("this machine", "4"), keymap.Bind("settings", "5"), keymap.Bind("snapshots", "6"),
			},
		},
	}
	a.keys.inText.help, a.keys.inText.palette = keymap.Bind("this help", "f1"), keymap.Bind("search all commands", "ctrl+k")
	a.keys.inText.force = keymap.Bind("cancel the text; twice: quit", "ctrl+c")
	a.snapshots.Store = r.Snapshots
	a.ports = openports.NewOpened(ctx, r.Sessions)
	a.questions = approvals.New(ctx, r.Sessions)
	a.questions.Remember = r.Remember
	if r.Notify != nil {
		a.questions.Notify = a.notify
		a.alerts = alerts{ctx: ctx, sessions: r.Sessions, notify: r.Notify, now: time.Now}
	}
	a.open = []*layer{a.layerOf(r.Only)}
	return a
}

// page returns the current screen.
func (a *app) page() *layer { return a.open[len(a.open)-1] }

// Init asks the terminal for its background and starts the first screen.
func (a *app) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, a.page().Init(), a.questions.Init(), a.alerts.Init())
}

// Update routes a message.
func (a *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer a.showQuestions()
	msg, current := page.Current(msg)
	if !current {
		return a, nil
	}
	if cmd, own := a.alerts.take(msg); own {
		return a, cmd
	}
	if msg, pressed := msg.(tea.KeyPressMsg); pressed {
		switch {
		case a.pressedTwice(msg):
			return a, a.quit()
		case key.Matches(msg, a.keys.suspend):
			return a, a.suspend()
		}
	}
	if cmd, taken := a.takeQuestion(msg); taken {
		return a, cmd
	}
	if cmd, taken := a.takeTooSmall(msg); taken {
		return a, cmd
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.width, a.height = msg.Width, msg.Height
		a.fit()
		return a, nil
	case tea.BackgroundColorMsg:
		a.light = !msg.IsDark()
		a.paint()
		return a, nil
	case tea.ColorProfileMsg:
		a.colors = msg.Profile
		a.paint()
		return a, nil
	case answer:
		return a, a.deliver(msg)
	case noShell:
		a.remark = "no shell to return to"
		return a, a.takeBack()
	case page.Returned:
		return a, tea.Batch(a.takeBack(), a.page().Update(msg))
	case executed:
		return a, tea.Batch(a.takeBack(), a.deliver(msg.answer))
	case resumed:
		if msg.err != nil {
			a.remark = termtext.Escape(msg.err.Error())
		}
		return a, a.takeBack()
	case tea.KeyPressMsg:
		return a, a.press(msg)
	case tea.MouseClickMsg:
		return a, a.click(msg)
	case tea.MouseMsg, tea.PasteMsg, tea.KeyMsg:
		if a.over.open() {
			return a, a.pass(msg)
		}
		return a, a.page().Update(msg)
	}
	return a, a.page().Update(msg)
}

// paint sets the theme that fits the terminal's colors and background.
func (a *app) paint() {
	a.theme = theme.New(!a.light)
	if a.colors <= colorprofile.ANSI {
		a.theme = theme.Basic(!a.light)
	}
	a.fit()
}

// fit gives every screen the size and the theme.
func (a *app) fit() {
	a.fitOverlay()
	a.questions.SetTheme(a.theme)
	a.questions.SetSize(a.width, max(1, a.height-footRows))
	for _, l := range a.open {
		l.SetTheme(a.theme)
		if a.width > 0 {
			l.SetSize(a.width, max(1, a.height-footRows))
		}
	}
}

// do handles a request of the current screen.
func (a *app) do(request page.Request) tea.Cmd {
	switch of := request.(type) {
	case page.Command:
		return a.handOver(func(ctx context.Context) error { return a.request.Do(ctx, of) })
	case page.System:
		return a.handOver(func(ctx context.Context) error { return a.request.System(ctx, of.Command) })
	case page.Run:
		if a.composes {
			a.composed = &of.Request
			return tea.Quit
		}
		return a.handOver(func(ctx context.Context) error { return a.request.Run(ctx, of.Request) })
	case page.SendBack:
		return a.handOver(func(ctx context.Context) error { return a.request.SendBack(ctx, of) })
	case page.Exec:
		return a.exec(a.page(), of)
	case page.Close:
		return a.leave(of)
	default:
		return a.show(request)
	}
}

// show opens the requested screen on top of all others.
func (a *app) show(request page.Request) tea.Cmd {
	l := a.layerOf(request)
	covered := a.page().Update(page.Covered{})
	a.open = append(a.open, l)
	a.fit()
	return tea.Batch(covered, l.Init())
}

// layerOf makes the requested screen. A nil request means the dashboard.
func (a *app) layerOf(request page.Request) *layer {
	ctx, cancel := context.WithCancel(a.ctx)
	l := &layer{close: cancel, side: slices.Contains(sides, request)}
	switch of := request.(type) {
	case page.Review:
		l.Page = changes.New(ctx, a.request.Changes, of.ID)
	case page.NewRun:
		l.Page = newrun.New(ctx, a.request.NewRuns, of)
	case page.Session:
		l.Page = sessionview.New(ctx, a.request.Sessions, of.ID)
	case page.Scrollback:
		l.Page = scrollback.New(ctx, a.request.Sessions, of.ID)
	case page.Compare:
		l.Page = compare.New(ctx, a.request.Sessions, of)
	case page.Ports:
		l.Page = openports.New(ctx, a.request.Sessions, a.ports, of.ID)
	case page.Network:
		screen := network.New(ctx, a.request.Sessions, a.request.Guard, of.ID)
		screen.Remember = a.request.Remember
		l.Page = screen
	case page.Settings:
		screen := settings.New(ctx, a.request.Settings)
		screen.Select(of.Key)
		l.Page = screen
	case page.Images:
		l.Page = images.New(ctx, a.request.Images)
	case page.Snapshots:
		l.Page = snapshots.New(ctx, &a.snapshots, a.request.Sessions, of.Take)
	case page.Doctor:
		l.Page = doctor.New(ctx, a.request.Machine)
	default:
		first := welcome.Services{Machine: a.request.Machine, Images: a.request.Images, Choices: a.request.FirstRun}
		l.Page = dashboard.New(ctx, a.request.Sessions, first)
	}
	return l
}

// onDashboard reports whether the dashboard is shown. The keys that quit and that open the screens
// beside it work only there.
func (a *app) onDashboard() bool { return len(a.open) == 1 && a.request.Only == nil }

// leave closes the current screen and notifies the one below. Closing the only screen ends the
// program.
func (a *app) leave(said page.Close) tea.Cmd {
	if len(a.open) == 1 {
		a.closed = said
		return tea.Quit
	}
	a.page().close()
	a.open = a.open[:len(a.open)-1]
	return a.page().Update(page.Returned(said))
}

// pressedTwice reports whether a key is the second ctrl+c in a row. The first one cancels a
// question or a text. The second one quits from any screen.
func (a *app) pressedTwice(msg tea.KeyPressMsg) bool {
	before := a.interrupted
	asks, answers := a.over.leave != nil, a.questions.Open()
	if a.tooSmall() { // the user sees neither
		asks, answers = false, false
	}
	a.interrupted = key.Matches(msg, a.keys.force) && !asks
	return before && a.interrupted && !answers
}

// press handles a key of the app, or passes it to the page.
func (a *app) press(msg tea.KeyPressMsg) tea.Cmd {
	a.remark = ""
	switch {
	case key.Matches(msg, a.keys.force) && !a.typing():
		return a.quit()
	case a.over.open():
		return a.pass(msg)
	case key.Matches(msg, a.keys.inText.help) && !a.asking():
		a.openHelp()
		return nil
	case key.Matches(msg, a.keys.inText.palette) && !a.asking():
		a.openPalette()
		return nil
	case a.page().Typing():
		return a.page().Update(msg)
	case key.Matches(msg, questionKey):
		a.showQuestion()
		return nil
	case key.Matches(msg, a.keys.help):
		a.openHelp()
		return nil
	case key.Matches(msg, a.keys.palette):
		a.openPalette()
		return nil
	case key.Matches(msg, a.keys.quit) && a.onDashboard():
		return a.quit()
	}
	for i, binding := range a.sideKeys() {
		if key.Matches(msg, binding) {
			return a.goAside(i)
		}
	}
	return a.page().Update(msg)
}

// sideKeys returns the keys that open the dashboard and the screens beside it. It returns none on a
// screen where leaving would lose something.
func (a *app) sideKeys() []key.Binding {
	if !a.onDashboard() && !a.page().side {
		return nil
	}
	return a.keys.sides
}

// goAside opens the dashboard if i is 0, else one of sides, counted from 1.
func (a *app) goAside(i int) tea.Cmd {
	var left tea.Cmd
	if len(a.open) > 1 {
		left = a.leave(page.Close{})
	}
	if i == 0 {
		return left
	}
	return tea.Batch(left, a.show(sides[i-1]))
}

// click handles a mouse click. A click on the line of keys presses that key.
func (a *app) click(msg tea.MouseClickMsg) tea.Cmd {
	switch {
	case msg.Y >= a.height:
		return nil // the terminal has just become smaller, and the row is no longer the foot
	case msg.Y < a.height-footRows && a.over.open():
		return a.pass(msg)
	case msg.Y < a.height-footRows:
		if press, open := a.button(msg); open {
			return press
		}
		return a.page().Update(msg)
	case msg.Button != tea.MouseLeft:
		return nil
	}
	if binding, hit := a.footKey(msg.X); hit {
		return a.press(keymap.Press(binding.Keys()[0]))
	}
	return nil
}

// confirmer is a page that can show a question in the middle of the screen.
type confirmer interface {
	Asking() *dialog.Confirm // nil when there is none
}

// asking reports whether the page asks a question that takes every key.
func (a *app) asking() bool {
	p, ok := a.page().Page.(confirmer)
	return ok && p.Asking() != nil
}

// button handles a click while the page asks a question. A click on a button presses the button's
// key.
func (a *app) button(msg tea.MouseClickMsg) (cmd tea.Cmd, asks bool) {
	p, ok := a.page().Page.(confirmer)
	if !ok || p.Asking() == nil {
		return nil, false
	}
	if press, hit := p.Asking().Click(a.theme, a.width, a.height-footRows, msg); hit {
		return a.page().Update(press), true
	}
	return nil, true
}
