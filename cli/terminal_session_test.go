package cli

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/internal/screen"

	"github.com/creack/pty"
)

func TestTheDetachKeysAreFoundHoweverTheyAreSplit(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []string // the results of successive reads; "" is a pause
		send string
		wish error
	}{
		{"together", []string{"ab\x10\x11cd"}, "ab", errDetached},
		{"apart", []string{"ab\x10", "\x11"}, "ab", errDetached},
		{"ctrl-p alone", []string{"\x10", "x"}, "\x10x", nil},
		{"ctrl-p and a pause", []string{"\x10", "", "\x11"}, "\x10\x11", nil},
		{"ctrl-p twice", []string{"\x10\x10", "\x11"}, "\x10", errDetached},
		{"ctrl-q alone", []string{"\x11"}, "\x11", nil},
		{"a pause", []string{"", "a"}, "a", nil},
		{"back", []string{"ab\x10\x13cd"}, "ab", errScrollBack},
		{"back apart", []string{"ab\x10", "\x13"}, "ab", errScrollBack},
		{"ctrl-s alone", []string{"\x13"}, "\x13", nil},
		{"ctrl-s after a pause", []string{"\x10", "", "\x13"}, "\x10\x13", nil},
		{"other keys", []string{"\x03\x1b[A"}, "\x03\x1b[A", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var keys detachKeys
			var got []byte
			var wished error
			for _, in := range c.in {
				send, wish := keys.take([]byte(in))
				got, wished = append(got, send...), errors.Join(wished, wish)
			}
			if string(got) != c.send || !errors.Is(wished, c.wish) || (wished == nil) != (c.wish == nil) {
				t.Errorf("the agent gets %q, and the user wants %v", got, wished)
			}
		})
	}
}

// openTerminal opens a terminal until the test ends.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = master.Close(), slave.Close() })
	return master, slave
}

func TestReadingKeysEndsWithItsContextAndConsumesNone(t *testing.T) {
	master, slave := openTerminal(t)
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
		t.Fatal("it continues reading")
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

func TestKeysTypedBeforeAreDropped(t *testing.T) {
	master, slave := openTerminal(t)
	if _, err := master.WriteString("for another screen\n"); err != nil {
		t.Fatal(err)
	}
	dropKeys(slave)
	if _, err := master.WriteString("x\n"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if n, err := readKeys(t.Context(), slave, buf, 0); err != nil || string(buf[:n]) != "x\n" {
		t.Errorf("%q is read, %v", buf[:n], err)
	}
}

func TestTheLastRowIsReservedUnlessThereAreTooFewRows(t *testing.T) {
	master, slave := openTerminal(t)
	c := &attachedTerminal{in: slave, out: slave, label: "0dq4f-codex"}
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

func TestTheEnvironmentDeterminesTheColors(t *testing.T) {
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

func TestInteractiveRequiresATerminalAndRefusesJSON(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	a := newCLI(&console{in: null, out: null})
	for _, c := range []struct {
		request run.Request
		show    presentation
		want    bool
	}{
		{run.Request{}, presentation{}, true},
		{run.Request{Interactive: true}, presentation{}, false},
		{run.Request{Interactive: true}, presentation{json: true}, false},
		{run.Request{Interactive: true, Detached: true}, presentation{}, true},
		{run.Request{Interactive: true, Detached: true}, presentation{json: true}, true},
	} {
		err := a.checkInteractive(c.request, c.show)
		if (err == nil) != c.want || err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v gives %v", c, err)
		}
	}
	if size := a.agentSize(); size != (screen.Size{}) {
		t.Errorf("without a terminal the agent's has %v", size)
	}
}
