package page

import tea "charm.land/bubbletea/v2"

// Exec is a message that asks the root to run a program on the whole terminal, such as an editor.
// The message of Done reaches only the page that asked, like any other answer.
type Exec struct {
	Program tea.ExecCommand
	Done    func(err error) tea.Msg
}
