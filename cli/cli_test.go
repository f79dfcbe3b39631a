package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"aibox/internal/fault"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func testApp(t *testing.T) (a *cli, out, errOut *bytes.Buffer) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	return testAppAt(t)
}

// testAppAt is testApp in the home folder that the test has set.
func testAppAt(t *testing.T) (a *cli, out, errOut *bytes.Buffer) {
	t.Helper()
	out, errOut = new(bytes.Buffer), new(bytes.Buffer)
	return newCLI(&console{in: noInput(t), out: out, err: errOut, term: terminal{width: 80}, errTerm: terminal{width: 80}}), out, errOut
}

func TestAWrongCommandLineIsAUsageFault(t *testing.T) {
	for _, line := range []string{
		"", "nonsense", "run --nonsense", "run codex extra words", "ls extra", "diff", "diff a b", "accept", "stop",
		"run --network everything", "run --timeout soon", "diff --stat --json x", "bake", "bake --all codex", "agents show nobody", "netguard nonsense",
		"help nonsense", "help run codex nonsense", "run --agent codex shell --repo /no/such/folder -- ls", "run --agent=codex gemini --repo /no/such/folder --prompt go",
	} {
		a, _, _ := testApp(t)
		err := a.execute(t.Context(), strings.Fields(line))
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%q gave %v (%v)", line, err, fault.KindOf(err))
		}
	}
}

func TestWithoutAHomeTheEnvironmentIsNotReady(t *testing.T) {
	for _, home := range []string{"", "relative"} {
		a, _, _ := testApp(t)
		t.Setenv("HOME", home)
		if err := a.execute(t.Context(), []string{"ls"}); fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "HOME") {
			t.Errorf("%q: %v", home, err)
		}
	}
}

func TestAnInterruptedCommandSaysSo(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	detached := fault.New(fault.Interrupted, "detached: %w", context.Canceled)
	canceled := fmt.Errorf("following: %w", context.Canceled)
	if err := interrupted(ended, canceled); err.Error() != "interrupted" || fault.KindOf(err) != fault.Interrupted {
		t.Errorf("it says %q", err)
	}
	if err := interrupted(ended, detached); err != error(detached) { //nolint:errorlint // the same one
		t.Errorf("a fault of its own becomes %q", err)
	}
	if err := interrupted(t.Context(), canceled); err != canceled { //nolint:errorlint // the same one
		t.Errorf("without an interrupt it says %q", err)
	}
	if interrupted(ended, nil) != nil {
		t.Error("a success is an interrupt")
	}
}

func TestTwoDifferentAgentsContradictEachOther(t *testing.T) {
	a, _, _ := testApp(t)
	err := a.execute(t.Context(), strings.Fields("run --agent codex shell --repo /no/such/folder -- ls"))
	if want := `two agents were given: --agent codex and "shell"`; err == nil || err.Error() != want || len(fault.Hints(err)) == 0 {
		t.Errorf("got %v, %q", err, fault.Hints(err))
	}
}

func TestTheVersionFlagPrintsTheVersion(t *testing.T) {
	a, out, _ := testApp(t)
	if err := a.execute(t.Context(), []string{"--version"}); err != nil || out.String() != "aibox "+version()+"\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}

func TestEveryCommandIsFoundByEachOfItsNames(t *testing.T) {
	for _, entry := range commandEntries() {
		for _, name := range strings.Fields(entry.names) {
			a, _, _ := testApp(t)
			a.words = []string{name}
			made := a.commands()
			if len(made) != 1 || strings.Join(append([]string{made[0].Name()}, made[0].Aliases...), " ") != entry.names {
				t.Errorf("%q makes %d commands, the first is %q with the aliases %q", name, len(made), made[0].Name(), made[0].Aliases)
			}
		}
	}
}

func TestHelpShowsACommandsHelp(t *testing.T) {
	for line, want := range map[string]string{"help": "Usage:\n  aibox", "help netguard log": "Usage:\n  aibox netguard log", "help run codex": "Usage:\n  aibox run codex"} {
		a, out, _ := testApp(t)
		if err := a.execute(t.Context(), strings.Fields(line)); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s prints %v\n%s", line, err, out.String())
		}
	}
}

