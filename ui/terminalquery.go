package ui

import (
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
	sent     time.Time
	answered chan struct{} // closed at the answer

	// Only the program's loop uses the following.
	known    bool // answered is closed
	quitting bool
}

// newTerminalQuery is the query of a program that starts now.
func newTerminalQuery() *terminalQuery {
	return &terminalQuery{sent: time.Now(), answered: make(chan struct{})}
}

// wait returns when the terminal has answered, or will not.
func (q *terminalQuery) wait() {
	select {
	case <-q.answered:
	case <-time.After(queryWait - time.Since(q.sent)):
	}
}

// filter passes on every message except an early request to quit. It calls quit later to repeat
// that request.
func (q *terminalQuery) filter(msg tea.Msg, quit func()) tea.Msg {
	switch msg.(type) {
	case tea.BackgroundColorMsg:
		if !q.known {
			q.known = true
			close(q.answered)
		}
	case tea.QuitMsg:
		if q.known || time.Since(q.sent) >= queryWait {
			return msg
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
