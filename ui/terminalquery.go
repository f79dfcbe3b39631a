package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// queryWait is the maximum time that the UI waits for the terminal's answer to its first query.
// A slow connection takes some 100 ms; only a terminal that never answers makes a quick exit wait longer.
const queryWait = time.Second

// terminalQuery delays the end of a program until the terminal has answered the query for its
// background color, or queryWait after the start. An answer that comes later would be printed at
// the user's shell prompt, or be taken for typed text. Only the program's loop uses it.
type terminalQuery struct {
	sent     time.Time
	answered bool
	quitting bool
}

// filter passes on every message except an early request to quit. It calls quit later to repeat
// that request.
func (q *terminalQuery) filter(msg tea.Msg, quit func()) tea.Msg {
	switch msg.(type) {
	case tea.BackgroundColorMsg:
		q.answered = true
		if q.quitting {
			go quit()
		}
	case tea.QuitMsg:
		left := queryWait - time.Since(q.sent)
		if q.answered || left <= 0 {
			return msg
		}
		if !q.quitting {
			q.quitting = true
			time.AfterFunc(left, quit)
		}
		return nil
	}
	return msg
}
