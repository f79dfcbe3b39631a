package ui

import (
	"context"
	"io"
	"time"

	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// handOver hides the UI and gives the whole terminal to do. The screen that requested it receives
// do's error in a page.Returned. A request that comes before the UI is hidden, as from a key that is
// pressed twice, is dropped.
func (a *app) handOver(do func(context.Context) error) tea.Cmd {
	if a.handing {
		return nil
	}
	a.handing = true
	a.questions.Pause()
	return a.release(do, func(err error) tea.Msg { return page.Returned{Err: err} })
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
