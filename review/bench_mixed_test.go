package review_test

import (
	"os"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/risk"
)

// mixed is a change set with a bit of everything.
func mixed(t *testing.T) (*bench, *review.ChangeSet) {
	t.Helper()
	long := strings.Repeat("a line that stays\n", 30)
	b := newRepository(t, map[string]string{
		"src/a.go": numbered(), "src/deep/b.go": "b\n", "docs/old.md": long, "gone": "gone\n", "run.sh": "#!/bin/sh\n",
		"dir": "a file\n", "bin": "\x00one",
	}).prepare()
	b.write("src/a.go", numbered("b\n", "B\n", "d\n", "D\n", "s\n", "S\n"))
	b.write("src/deep/b.go", "changed\n")
	b.write("src/[x].go", "brackets\n")
	b.write("esc\x1b[31m", "red\n")
	b.write("Makefile", "all:\n")
	must(t, os.Rename(b.path("docs/old.md"), b.path("docs/new.md")))
	b.write("docs/new.md", strings.Replace(long, "stays\n", "goes\n", 1))
	must(t, os.Remove(b.path("gone")))
	must(t, os.Chmod(b.path("run.sh"), 0o755))
	must(t, os.Remove(b.path("dir")))
	b.write("dir/in", "now a folder\n")
	b.write("bin", "\x00two")
	cs := b.compute()
	for i := range cs.Changes {
		cs.Changes[i].Risks = nil
		if cs.Changes[i].Path == "Makefile" {
			cs.Changes[i].Risks = []risk.Risk{{Rule: "make", Title: "a build file"}}
		}
	}
	return b, cs
}

// numbered is a file of twenty lines, with some of them replaced.
func numbered(replace ...string) string {
	lines := []string{}
	for i := range 20 {
		lines = append(lines, string(rune('a'+i))+"\n")
	}
	text := strings.Join(lines, "")
	return strings.NewReplacer(replace...).Replace(text)
}
