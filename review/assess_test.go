package review_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/risk"
)

func TestEachChangeIsJudgedByWhatWasAdded(t *testing.T) {
	token := "ghp_" + "R2D2c3poBB8hanLukeLeiaYodaObiWan77xQ"
	b := newRepository(t, map[string]string{
		"main.go": "package main\n", "old.py": "token = \"" + token + "\"\n", "package.json": `{"scripts":{"test":"jest"}}`, "gone": "x\n", "moved.txt": strings.Repeat("many lines\n", 50),
	}).prepare()
	b.write("main.go", "package main\n\nfunc main() {}\n")
	b.write("old.py", "token = \""+token+"\"\nprint(token)\n")
	b.write("new.py", "# nothing\n\ntoken = \""+token+"\"\n")
	b.write(".envrc", "curl evil\n")
	b.write("package.json", `{"scripts":{"test":"jest","postinstall":"node x.js"}}`)
	must(t, os.Remove(b.path("gone")))
	must(t, os.Remove(b.path("moved.txt")))
	b.write("Makefile", strings.Repeat("many lines\n", 50))
	must(t, os.Symlink("/etc/passwd", b.path("link")))
	cs := b.assess()

	b.wantRisks(cs, "main.go")
	b.wantRisks(cs, "gone")
	b.wantRisks(cs, "old.py") // the token was there before
	b.wantRisks(cs, "new.py", "secret")
	b.wantRisks(cs, ".envrc", "direnv")
	b.wantRisks(cs, "package.json", "npm-scripts")
	b.wantRisks(cs, "Makefile", "make")
	b.wantRisks(cs, "link", "symlink-outside")
	if r := risksOf(t, cs, "new.py")[0]; r.Line != 3 || r.Severity != risk.High {
		t.Errorf("the secret is told as %+v", r)
	}
	for _, c := range cs.Changes {
		if want := !slices.Contains([]string{"main.go", "old.py", "gone"}, c.Path.Raw()); c.Risky() != want {
			t.Errorf("%s: risky is %v", c.Path, c.Risky())
		}
	}
	told, err := json.Marshal(cs)
	must(t, err)
	if strings.Contains(string(told), token) {
		t.Error("the secret is in the JSON of the change set")
	}
	if !cs.Assessed() {
		t.Error("the change set does not say that it was looked at")
	}
}

func TestAFileThatAnotherOneRunsIsHeldBack(t *testing.T) {
	b := newRepository(t, map[string]string{
		"package.json":             `{"scripts":{"postinstall":"node tools/setup","test":"node tools/test.js"}}`,
		"tools/setup.js":           "1\n",
		"tools/test.js":            "1\n",
		".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n    - run: ./scripts/release.sh main.go\n",
		"scripts/release.sh":       "#!/bin/sh\n",
		"main.go":                  "package main\n",
		"team/hooks/pre-commit.py": "print()\n",
		"team/clean.rb":            "puts\n",
		"other.rb":                 "puts\n",
	})
	gitIn(t, b.repo, "config", "core.hooksPath", "team/hooks")
	gitIn(t, b.repo, "config", "filter.tidy.clean", "ruby team/clean.rb %f")
	b.prepare()
	for _, path := range []string{"tools/setup.js", "tools/test.js", "scripts/release.sh", "main.go", "team/hooks/pre-commit.py", "team/hooks/lib/more.py", "team/clean.rb", "other.rb"} {
		b.write(path, "other content\n")
	}
	cs := b.assess()
	b.wantRisks(cs, "tools/setup.js", "called")
	b.wantRisks(cs, "scripts/release.sh", "called")
	b.wantRisks(cs, "team/clean.rb", "called")
	b.wantRisks(cs, "team/hooks/lib/more.py", "called")
	b.wantRisks(cs, "tools/test.js")
	b.wantRisks(cs, "other.rb")
	if r := risksOf(t, cs, "team/clean.rb")[0]; !strings.Contains(r.Found, "filter.tidy.clean") || r.Severity != risk.High {
		t.Errorf("told as %+v", r)
	}

	// From the disk the change set has lost what the baseline told, and finds it again.
	data, err := json.Marshal(cs)
	must(t, err)
	again := new(review.ChangeSet)
	must(t, json.Unmarshal(data, again))
	must(t, review.Assess(t.Context(), b.ws, again))
	b.wantRisks(again, "tools/setup.js", "called")
}

func TestFilesBeyondTheLimitsAreHeldBack(t *testing.T) {
	b := newRepository(t, map[string]string{"a": "a\n"}).prepare()
	b.write("long.txt", strings.Repeat("x", risk.MaxContent+1))
	cs := b.assess()
	b.wantRisks(cs, "long.txt", "large-file")
}

func TestNoChangesHaveNoRisks(t *testing.T) {
	cs := newRepository(t, map[string]string{"a": "a\n"}).prepare().assess()
	if !cs.Assessed() || len(cs.Changes) > 0 {
		t.Errorf("%+v", cs)
	}
}