func TestAFlagWithAWrongValueSaysWhatItTakes(t *testing.T) {
	for line, want := range map[string]string{
		"run --pids -1":       `--pids must be a whole number, 0 or more, not "-1"`,
		"run --timeout soon":  `--timeout must be a duration such as 90s, 30m, 2h or 1d, not "soon"`,
		"diff --unified many": `--unified must be a whole number, not "many"`,
		"run --clean=perhaps": `--clean must be true or false, not "perhaps"`,
		"run --cpus 0.001":    `--cpus must be auto or a number such as 2 or 1.5, 0 or more and with at most two decimals, not "0.001"`,

		"token quota ci --memory x":            `--memory must be a size such as 512MiB or 4GiB, not "x"`,
		"token quota ci --cpus x":              `--cpus must be a number such as 2 or 1.5, not "x"`,
		"serve --listen 127.0.0.1:99999":       `--listen takes ADDRESS:PORT, not "127.0.0.1:99999"`,
		"run codex --prompt-file /no/such":     "the prompt cannot be read from /no/such: no such file or directory",
		"run codex --prompt-file /":            "the prompt cannot be read from /: is a directory",
		"diff":                                 "aibox diff needs a session id",
		"attach":                               "aibox attach needs a session id",
		"attach a b":                           "aibox attach takes one session id, not 2",
		"completion tcsh":                      `unknown command "tcsh" for "aibox completion"`,
		"run codex --prompt x --allow http://": `--allow: "http://" has no host`,
		"accept 0dq4f --hunks=":                "--hunks has an empty value",
		"accept 0dq4f --hunks 3f9c21,":         "--hunks has an empty value",
		"diff 0dq4f --hunk= --patch":           "--hunk has an empty value",
		"audit --kind=":                        "--kind has an empty value",
	} {
		a, _, _ := testApp(t)
		if err := a.execute(t.Context(), strings.Fields(line)); err == nil || err.Error() != want || fault.KindOf(err) != fault.Usage {
			t.Errorf("%q gave %v, want %s", line, err, want)
		}
	}
}

func TestAnErrorIsPrintedWithItsHintsAndWithoutControlSequences(t *testing.T) {
	a, _, errOut := testApp(t)
	a.report(fault.New(fault.Refused, "no \x1b]52;c;aGk=\x07 way").Hint("try `x`").Hint("or y"))
	want := "aibox: no "
	if text := errOut.String(); !strings.HasPrefix(text, want) || strings.ContainsRune(text, '\x1b') ||
		!strings.HasSuffix(text, "  → try `x`\n  → or y\n") {
		t.Errorf("printed %q", text)
	}
}

func TestEveryCommandHasHelpWithWhatItDoes(t *testing.T) {
	a, _, _ := testApp(t)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Short == "" {
			t.Errorf("%s says nothing of itself", c.CommandPath())
		}
		if c.Parent() == c.Root() && !c.Hidden && c.Example == "" && c.Name() != "completion" && c.Name() != "help" {
			t.Errorf("%s has no example", c.CommandPath())
		}
	}
	visit(a.root())
}

func TestAnAgentsOptionNeverHidesACommonFlag(t *testing.T) {
	a, _, _ := testApp(t)
	run, _, err := a.root().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range run.Commands() {
		agent.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if run.PersistentFlags().Lookup(f.Name) != nil {
				t.Errorf("%s takes --%s for itself", agent.CommandPath(), f.Name)
			}
		})
	}
}

func TestNoSessionsIsAnEmptyListAndNotAnError(t *testing.T) {
	a, out, errOut := testApp(t)
	if err := a.execute(t.Context(), []string{"ls", "--json"}); err != nil || strings.TrimSpace(out.String()) != "[]" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	if err := a.execute(t.Context(), []string{"ls"}); err != nil || !strings.Contains(errOut.String(), "no sessions") {
		t.Errorf("printed %q, %v", errOut.String(), err)
	}
}

func TestAnUnknownSessionIsNamedInTheError(t *testing.T) {
	a, _, _ := testApp(t)
	err := a.execute(t.Context(), []string{"diff", "zzzzz"})
	var f *fault.Fault
	if !errors.As(err, &f) || !strings.Contains(f.Message, `"zzzzz"`) || f.Kind != fault.Usage {
		t.Errorf("got %v", err)
	}
}

func TestAWrongNumberOfArgumentsNamesThem(t *testing.T) {
	for line, want := range map[string]string{
		"config set timeout": "aibox config set takes KEY VALUE, and got 1 argument",
		"comment":            "aibox comment takes ID [FILE[:LINE] | .] [TEXT], and got 0 arguments",
		"token revoke":       "aibox token revoke takes ID…, and got 0 arguments",
		"ls price":           `aibox ls takes no arguments, and got "price"`,
		"netguard status a":  `aibox netguard status takes no arguments, and got "a"`,
	} {
		a, _, _ := testApp(t)
		err := a.execute(t.Context(), strings.Fields(line))
		if fault.KindOf(err) != fault.Usage || err.Error() != want {
			t.Errorf("%q gave %v, want %q", line, err, want)
		}
	}
}
