package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
)

// queryWait is the maximum time that the UI waits for the terminal's answer to its first query.
// A slow connection takes some 100 ms; only a terminal that never answers makes a quick exit wait longer.
const queryWait = time.Second

// terminalQuery keeps the terminal for the program until the terminal has answered the query for
// its background color, or until queryWait after the start. An answer that comes later would be
// printed at the user's shell prompt, or be read by the command that has the terminal then.
type terminalQuery struct {
	over     <-chan struct{} // closed when the terminal has answered, or will not
	answered func()          // closes over
	quitting bool            // only the program's loop uses it
}

// newTerminalQuery is the query of a program that starts now. It waits for the answer at most for
// wait.
func newTerminalQuery(wait time.Duration) *terminalQuery {
	ctx, answered := context.WithTimeout(context.Background(), wait)
	return &terminalQuery{over: ctx.Done(), answered: answered}
}

// wait returns when the terminal has answered, or will not.
func (q *terminalQuery) wait() { <-q.over }

// filter passes on every message except an early request to quit. It calls quit later to repeat
// that request.
func (q *terminalQuery) filter(msg tea.Msg, quit func()) tea.Msg {
	switch msg.(type) {
	case tea.BackgroundColorMsg:
		q.answered()
	case tea.QuitMsg:
		select {
		case <-q.over:
			return msg
		default:
		}
		if !q.quitting {
			q.quitting = true
			go func() {
				q.wait()
				quit()
			}()
		}
		return nil
	}
	return msg
}
