package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/output"
	"aibox/session/sessiontest"
	"aibox/session/terminal"
)

// ofPast holds sessions with a scrollback, and the folder of one.
func ofPast(t *testing.T) (*Client, session.ID, string) {
	t.Helper()
	sessions := New(sessiontest.Store(t))
	id, err := sessions.store.Create("shell", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return sessions, id, sessions.store.Dir(id)
}

// readPast returns the scrollback from an offset on.
func readPast(t *testing.T, p *output.Scrollback, from int64) string {
	t.Helper()
	var text strings.Builder
	err := p.Output(from, func(c output.Chunk) error {
		if c.Offset != from+int64(text.Len()) || c.Stream != output.Stdout {
			t.Errorf("%d bytes of stream %d stand at %d, not behind what was before", len(c.Data), c.Stream, c.Offset)
		}
		text.Write(c.Data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestScrollbackHoldsScrolledLinesAndTheScreen(t *testing.T) {
	sessions, id, dir := ofPast(t)
	if _, err := sessions.Scrollback(t.Context(), id); !errors.Is(err, session.ErrNoScreen) {
		t.Errorf("of a session without a screen: %v", err)
	}
	writer := output.NewScrollbackWriter(dir)
	term := terminal.New(screen.Size{Rows: 2, Cols: 10}, writer.Append)
	term.Feed([]byte("1\r\n"), nil)
	if _, err := os.Stat(filepath.Join(dir, "scrolled.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing has scrolled off, and there is a file: %v", err)
	}
	for _, line := range []string{"2\r\n", "3\r\n4\r\n", "5"} {
		term.Feed([]byte(line), nil)
	}
	if err := os.WriteFile(filepath.Join(dir, "screen.txt"), term.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := sessions.Scrollback(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	writer.Append([]byte("later\n"))
	writer.Close()
	want := "1\n2\n3\n4\n5\n"
	if size, _ := p.Size(); size != int64(len(want)) {
		t.Errorf("%d bytes, not %d", size, len(want))
	}
	for from := range len(want) + 1 {
		if got := readPast(t, p, int64(from)); got != want[from:] {
			t.Errorf("from %d: %q, not %q", from, got, want[from:])
		}
	}
	enough := errors.New("enough")
	if err := p.Follow(t.Context(), 0, func(output.Chunk) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("who has seen enough gets %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "scrolled.txt")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info, err)
	}
}

func TestScrollbackSurvivesADeadSupervisor(t *testing.T) {
	sessions, id, dir := ofPast(t)
	writer := output.NewScrollbackWriter(dir)
	writer.Append([]byte(strings.Repeat("a line\n", 30_000)))
	writer.Close()
	p, err := sessions.Scrollback(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got := readPast(t, p, 7); len(got) != 7*29_999 || !strings.HasPrefix(got, "a line\na") {
		t.Errorf("%d bytes", len(got))
	}
}
