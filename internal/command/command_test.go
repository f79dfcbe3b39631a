package command

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestAProgramGetsItsArgumentsUntouchedAndNoForeignEnvironment(t *testing.T) {
	t.Setenv("AIBOX_CANARY", "leaked")
	out, err := Cmd{Name: "sh", Args: []string{"-c", `printf '%s|' "$@"; env`, "sh", "a b", "$HOME", ";id"}}.Output(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(out); !strings.HasPrefix(text, "a b|$HOME|;id|") || strings.Contains(text, "leaked") {
		t.Fatalf("got %q", text)
	}
}

func TestAFailureTellsTheCodeAndTheEndOfStderr(t *testing.T) {
	err := Cmd{Name: "sh", Args: []string{"-c", "yes x | head -c 10000 >&2; echo the end >&2; exit 7"}}.Run(t.Context())
	failure, ok := errors.AsType[*Error](err)
	if !ok || failure.Code != 7 || !strings.HasSuffix(failure.Stderr, "the end\n") || len(failure.Stderr) > stderrLimit {
		t.Fatalf("got %v", err)
	}
}

func TestACancelledProgramEndsAndSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Cmd{Name: "sleep", Args: []string{"60"}}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestAMissingProgramIsAnError(t *testing.T) {
	err := Cmd{Name: "no-such-program-anywhere"}.Run(t.Context())
	if failure, ok := errors.AsType[*Error](err); !ok || failure.Code != -1 {
		t.Fatalf("got %v", err)
	}
}
