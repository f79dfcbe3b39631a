package cli

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/internal/screen"

	"github.com/creack/pty"
)

func TestTheDetachKeysAreFoundHoweverTheyComeIn(t *testing.T) {
	for _, c := range []struct {
		name  string
		in    []string // what is read at once; "" is a pause
		send  string
		leave bool
	}{
		{"together", []string{"ab\x10\x11cd"}, "ab", true},
		{"apart", []string{"ab\x10", "\x11"}, "ab", true},
		{"ctrl-p alone", []string{"\x10", "x"}, "\x10x", false},
		{"ctrl-p and a pause", []string{"\x10", "", "\x11"}, "\x10\x11", false},
		{"ctrl-p twice", []string{"\x10\x10", "\x11"}, "\x10", true},
		{"ctrl-q alone", []string{"\x11"}, "\x11", false},
		{"a pause", []string{"", "a"}, "a", false},
		{"other keys", []string{"\x03\x1b[A"}, "\x03\x1b[A", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var keys detachKeys
			var got []byte
			left := false
			for _, in := range c.in {
				send, leave := keys.take([]byte(in))
				got, left = append(got, send...), left || leave
			}
			if string(got) != c.send || left != c.leave {
				t.Errorf("the agent gets %q, left: %v", got, left)
			}
		})
	}
}

func TestReadingKeysEndsWithItsContextAndTakesNoneAway(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	buf := make([]byte, 10)
	go func() {
		_, err := readKeys(ctx, slave, buf, 0)
		ended <- err
	}()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on reading")
	}
	if n, err := readKeys(t.Context(), slave, buf, time.Millisecond); n != 0 || err != nil {
		t.Errorf("a pause gives %d, %v", n, err)
	}
	if _, err := master.WriteString("x\n"); err != nil {
		t.Fatal(err)
	}
	if n, err := readKeys(t.Context(), slave, buf, 0); err != nil || string(buf[:n]) != "x\n" {
		t.Errorf("the next reads %q, %v", buf[:n], err)
	}
}

func TestTheLastRowBelongsToThePersonUnlessThereAreTooFew(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	c := &conversation{in: slave, out: slave, label: "0dq4f-codex"}
	for rows, want := range map[uint16]screen.Size{24: {Rows: 23, Cols: 30}, 4: {Rows: 3, Cols: 30}, 3: {Rows: 3, Cols: 30}, 1: {Rows: 1, Cols: 30}} {
		if err := pty.Setsize(master, &pty.Winsize{Rows: rows, Cols: 30}); err != nil {
			t.Fatal(err)
		}
		if got := c.agentSize(); got != want {
			t.Errorf("of %d rows the agent has %v", rows, got)
		}
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 5, Cols: 30}); err != nil {
		t.Fatal(err)
	}
	if err := c.status(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 200)
	n, _ := master.Read(buf)
	seen := screen.New(screen.Size{Rows: 5, Cols: 30})
	_, _ = seen.Write(buf[:n])
	if got := string(seen.Text(screen.NoColors, true)); got != "\n\n\n\n\x1b[0;7m 0dq4f-codex  ctrl-p ctrl-q l…\x1b[m\n" {
		t.Errorf("the row is %q", got)
	}
}

func TestColorsFollowTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		color           bool
		colorterm, term string
		want            screen.Colors
	}{
		{true, "truecolor", "xterm", screen.TrueColors},
		{true, "24bit", "xterm", screen.TrueColors},
		{true, "", "xterm-256color", screen.Colors256},
		{true, "", "xterm", screen.Colors16},
		{false, "truecolor", "xterm-256color", screen.NoColors},
	} {
		t.Setenv("COLORTERM", c.colorterm)
		t.Setenv("TERM", c.term)
		if got := colorDepth(terminal{color: c.color}); got != c.want {
			t.Errorf("%+v gives %d", c, got)
		}
	}
}

func TestInteractiveWantsATerminalAndNoJSON(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	a := &app{in: null, out: null}
	for _, c := range []struct {
		o    runOptions
		want bool
	}{
		{runOptions{}, true},
		{runOptions{interactive: true}, false},
		{runOptions{interactive: true, json: true}, false},
		{runOptions{interactive: true, detach: true}, true},
		{runOptions{interactive: true, detach: true, json: true}, true},
	} {
		err := a.checkInteractive(&c.o)
		if (err == nil) != c.want || err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v gives %v", c.o, err)
		}
	}
	if size := a.agentSize(); size != (screen.Size{}) {
		t.Errorf("without a terminal the agent's has %v", size)
	}
}
