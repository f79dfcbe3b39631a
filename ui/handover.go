package ui

import (
	"context"
	"io"
	"time"

	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// executed is the answer to a page.Exec: the terminal is the UI's again.
type executed struct{ answer }

// handOver hides the UI and gives the whole terminal to do. The screen that requested it receives
// do's error in a page.Returned.
func (a *app) handOver(do func(context.Context) error) tea.Cmd {
	return a.hand(a.release(do, func(err error) tea.Msg { return page.Returned{Err: err} }))
}

// exec is handOver for a screen that receives a message of its own, unless it is closed by then.
func (a *app) exec(l *layer, of page.Exec) tea.Cmd {
	do := func(context.Context) error { return of.Do() }
	return a.hand(a.release(do, func(err error) tea.Msg { return executed{answer{l, of.Done(err)}} }))
}

// hand returns the command that releases the terminal, and ends the watch of requests until takeBack.
// A request for the terminal that comes before the UI is hidden, as from a key that is pressed twice,
// is dropped.
func (a *app) hand(release tea.Cmd) tea.Cmd {
	if a.handing {
		return nil
	}
	a.handing = true
	a.questions.Pause()
	return release
}

// takeBack watches requests again when the terminal is the UI's.
func (a *app) takeBack() tea.Cmd {
	a.handing = false
	return a.questions.Resume()
}

// release gives the terminal to do once the terminal has answered the UI's query. The UI receives
// the message that returned makes of do's error.
func (a *app) release(do func(context.Context) error, returned func(error) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		a.query.wait()
		return tea.Exec(handover{a.ctx, do}, returned)()
	}
}

// handover is a function that has the terminal for itself.
type handover struct {
	ctx context.Context //nolint:containedctx // it ends with the program
	do  func(context.Context) error
}

// Run calls the function.
func (h handover) Run() error {
	// The library's renderer reports that it is idle shortly before it stops its ticker. If it were
	// restarted in between, it would never draw again.
	time.Sleep(restTime)
	return guarded(func() error { return h.do(h.ctx) })
}

// restTime is many times longer than that delay, and too short for the user to notice.
const restTime = 20 * time.Millisecond

// SetStdin and the others are not needed: the function knows the terminal.
func (handover) SetStdin(io.Reader)  {}
func (handover) SetStdout(io.Writer) {}
func (handover) SetStderr(io.Writer) {}
