package supervisor

import (
	"testing"

	"aibox/agents"
	"aibox/internal/screen"
	"aibox/session/terminal"
)

func TestAnAgentWaitsFromItsQuestionUntilItsAnswer(t *testing.T) {
	r := &run{id: "0abc-claude", term: terminal.New(screen.Size{Rows: 10, Cols: 60}, nil)}
	published := 0
	r.publishing.start(func() { published++ })
	published = 0
	a := attention{session: r}
	show := func(output string, want bool, publishes int) {
		t.Helper()
		r.term.Feed([]byte(output), nil)
		a.look(&agents.Claude{})
		if a.isWaiting() != want || published != publishes {
			t.Errorf("after %q it waits: %v; published %d times", output, a.isWaiting(), published)
		}
	}
	show("Working\r\n", false, 0)
	show("Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n \x1b[1mEsc\x1b[m to \x1b[3mcancel\x1b[m", true, 1)
	show(" · Tab to amend", true, 1)
	show("\x1b[2J\x1b[HWorking", false, 2)
	show("\x1b]0;a title\a\x1b]9;4;1;50\a\x1b]99;i=1:p=?;\x1b\\", false, 2)
	show("\x1b]777;notify;Claude;it waits\a", true, 3)
}
