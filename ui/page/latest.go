package page

import tea "charm.land/bubbletea/v2"

// Latest is a series of requests where each one replaces those before it: a page gets
// only the answers to the newest request. The zero value is ready. It must not be
// copied, and only Update may use it.
type Latest struct{ number int }

// numbered is an answer to a request of a series.
type numbered struct {
	series *Latest
	number int
	msg    tea.Msg
}

// Replace begins the newest request. Answers to earlier ones are dropped.
func (l *Latest) Replace(cmd tea.Cmd) tea.Cmd {
	l.Cancel()
	return l.Continue(cmd)
}

// Continue is another command of the newest request, such as the next read of a stream.
// cmd must not be a batch.
func (l *Latest) Continue(cmd tea.Cmd) tea.Cmd {
	number := l.number
	return func() tea.Msg {
		if msg := cmd(); msg != nil {
			return numbered{l, number, msg}
		}
		return nil
	}
}

// Cancel drops the answers to every request so far.
func (l *Latest) Cancel() { l.number++ }

// Current unwraps an answer of a Latest and reports whether it still counts. Other
// messages pass unchanged. The owner of a page calls it before Update.
func Current(msg tea.Msg) (tea.Msg, bool) {
	if answer, ok := msg.(numbered); ok {
		return answer.msg, answer.number == answer.series.number
	}
	return msg, true
}
