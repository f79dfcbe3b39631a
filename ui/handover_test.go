package ui

import (
	"testing"

	"aibox/app/run"
	"aibox/ui/page"
)

func TestASecondRequestForTheTerminalIsDroppedUntilTheFirstReturns(t *testing.T) {
	a := newTestApp(t, 80, 24)
	for _, request := range []page.Request{page.Run{Request: run.Request{Agent: "codex"}}, page.Shell("0aaaa-codex"), page.System{Command: []string{"true"}}, page.SendBack{ID: "0aaaa-codex"}} {
		if a.do(request) == nil {
			t.Errorf("%T does not get the terminal", request)
		}
		if a.do(request) != nil {
			t.Errorf("a second %T gets the terminal, too", request)
		}
		drive(a, page.Returned{})
	}
}
