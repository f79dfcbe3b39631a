package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

func TestARefreshedTableEndsWithALineOfItsOwnForThePrompt(t *testing.T) {
	a, out, _ := testApp(t)
	service, err := a.app.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	o := topOptions{cli: a, interval: time.Second}
	if err := o.refresh(ctx, service, nil); err != nil || !strings.HasSuffix(out.String(), "\x1b[?25h\n") {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}

func TestTopOfSessionsThatHaveEndedDoesNotSayThatNoSessionRuns(t *testing.T) {
	for line, want := range map[string]string{
		"top":             "no session is running; `aibox run` starts one\n",
		"top 0dq4f":       "0dq4f-shell is not running\n",
		"top 0dq4f 0dq4g": "none of these sessions is running\n",
	} {
		a, _, errOut := testApp(t)
		storedSession(t, "0dq4f-shell", time.Now())
		storedSession(t, "0dq4g-shell", time.Now())
		if err := a.execute(t.Context(), strings.Fields(line)); err != nil || errOut.String() != want {
			t.Errorf("%s prints %q, %v", line, errOut.String(), err)
		}
	}
}

func TestTheIntervalOfTopIsALengthLikeAnyOther(t *testing.T) {
	a, _, _ := testApp(t)
	if err := a.execute(t.Context(), strings.Fields("top --once --interval 1d")); err != nil {
		t.Error(err)
	}
}

func TestTheTableOfTopFollowsTheSizeOfItsTerminal(t *testing.T) {
	c, user := consoleOnTerminal(t)
	if err := pty.Setsize(user, &pty.Winsize{Rows: 10, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	if now := c.currentTerm(); now.width != 40 || now.height != 10 {
		t.Errorf("it is %d columns and %d lines large", now.width, now.height)
	}
}
