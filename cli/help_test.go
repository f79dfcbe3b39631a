package cli

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// flagLines returns the part of a help that lists flags.
func flagLines(help string) []string {
	_, flags, _ := strings.Cut(help, "Flags:\n")
	return strings.Split(flags, "\n")
}

func TestTheFlagsInTheHelpFitTheTerminalOrOneHundredColumns(t *testing.T) {
	for _, at := range []struct {
		term  terminal
		width int
	}{{terminal{width: 80}, 100}, {terminal{interactive: true, width: 80}, 80}, {terminal{interactive: true, width: 120}, 120}} {
		for _, line := range []string{"run", "run codex", "sandbox create", "netguard explain", "serve"} {
			a, out, _ := testApp(t)
			a.term = at.term
			if err := a.execute(t.Context(), append(strings.Fields(line), "--help")); err != nil {
				t.Fatal(err)
			}
			widest := 0
			for _, printed := range flagLines(out.String()) {
				widest = max(widest, utf8.RuneCountInString(printed))
			}
			if widest > at.width || widest < at.width-20 {
				t.Errorf("aibox %s --help on %+v has flags of %d columns", line, at.term, widest)
			}
		}
	}
}

// The help replaces that of the library.
func TestTheHelpDiffersFromTheLibrarysOnlyInItsLineBreaks(t *testing.T) {
	for _, line := range []string{"", "run", "run codex", "version", "netguard"} {
		a, out, _ := testApp(t)
		a.term = terminal{interactive: true, width: 60}
		if err := a.execute(t.Context(), append(strings.Fields(line), "--help")); err != nil {
			t.Fatal(err)
		}
		other, library, _ := testApp(t)
		root := other.root()
		root.SetOut(library)
		root.SetHelpFunc(nil)
		root.SetArgs(append(strings.Fields(line), "--help"))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Fields(library.String()), strings.Fields(out.String())); diff != "" {
			t.Errorf("aibox %s: %s", line, diff)
		}
	}
}

func TestFlagsOfAgentsAreDescribedLikeThoseOfSettings(t *testing.T) {
	begin := regexp.MustCompile(`(?m)^ +(?:-., )?--[\w-]+(?: ([^a-z ]\S*))? {2,}(?:[^A-Z]|[A-Z]{2})`)
	a, _, _ := testApp(t)
	for _, name := range a.app.Agents().Names() {
		a, out, _ := testApp(t)
		a.term = terminal{interactive: true, width: 10_000}
		if err := a.execute(t.Context(), []string{"run", name, "--help"}); err != nil {
			t.Fatal(err)
		}
		for _, line := range flagLines(out.String()) {
			if strings.Contains(line, " --") && !begin.MatchString(line) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	a, out, _ := testApp(t)
	_ = a.execute(t.Context(), []string{"run", "claude", "--help"})
	for _, want := range []string{"--max-turns NUMBER ", "--effort CHOICE ", "--json-schema TEXT ", "number of model answers", " JSON schema of", "(default bypassPermissions)"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}
