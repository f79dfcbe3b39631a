package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"

	"golang.org/x/sys/unix"
)

// asking is a console's output; asked is closed at the first question.
type asking struct {
	bytes.Buffer
	asked chan struct{}
}

func (a *asking) Write(p []byte) (int, error) {
	if a.asked != nil {
		close(a.asked)
		a.asked = nil
	}
	return a.Buffer.Write(p)
}

// echoes reports whether a terminal echoes what is typed.
func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

func TestASecretIsReadFromATerminalWithoutEcho(t *testing.T) {
	master, slave := openTerminal(t)
	for typed, want := range map[string]string{"canary-1\n": "canary-1", "  canary-1 \r\n": "canary-1", "canarx\x7fy-1\n": "canary-1", "\n": "", "\x04": ""} {
		questions := &asking{asked: make(chan struct{})}
		asked := questions.asked
		c := &console{in: slave, err: questions}
		typing := make(chan error, 1)
		go func() {
			<-asked
			if echoes(t, slave) {
				t.Error("the terminal echoes the secret")
			}
			_, err := master.WriteString(typed)
			typing <- err
		}()
		value, err := c.readSecret(t.Context(), "Key: ")
		if typeErr := <-typing; err != nil || typeErr != nil || value.Reveal() != want {
			t.Errorf("%q: %q, %v, %v", typed, value.Reveal(), err, typeErr)
		}
		if !echoes(t, slave) || questions.String() != "Key: \n" {
			t.Errorf("%q: the terminal does not echo again, or it shows %q", typed, questions.String())
		}
	}
}

func TestAnInterruptedQuestionForASecretRestoresTheTerminal(t *testing.T) {
	_, slave := openTerminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	questions := &asking{asked: make(chan struct{})}
	asked := questions.asked
	go func() { <-asked; cancel() }()
	_, err := (&console{in: slave, err: questions}).readSecret(ctx, "Key: ")
	if fault.KindOf(err) != fault.Interrupted || !echoes(t, slave) {
		t.Errorf("%v, and the terminal echoes: %v", err, echoes(t, slave))
	}
}

func TestASecretIsReadFromAPipeThatMayStayOpen(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&console{in: in}).readSecret(ctx, "Key: "); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("the interrupted one ends with %v", err)
	}

	file := t.TempDir() + "/key"
	for text, want := range map[string]string{"canary-1": "canary-1", "canary-1\n": "canary-1", "": "", "a\nb\n": "a\nb", strings.Repeat("x", 9000): strings.Repeat("x", maxSecret+1)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		value, err := (&console{in: in}).readSecret(t.Context(), "Key: ")
		if in.Close() != nil || err != nil || value.Reveal() != want {
			t.Errorf("%.20q: %.20q, %v", text, value.Reveal(), err)
		}
	}
}
