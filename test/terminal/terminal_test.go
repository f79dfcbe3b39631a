package terminal

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// run starts a shell script on a terminal.
func run(t *testing.T, script string) (*Terminal, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	on, err := Start(exec.CommandContext(ctx, "sh", "-c", script), Size{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = on.Close() })
	return on, ctx
}

func TestAProgramThatRestoresTheTerminalLeavesNothing(t *testing.T) {
	on, ctx := run(t, `old=$(stty -g); stty raw -echo; printf '\033[?1049h\033[?25l\033[?1002;1006h\033[?2004h\033[>1u'
		printf '\033[<u\033[?2004l\033[?1006;1002l\033[?25h\033[?1049l'; stty "$old"`)
	if _, err := on.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if left := on.Left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestWhatAProgramDoesNotRestoreIsReported(t *testing.T) {
	for script, want := range map[string]string{
		`printf '\033[?1002h.'`:                       "mode 1002 is true",
		`printf '\033[?25l.'`:                         "mode 25 is false",
		`printf '\033[?10'; printf '49h.'`:            "mode 1049 is true",
		`printf '\033[?2026h.'`:                       "mode 2026 is true",
		`printf '\033[>5u.'`:                          "a mode of the keyboard is left",
		`stty -echo; printf .`:                        "other settings of the line",
		`printf '\033[?1002h\033[?1002l\033[?1003h.'`: "mode 1003 is true",
	} {
		on, ctx := run(t, script)
		if err := on.Await(ctx, `\.`); err != nil {
			t.Fatal(err)
		}
		if _, err := on.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if left := on.Left(); !slices.Equal(left, []string{want}) {
			t.Errorf("%s leaves %q", script, left)
		}
	}
}

func TestAFrameEndsWithItsLastByte(t *testing.T) {
	on, ctx := run(t, `printf 'loose \033[?2026hfir'; read -r go; printf 'st\033[?2026l'; read -r go; printf '\033[?2026hsecond\033[?2026l'; read -r go`)
	if err := on.Await(ctx, "loose fir"); err != nil {
		t.Fatal(err)
	}
	if n, _ := on.Frames(); n != 0 {
		t.Errorf("%d frames before the first has ended", n)
	}
	for n := range 2 {
		begin := time.Now()
		if err := on.Press("enter"); err != nil {
			t.Fatal(err)
		}
		at, err := on.Frame(ctx, n)
		if err != nil || at.Before(begin) {
			t.Errorf("frame %d came at %v, %v after the key: %v", n, at, at.Sub(begin), err)
		}
	}
	if !strings.Contains(on.Text(), "second") {
		t.Error(on.Text())
	}
}

func TestProgramsReceiveKeysSizesAndAnswers(t *testing.T) {
	on, ctx := run(t, `stty raw -echo; printf '\033[?2026$p'; head -c 11 | od -An -c | tr -d ' \n'; stty sane
		trap 'stty size' WINCH; echo; echo ready; while :; do read -r line && echo "got $line"; done`)
	if err := on.Await(ctx, `\[\?2026;2\$y`); err != nil {
		t.Fatal(err)
	}
	if err := on.Await(ctx, `ready`); err != nil {
		t.Fatal(err)
	}
	if err := on.Press("a", "b", "enter"); err != nil {
		t.Fatal(err)
	}
	if err := on.Await(ctx, `got ab`); err != nil {
		t.Fatal(err)
	}
	if err := on.Resize(Size{Rows: 10, Cols: 33}); err != nil {
		t.Fatal(err)
	}
	if err := on.Press("enter"); err != nil { // some shells look for signals between lines
		t.Fatal(err)
	}
	if err := on.Await(ctx, `10 33`); err != nil {
		t.Fatal(err)
	}
}

func TestTitlesOfTheWindowAreKept(t *testing.T) {
	on, ctx := run(t, `printf '\033]0;one\007\033]2;t'; printf 'wo\033\\\033]52;c;x\007.'`)
	if err := on.Await(ctx, `\.`); err != nil {
		t.Fatal(err)
	}
	if titles := on.Titles(); !slices.Equal(titles, []string{"one", "two"}) {
		t.Errorf("titles are %q", titles)
	}
}

func TestMouseEventsAreWhatTerminalsSend(t *testing.T) {
	for got, want := range map[string]string{
		Mouse(Left, 0, 0):        "\x1b[<0;1;1M\x1b[<0;1;1m",
		Mouse(WheelDown, 79, 23): "\x1b[<65;80;24M",
		Key("ctrl+s"):            "\x13",
		Key("é"):                 "é",
	} {
		if got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}
