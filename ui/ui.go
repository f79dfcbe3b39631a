// Package ui is the terminal UI: what `aibox` shows without a command. It does no work of its own
// and decides nothing about isolation: screens call the use cases and show their results. Update
// and View do no I/O. Commands do, and return messages.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"aibox/app/run"
	"aibox/session"
	"aibox/session/manager"
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

	tea "charm.land/bubbletea/v2"
)

// Sessions are the use cases that the screens call.
type Sessions interface {
	dashboard.Sessions
	sessionview.Sessions
	scrollback.Sessions
	network.Sessions
	openports.Sessions
	openports.Opener
	compare.Sessions
	snapshots.Sessions
	approvals.Sessions
}

// Request configures the UI.
type Request struct {
	In       io.Reader // the user's terminal
	Out      io.Writer // the user's terminal
	Sessions Sessions
	Guard    network.Guard
	Changes  changes.Services
	NewRuns  newrun.Services
	Settings settings.Settings
	Machine  doctor.Machine
	Images   images.Builder
	// Snapshots are those of the user's sandboxes.
	Snapshots snapshots.Store
	FirstRun  welcome.Choices
	// Remember adds an entry to the allow list of the user's settings for the agent of the session,
	// and returns the path of the settings file. It is nil if entries cannot be added.
	Remember func(ctx context.Context, id session.ID, entry string) (file string, err error)
	// Notify returns the control sequence that makes the terminal show a notification; "" for none.
	// If it is nil, no notification is shown.
	Notify func(event manager.NotifyEvent, title, text string) (sequence string)
	// Only is the screen to show instead of the dashboard; leaving it ends the UI. Nil shows the
	// dashboard.
	Only page.Request
	// Do runs one of aibox's own commands on the whole terminal, while the UI is off the
	// screen, and returns when the user may come back.
	Do func(ctx context.Context, command page.Command) error
	// System runs a command of this machine on the whole terminal, as page.System says.
	System func(ctx context.Context, command []string) error
	// Run starts a run on the whole terminal, while the UI is off the screen, and returns
	// when the user may come back. It reports the run's own errors itself.
	Run func(ctx context.Context, request run.Request) error
	// SendBack opens an editor on the whole terminal for feedback on a session's work. It then
	// resumes the session with the feedback, as Run does.
	SendBack func(ctx context.Context, request page.SendBack) error
	// Environ holds the terminal's variables (TERM, NO_COLOR, COLORTERM); nil means
	// those of the process.
	Environ []string
}

// Run shows the UI until the user leaves it, ctx ends or something panics (a
// *Crash). The terminal is as it was when it returns. said is the result of the only
// screen, if it has one: escaped, or empty.
func Run(ctx context.Context, r Request) (said string, err error) {
	app, err := show(ctx, r, func(*app) {})
	if err != nil {
		return "", err
	}
	return app.closed.Text, app.closed.Err
}

// Compose shows only the screen for a new run, prefilled with request, until the user starts the
// run or leaves. It starts nothing: with done it returns what the user chose, including typed
// secrets. The terminal is as it was when it returns.
func Compose(ctx context.Context, r Request, request run.Request) (composed run.Request, done bool, err error) {
	r.Only = page.NewRun{Repository: request.Repository, Edit: &request}
	app, err := show(ctx, r, func(a *app) { a.composes = true })
	if err != nil || app.composed == nil {
		return request, false, err
	}
	return *app.composed, true, nil
}

// show runs the program until it ends or ctx does. prepare changes the root model first.
func show(ctx context.Context, r Request, prepare func(*app)) (*app, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if r.Environ == nil {
		r.Environ = os.Environ()
	}
	app := newApp(ctx, r)
	app.colors, app.light = colorsOf(r.Environ), lightOf(r.Environ)
	app.paint()
	prepare(app)
	var program *tea.Program
	program = tea.NewProgram(paced{guard{app, end}, &pace{}, &program}, tea.WithInput(inputOf(r.In, end)), tea.WithOutput(r.Out), tea.WithoutSignalHandler(),
		tea.WithEnvironment(r.Environ), tea.WithColorProfile(app.colors), tea.WithFPS(framesPerSecond),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg { return app.query.filter(msg, program.Quit) }))
	// WithContext is not used: if it ended the program just when a command gives the terminal back,
	// the keyboard would stay in a special mode.
	defer context.AfterFunc(ctx, program.Quit)()
	_, err := program.Run()
	var crash *Crash
	switch {
	case errors.As(context.Cause(ctx), &crash):
		return nil, crash
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("showing the terminal UI: %w", err)
	}
	return app, nil
}
