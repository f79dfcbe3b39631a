package cli

import (
	"errors"
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"
)

// A reader that is not nil costs another connection to the session for each command.
func TestACommandHasNoInputWithoutTheFlag(t *testing.T) {
	o := &execOptions{cli: newCLI(newConsole(os.Stdin, os.Stdout, os.Stderr))}
	if in := o.input(); in != nil {
		t.Errorf("its input is %v", in)
	}
	o.stdin = true
	if o.input() != os.Stdin {
		t.Error("-i passes nothing on")
	}
}

func TestOnlyTheExitCodeOfAProgramThatRanIsShown(t *testing.T) {
	for _, c := range []struct {
		shown exitShown
		err   error
		want  string
	}{
		{true, &processExit{code: 3}, "exit code 3"},
		{true, &processExit{127, errors.New("there is no such program")}, ""},
		{true, fault.New(fault.Usage, "0a has ended"), ""},
		{true, nil, ""},
		{false, &processExit{code: 3}, ""},
	} {
		a, _, errOut := testApp(t)
		if err := c.shown.print(a.console, c.err); !errors.Is(err, c.err) {
			t.Errorf("%v became %v", c.err, err)
		}
		if got := errOut.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v: it shows %q", c.err, got)
		}
	}
}

func TestOnlyTheListOfProcessesIsJSON(t *testing.T) {
	a, _, _ := testApp(t)
	err := a.execute(t.Context(), []string{"exec", "--json", "0dq4f", "--", "ls"})
	if err == nil || fault.KindOf(err) != fault.Usage || err.Error() != "--json needs --list" {
		t.Errorf("with a command: %v", err)
	}
	err = a.execute(t.Context(), []string{"exec", "--json", "--list", "0dq4f"})
	if err == nil || err.Error() != `no session "0dq4f"` {
		t.Errorf("with the list: %v", err)
	}
}
