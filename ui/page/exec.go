package page

import tea "charm.land/bubbletea/v2"

// Exec calls a function that has the whole terminal, such as one that runs an editor. The message of
// Done reaches only the page that asked, like any other answer.
type Exec struct {
	Do   func() error
	Done func(err error) tea.Msg
}

func (Exec) request() {}
