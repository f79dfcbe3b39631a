package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pagedApp is an app on a terminal, with a script as its pager.
func pagedApp(t *testing.T, script string) (*cli, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	a, out, errOut := testApp(t)
	if script != "" {
		t.Setenv("PAGER", pagerScript(t, script))
	}
	return a, out, errOut
}

func pagerScript(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pager")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	return file
}

// through runs the pager that is configured, whether or not there is a terminal.
func through(t *testing.T, a *cli, show func(context.Context, io.Writer) error) error {
	t.Helper()
	line := os.Getenv("PAGER")
	return a.throughPager(t.Context(), line, nil, show)
}

func TestAPagerReceivesTheTextAndItsEndEndsTheCommand(t *testing.T) {
	a, out, _ := pagedApp(t, `cat; echo "LESS=$LESS $LESSCHARSET" ; exit 3`)
	err := through(t, a, func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "the text\n")
		return err
	})
	if err != nil || out.String() != "the text\nLESS=FRX utf-8\n" {
		t.Errorf("printed %q, %v", out, err)
	}
}

func TestAPagerThatIsQuitEarlyEndsTheCommandWithoutAnError(t *testing.T) {
	a, out, _ := pagedApp(t, "head -n 1")
	err := through(t, a, func(ctx context.Context, w io.Writer) error {
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := fmt.Fprintf(w, "line %d\n", i); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil || out.String() != "line 0\n" {
		t.Errorf("printed %q, %v", out, err)
	}
}

func TestAWriteErrorIsReported(t *testing.T) {
	a, _, _ := pagedApp(t, "cat")
	want := errors.New("the object is damaged")
	if err := through(t, a, func(context.Context, io.Writer) error { return want }); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}

func TestInterruptsGoToThePager(t *testing.T) {
	a, out, _ := pagedApp(t, "kill -INT $PPID; cat")
	ctx, cancel := context.WithCancel(t.Context())
	err := a.throughPager(ctx, os.Getenv("PAGER"), nil, func(showing context.Context, w io.Writer) error {
		cancel() // the effect of the signal on a command
		if showing.Err() != nil {
			return showing.Err()
		}
		_, err := io.WriteString(w, "all of it\n")
		return err
	})
	if err != nil || out.String() != "all of it\n" {
		t.Errorf("printed %q, %v", out, err)
	}
}

func TestTheUsersPagerIsUsedAndOnlyOnATerminal(t *testing.T) {
	for _, c := range []struct {
		setting, pager, term string
		want                 string
		chosen               bool
	}{
		{"", "", "xterm", "less -FRX", false},
		{"", "", "dumb", "", false},
		{"", "more -s", "xterm", "more -s", true},
		{"most", "more", "xterm", "most", true},
		{"cat", "more", "xterm", "", true},
		{"", "cat", "xterm", "", true},
	} {
		got, chosen := pagerOf(c.setting, c.pager, c.term)
		if strings.Join(got, " ") != c.want || chosen != c.chosen {
			t.Errorf("%+v gives %q, %v", c, got, chosen)
		}
	}
	a, out, _ := pagedApp(t, "echo paged") // standard output is not a terminal here
	if err := a.paged(t.Context(), func(_ context.Context, w io.Writer) error { _, err := io.WriteString(w, "text"); return err }); err != nil || out.String() != "text" {
		t.Errorf("printed %q, %v", out, err)
	}
}

func TestAReaderThatEndsEarlyIsNotAnError(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("write: %w", syscall.EPIPE): true, io.ErrClosedPipe: true, nil: true, io.ErrUnexpectedEOF: false,
	} {
		if got := quietly(err) == nil; got != want {
			t.Errorf("%v is quiet: %v", err, got)
		}
	}
}
