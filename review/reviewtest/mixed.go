package reviewtest

import (
	"os"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/risk"
)

// Mixed returns a change set with every kind of change.
func Mixed(t *testing.T) (*Fixture, *review.ChangeSet) {
	t.Helper()
	long := strings.Repeat("a line that stays\n", 30)
	b := NewRepository(t, map[string]string{
		"src/a.go": Numbered(), "src/deep/b.go": "b\n", "docs/old.md": long, "gone": "gone\n", "run.sh": "#!/bin/sh\n",
		"dir": "a file\n", "bin": "\x00one",
	}).Prepare()
	b.Write("src/a.go", Numbered("b\n", "B\n", "d\n", "D\n", "s\n", "S\n"))
	b.Write("src/deep/b.go", "changed\n")
	b.Write("src/[x].go", "brackets\n")
	b.Write("esc\x1b[31m", "red\n")
	b.Write("Makefile", "all:\n")
	Must(t, os.Rename(b.Path("docs/old.md"), b.Path("docs/new.md")))
	b.Write("docs/new.md", strings.Replace(long, "stays\n", "goes\n", 1))
	Must(t, os.Remove(b.Path("gone")))
	Must(t, os.Chmod(b.Path("run.sh"), 0o755))
	Must(t, os.Remove(b.Path("dir")))
	b.Write("dir/in", "now a folder\n")
	b.Write("bin", "\x00two")
	cs := b.Compute()
	for i := range cs.Changes {
		cs.Changes[i].Risks = nil
		if cs.Changes[i].Path == "Makefile" {
			cs.Changes[i].Risks = []risk.Risk{{Rule: "make", Title: "a build file"}}
		}
	}
	return b, cs
}

// Numbered returns a file of twenty lines, with some of them replaced.
func Numbered(replace ...string) string {
	lines := []string{}
	for i := range 20 {
		lines = append(lines, string(rune('a'+i))+"\n")
	}
	text := strings.Join(lines, "")
	return strings.NewReplacer(replace...).Replace(text)
}
