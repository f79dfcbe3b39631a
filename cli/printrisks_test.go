package cli

import (
	"fmt"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/risk"
)

func TestRisksNameTheFileAndWhatWouldRunWhenAndByWhat(t *testing.T) {
	hook := risk.Risk{Rule: "direnv", Title: "an environment", Runs: "the file itself", When: "on cd into the folder", By: "direnv", Found: "curl x", Line: 3}
	note := risk.Risk{Rule: "git-ignore", Title: "ignore rules", Severity: risk.Note}
	set := &review.ChangeSet{Changes: []review.Change{
		{Path: "main.go"},
		{Path: ".env\x1brc", Risks: []risk.Risk{hook, hook, hook, hook, hook, note}},
		{Path: ".gitignore", Risks: []risk.Risk{note}},
	}}
	var out strings.Builder
	printRisks(&out, terminal{width: 200}, set)
	want := `! 1 file is left out of a plain accept because of its risks:
  .env\x1brc
    an environment, line 3: runs the file itself, on cd into the folder, by direnv (curl x)
    an environment, line 3: runs the file itself, on cd into the folder, by direnv (curl x)
    an environment, line 3: runs the file itself, on cd into the folder, by direnv (curl x)
    and 2 more
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}

	for i := range 40 {
		set.Changes = append(set.Changes, review.Change{Path: review.Path(fmt.Sprint(i)), Risks: []risk.Risk{hook}})
	}
	out.Reset()
	printRisks(&out, terminal{width: 60}, set)
	if !strings.Contains(out.String(), "and 29 files more") {
		t.Errorf("a long list is not cut:\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 100 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}

	out.Reset()
	printRisks(&out, terminal{}, &review.ChangeSet{Changes: []review.Change{{Path: "main.go"}, {Path: ".gitignore", Risks: []risk.Risk{note}}}})
	if out.String() != "" {
		t.Errorf("without risks it printed %s", out.String())
	}
}
