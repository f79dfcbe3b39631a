package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"
)

// What the user types after ctrl-c at a question is for what asks next.
func TestAnInterruptedQuestionLeavesTheInputThatFollows(t *testing.T) {
	c, user := consoleOnTerminal(t)
	for name, ask := range map[string]func(context.Context) (bool, error){
		"yes":   func(ctx context.Context) (bool, error) { return c.yes(ctx, "Do it? ") },
		"offer": func(ctx context.Context) (bool, error) { return c.offer(ctx, "Do it?") },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			agreed, err := ask(ctx)
			if agreed {
				t.Errorf("%s: an interrupt is a yes", name)
			}
			ended <- err
		}()
		awaitText(t, user, "Do it?")
		cancel()
		if err := <-ended; fault.KindOf(err) != fault.Interrupted {
			t.Errorf("%s: an interrupted question ends with %v", name, err)
		}
		if _, err := user.WriteString("next\n"); err != nil {
			t.Fatal(err)
		}
		in, err := c.answers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if line, err := in.next(t.Context()); err != nil || line != "next" {
			t.Errorf("%s: the next line is %q, %v", name, line, err)
		}
		in.close()
	}
}

func TestTheReturnKeyMeansYesOnlyToAnOffer(t *testing.T) {
	c, user := consoleOnTerminal(t)
	for _, answer := range []struct {
		line       string
		yes, offer bool
	}{{"", false, true}, {"Y", true, true}, {"yes", true, true}, {"n", false, false}, {"\x04", false, false}} {
		line := answer.line + "\n"
		if answer.line == "\x04" {
			line = answer.line // ctrl-d, the end of the input
		}
		typed := func() {
			if _, err := user.WriteString(line); err != nil {
				t.Fatal(err)
			}
		}
		typed()
		if got, err := c.yes(t.Context(), "Do it? "); err != nil || got != answer.yes {
			t.Errorf("yes with %q is %t, %v", line, got, err)
		}
		typed()
		if got, err := c.offer(t.Context(), "Do it?"); err != nil || got != answer.offer {
			t.Errorf("offer with %q is %t, %v", line, got, err)
		}
	}
}

// awaitText reads what the program prints on its terminal until that contains text.
func awaitText(t *testing.T, user *os.File, text string) {
	t.Helper()
	var seen strings.Builder
	for buffer := make([]byte, 256); !strings.Contains(seen.String(), text); {
		n, err := user.Read(buffer)
		if err != nil {
			t.Fatalf("the terminal shows %q: %v", seen.String(), err)
		}
		seen.Write(buffer[:n])
	}
}
