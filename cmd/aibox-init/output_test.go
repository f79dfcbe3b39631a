package main

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// pipedOutput returns the output of a pipe, and its writer.
func pipedOutput(t *testing.T) (*output, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out := &output{pipe: true, file: r}
	t.Cleanup(func() { _, _ = out.Close(), w.Close() })
	return out, w
}

func readText(t *testing.T, out *output) string {
	t.Helper()
	buf := make([]byte, 100)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestOutputIsReadWhetherItsPipeIsWatchedOrNot(t *testing.T) {
	out, w := pipedOutput(t)
	for _, text := range []string{"watched", "not watched", "again"} {
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if got := readText(t, out); got != text {
			t.Errorf("%q, not %q", got, text)
		}
		out.unwatch()
		if out.file != nil {
			t.Fatal("the pipe is still watched")
		}
	}
	read := make(chan string)
	go func() { read <- readText(t, out) }() // waits, and so watches the pipe again
	if _, err := w.WriteString("later"); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "later" {
		t.Errorf("%q", got)
	}
	out.unwatch()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

func TestTheDeadlineOfAPipeThatIsNotWatchedHolds(t *testing.T) {
	out, _ := pipedOutput(t)
	out.unwatch()
	if err := out.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 10)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestAClosedOutputIsNotRead(t *testing.T) {
	for _, watched := range []bool{true, false} {
		out, w := pipedOutput(t)
		if _, err := w.WriteString("lost"); err != nil {
			t.Fatal(err)
		}
		if !watched {
			out.unwatch()
		}
		if err := out.Close(); err != nil {
			t.Error(err)
		}
		if _, err := out.Read(make([]byte, 10)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("watched %v: %v", watched, err)
		}
		if _, err := w.WriteString("more"); err == nil {
			t.Errorf("watched %v: the pipe is still open", watched)
		}
	}
}
