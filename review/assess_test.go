package review_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"aibox/review"
	"aibox/review/decision"
	"aibox/review/reviewtest"
	"aibox/review/risk"
	"aibox/workspace"
)

func TestEachChangeIsJudgedByItsAddedLines(t *testing.T) {
	token := "ghp_" + "R2D2c3poBB8hanLukeLeiaYodaObiWan77xQ"
	b := reviewtest.NewRepository(t, map[string]string{
		"main.go": "package main\n", "old.py": "token = \"" + token + "\"\n", "package.json": `{"scripts":{"test":"jest"}}`, "gone": "x\n", "moved.txt": strings.Repeat("many lines\n", 50),
	}).Prepare()
	b.Write("main.go", "package main\n\nfunc main() {}\n")
	b.Write("old.py", "token = \""+token+"\"\nprint(token)\n")
	b.Write("new.py", "# nothing\n\ntoken = \""+token+"\"\n")
	b.Write(".envrc", "curl evil\n")
	b.Write("package.json", `{"scripts":{"test":"jest","postinstall":"node x.js"}}`)
	reviewtest.Must(t, os.Remove(b.Path("gone")))
	reviewtest.Must(t, os.Remove(b.Path("moved.txt")))
	b.Write("Makefile", strings.Repeat("many lines\n", 50))
	reviewtest.Must(t, os.Symlink("/etc/passwd", b.Path("link")))
	cs := b.Assess()

	b.WantRisks(cs, "main.go")
	b.WantRisks(cs, "gone")
	b.WantRisks(cs, "old.py") // the token was there before
	b.WantRisks(cs, "new.py", "secret")
	b.WantRisks(cs, ".envrc", "direnv")
	b.WantRisks(cs, "package.json", "npm-scripts")
	b.WantRisks(cs, "Makefile", "make")
	b.WantRisks(cs, "link", "symlink-outside")
	if r := reviewtest.RisksOf(t, cs, "new.py")[0]; r.Line != 3 || r.Severity != risk.High {
		t.Errorf("the secret is reported as %+v", r)
	}
	for _, c := range cs.Changes {
		if want := !slices.Contains([]string{"main.go", "old.py", "gone"}, c.Path.Raw()); c.Risky() != want {
			t.Errorf("%s: risky is %v", c.Path, c.Risky())
		}
	}
	encoded, err := json.Marshal(cs)
	reviewtest.Must(t, err)
	if strings.Contains(string(encoded), token) {
		t.Error("the secret is in the JSON of the change set")
	}
	if !cs.Assessed() {
		t.Error("the change set does not say that it was looked at")
	}
}

func TestAFileThatARiskyFileRunsIsHeldBack(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{
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
	reviewtest.GitIn(t, b.Repo, "config", "core.hooksPath", "team/hooks")
	reviewtest.GitIn(t, b.Repo, "config", "filter.tidy.clean", "ruby team/clean.rb %f")
	b.Prepare()
	for _, path := range []string{"tools/setup.js", "tools/test.js", "scripts/release.sh", "main.go", "team/hooks/pre-commit.py", "team/hooks/lib/more.py", "team/clean.rb", "other.rb"} {
		b.Write(path, "other content\n")
	}
	cs := b.Assess()
	b.WantRisks(cs, "tools/setup.js", "called")
	b.WantRisks(cs, "scripts/release.sh", "called")
	b.WantRisks(cs, "team/clean.rb", "called")
	b.WantRisks(cs, "team/hooks/lib/more.py", "called")
	b.WantRisks(cs, "tools/test.js")
	b.WantRisks(cs, "other.rb")
	if r := reviewtest.RisksOf(t, cs, "team/clean.rb")[0]; !strings.Contains(r.Found, "filter.tidy.clean") || r.Severity != risk.High {
		t.Errorf("reported as %+v", r)
	}

	// A change set read from disk lacks the callers in the baseline, and finds them again.
	data, err := json.Marshal(cs)
	reviewtest.Must(t, err)
	again := new(review.ChangeSet)
	reviewtest.Must(t, json.Unmarshal(data, again))
	reviewtest.Must(t, review.Assess(t.Context(), b.Workspace, again))
	b.WantRisks(again, "tools/setup.js", "called")
}

// TestAPartOfARenameChangesNoRiskyFile leaves renames out but not what else was changed.
func TestAPartOfARenameChangesNoRiskyFile(t *testing.T) {
	names := map[string]string{"Makefile": "make", "scripts/check.sh": "called", ".husky/pre-commit": "hook-manager", "bin/run": "called"}
	files := map[string]string{"main.go": "package main\n"}
	for name := range names {
		files[name] = name + "\n" + reviewtest.Numbered()
	}
	b := reviewtest.NewRepository(t, files)
	reviewtest.Write(t, b.InRepo(".git/hooks/pre-commit"), "scripts/check.sh\nbin/run\n")
	reviewtest.Must(t, os.Chmod(b.InRepo("bin/run"), 0o755))
	reviewtest.GitIn(t, b.Repo, "commit", "-qam", "executable")
	b.Prepare()
	moved := func(name string) string {
		return "docs/moved-" + strings.Trim(strings.ReplaceAll(name, "/", "-"), ".") + ".txt"
	}
	for name := range names {
		reviewtest.Must(t, os.Remove(b.Path(name)))
		b.Write(moved(name), files[name]+"echo evil\n")
	}
	b.Write("main.go", "package main\n\n")
	cs := b.Assess()
	choice := review.Choice{All: true}
	for name, rule := range names {
		path := moved(name)
		if risks := reviewtest.RisksOf(t, cs, path); !slices.ContainsFunc(risks, func(r risk.Risk) bool { return r.Rule == rule && r.Holds() }) {
			t.Errorf("%s: %+v", path, risks)
		}
		for _, h := range b.Hunks(cs, path) {
			if h.Kind != review.HunkText {
				choice.Except = append(choice.Except, string(h.ID))
			}
		}
	}
	s, err := cs.Select(t.Context(), choice)
	reviewtest.Must(t, err)
	if len(s.Taken) != 1 || s.Taken[0].Path != "main.go" || len(choice.Except) < len(names) {
		t.Errorf("taken: %+v, without %v", s.Taken, choice.Except)
	}
}

// TestAPartThatHasARiskOfItsOwnIsHeldBack leaves out what takes the risk away again.
func TestAPartThatHasARiskOfItsOwnIsHeldBack(t *testing.T) {
	const was, is = "{\n  \"name\": \"x\",\n  \"scripts\": {\"postinstall\": \"node x.js\"},\n  \"main\": \"x\"\n}\n", "{\n  \"name\": \"x\",\n  \"main\": \"x\"\n}\n"
	same := strings.Repeat("\n", 400)
	b := reviewtest.NewRepository(t, map[string]string{"fixtures/x.json": same + was, "long.txt": strings.Repeat("a\n", 18) + "y\nz\n", "plain.txt": reviewtest.Numbered()}).Prepare()
	reviewtest.Must(t, os.Remove(b.Path("fixtures/x.json")))
	b.Write("packages/x/package.json", same+is)
	b.Write("long.txt", strings.Repeat("a\n", 18)+"# vim: foldexpr=x\ny\nz\n"+strings.Repeat("b\n", 9))
	b.Write("plain.txt", reviewtest.Numbered("b\n", "X\n", "s\n", "Z\n"))
	cs := b.Assess()
	var choice review.Choice
	for _, name := range []string{"packages/x/package.json", "long.txt", "plain.txt"} {
		b.WantRisks(cs, name)
		hunks := b.Hunks(cs, name)
		if len(hunks) == 1 {
			hunks = hunks[0].Split()
		}
		choice.Hunks = append(choice.Hunks, string(hunks[0].ID)) // the rename, the modeline
	}
	s, err := cs.Select(t.Context(), choice)
	reviewtest.Must(t, err)
	if len(s.Taken) != 1 || s.Taken[0].Path != "plain.txt" || len(s.Left) != 2 || s.Left[0].Risks[0].Rule != "vim-modeline" || s.Left[1].Risks[0].Rule != "npm-scripts" {
		t.Errorf("taken is %+v, left %+v", s.Taken, s.Left)
	}
	if len(s.Left[0].Hunks) != 1 || s.Left[0].Hunks[0] != choice.Hunks[1] {
		t.Errorf("the part that is left out is %q, want %q", s.Left[0].Hunks, choice.Hunks[1])
	}
	scope, err := decision.NewScope(t.Context(), cs, nil, choice.Hunks)
	reviewtest.Must(t, err)
	if n := len(scope.Set().Changes); n != 3 {
		t.Errorf("%d of the 3 parts are in the scope to look at", n)
	}
	choice.Risky = []string{"long.txt", "packages/x/package.json"}
	if s, err = cs.Select(t.Context(), choice); err != nil || len(s.Taken) != 3 {
		t.Errorf("with consent, taken is %+v, %v", s, err)
	}
	choice.Risky, choice.RiskyParts = nil, choice.Risky
	if s, err = cs.Select(t.Context(), choice); err != nil || len(s.Taken) != 3 {
		t.Errorf("with consent to the parts, taken is %+v, %v", s, err)
	}
	if s, err = cs.Select(t.Context(), review.Choice{All: true}); err != nil || len(s.Left) != 0 {
		t.Errorf("of all, left is %+v, %v", s, err)
	}
}

// TestASymlinkOnTheWayOfASymlinkIsJudged has a link to a folder below one that becomes a link to another,
// and a link to a file of which a part has a risk by that name.
func TestASymlinkOnTheWayOfASymlinkIsJudged(t *testing.T) {
	const was = "{\n  \"name\": \"x\",\n  \"main\": \"x\",\n  \"a\": 1\n}\n"
	b := reviewtest.NewRepository(t, map[string]string{"conf/vscode/a.txt": "1\n", "conf/x.json": was, "other/vscode/a.txt": "1\n", "p/x.json": was})
	reviewtest.Must(t, os.Symlink("conf/vscode", b.InRepo(".vscode")))
	reviewtest.Must(t, os.Symlink("p/x.json", b.InRepo("package.json")))
	b.Commit(nil)
	b.Prepare()
	reviewtest.Must(t, os.RemoveAll(b.Path("conf")))
	reviewtest.Must(t, os.Symlink("other", b.Path("conf")))
	b.Write("p/x.json", "{\n  \"scripts\": {\"postinstall\": \"node x.js\"},\n  \"name\": \"x\",\n  \"main\": \"x\",\n  \"a\": 2\n}\n")
	cs := b.Assess()
	b.WantRisks(cs, "conf", "symlink-for-folder")
	i := slices.IndexFunc(cs.Changes, func(c review.Change) bool { return c.Path == "p/x.json" })
	b.WantRisks(cs, "p/x.json", "npm-scripts", "npm-scripts")
	cs.Changes[i].Risks = nil // as if only a part had them
	s, err := cs.Select(t.Context(), review.Choice{Hunks: []string{string(b.Hunks(cs, "p/x.json")[0].Split()[0].ID)}})
	reviewtest.Must(t, err)
	if len(s.Left) != 1 || s.Left[0].Risks[0].Rule != "npm-scripts" {
		t.Errorf("left is %+v", s.Left)
	}
}

// TestAPartIsJudgedWithWhatWasTakenBefore takes away two lines above a modeline, one after the other.
// Both together bring it in reach, and what the agent adds takes it out again.
func TestAPartIsJudgedWithWhatWasTakenBefore(t *testing.T) {
	const rest = "# vim: foldexpr=x\n"
	tail := strings.Repeat("b\n", 40)
	b := reviewtest.NewRepository(t, map[string]string{"long.txt": "1\n2\n3\n4\n5\n6\n" + rest + tail}).Prepare()
	b.Write("long.txt", "2\n3\n5\n6\n7\n8\n9\n"+rest+tail)
	cs := b.Assess()
	b.WantRisks(cs, "long.txt")
	var parts []review.Choice
	for _, hunk := range b.Hunks(cs, "long.txt")[0].Split() {
		parts = append(parts, review.Choice{Hunks: []string{string(hunk.ID)}})
	}
	if len(parts) != 3 {
		t.Fatalf("there are %d parts, want 3", len(parts))
	}
	first, err := cs.Select(t.Context(), parts[0])
	reviewtest.Must(t, err)
	if len(first.Left) != 0 {
		t.Errorf("the first part alone is left out: %+v", first.Left)
	}
	alone, err := cs.Select(t.Context(), parts[1])
	reviewtest.Must(t, err)
	after, err := cs.SelectAfter(t.Context(), parts[1], first)
	reviewtest.Must(t, err)
	if len(alone.Left) != 0 || len(after.Left) != 1 || after.Left[0].Risks[0].Rule != "vim-modeline" {
		t.Errorf("left is %+v alone, %+v after the first", alone.Left, after.Left)
	}
	all, err := cs.SelectAfter(t.Context(), review.Choice{Hunks: slices.Concat(parts[1].Hunks, parts[2].Hunks)}, first)
	if err != nil || len(all.Left) != 0 {
		t.Errorf("of all parts, left is %+v, %v", all, err)
	}
}

// TestARiskThatWasAcceptedBeforeIsNotReportedAgain has two modelines, each with lines that take it out of
// reach again.
func TestARiskThatWasAcceptedBeforeIsNotReportedAgain(t *testing.T) {
	middle := strings.Repeat("a\n", 20)
	b := reviewtest.NewRepository(t, map[string]string{"long.txt": "1\n2\n3\n4\n" + middle + "m\n" + middle + "5\n6\n7\n8\n"}).Prepare()
	b.Write("long.txt", "# vim: foldexpr=x\n1\n2\n3\nb\nb\nb\n4\n"+middle+"M\n"+middle+"5\nb\nb\n6\n7\n# vim: foldexpr=y\n8\n")
	cs := b.Assess()
	cs.Changes[0].Risks = nil // as if only a part had them
	var first, harmless, second review.Choice
	for _, hunk := range b.Hunks(cs, "long.txt") {
		for _, part := range hunk.Split() {
			text := ""
			for _, line := range part.Lines {
				text += string(line.Text)
			}
			switch id := string(part.ID); {
			case strings.Contains(text, "=x"):
				first.Hunks = append(first.Hunks, id)
			case strings.Contains(text, "=y"):
				second.Hunks = append(second.Hunks, id)
			case strings.Contains(text, "M"):
				harmless.Hunks = append(harmless.Hunks, id)
			}
		}
	}
	before, err := cs.Select(t.Context(), review.Choice{Hunks: first.Hunks, Risky: []string{"long.txt"}})
	reviewtest.Must(t, err)
	left := func(choice review.Choice, before *review.Selection) []review.LeftOut {
		s, err := cs.SelectAfter(t.Context(), choice, before)
		reviewtest.Must(t, err)
		return s.Left
	}
	if got := left(first, nil); len(got) != 1 {
		t.Errorf("of the first part, left is %+v", got)
	}
	if got := left(harmless, before); len(got) != 0 {
		t.Errorf("of a harmless part after it, left is %+v", got)
	}
	if got := left(second, before); len(got) != 1 || got[0].Risks[0].Rule != "vim-modeline" {
		t.Errorf("of a part with a modeline of its own, left is %+v", got)
	}
}

func TestAFileThatAHookOfTheUserRunsIsHeldBack(t *testing.T) {
	files := map[string]string{"scripts/check.sh": "1\n", "scripts/push.sh": "./scripts/lib.sh\n", "scripts/lib.sh": "1\n", "scripts/other.sh": "1\n", "main.go": "package main\n"}
	b := reviewtest.NewRepository(t, files)
	reviewtest.Write(t, b.InRepo(".git/hooks/pre-commit"), "#!/bin/sh\nexec \"$(git rev-parse --show-toplevel)/scripts/check.sh\"\n")
	reviewtest.Write(t, b.InRepo(".git/hooks/pre-rebase.sample"), "./scripts/other.sh\n")
	reviewtest.Must(t, os.Symlink("../../scripts/push.sh", b.InRepo(".git/hooks/pre-push")))
	reviewtest.Must(t, syscall.Mkfifo(b.InRepo(".git/hooks/post-merge"), 0o600))
	b.Prepare()
	for path := range files {
		b.Write(path, "other content\n")
	}
	cs := b.Assess()
	for _, path := range []string{"scripts/check.sh", "scripts/push.sh", "scripts/lib.sh"} {
		b.WantRisks(cs, path, "called")
	}
	b.WantRisks(cs, "scripts/other.sh")
	b.WantRisks(cs, "main.go")
	if r := reviewtest.RisksOf(t, cs, "scripts/check.sh")[0]; r.Found != "named in your hook pre-commit" || r.Severity != risk.High {
		t.Errorf("reported as %+v", r)
	}

	// A hook that is too long may run any script; one of a program is only noted.
	reviewtest.Write(t, b.InRepo(".git/hooks/commit-msg"), "\x7fELF\x00"+strings.Repeat("x", risk.MaxCaller))
	b.WantRisks(b.Assess(), "scripts/other.sh")
	reviewtest.Write(t, b.InRepo(".git/hooks/commit-msg"), strings.Repeat("# long\n", risk.MaxCaller/7+1))
	cs = b.Assess()
	b.WantRisks(cs, "scripts/other.sh", "called")
	b.WantRisks(cs, "main.go")
	if notes := strings.Join(cs.Notes, "\n"); !strings.Contains(notes, "your hook commit-msg could not be read (it is too long)") {
		t.Errorf("notes: %q", notes)
	}
}

// TestAFileBehindASymlinkIsJudgedByItsName has links to folders and files, one to another, and a hook
// that names one.
func TestAFileBehindASymlinkIsJudgedByItsName(t *testing.T) {
	files := map[string]string{
		"config/vscode/tasks.json": "{}\n", "tools/husky/pre-commit": "sh scripts/hook.sh\n", "env/envrc": "x\n", "docs/guide.md": "x\n",
		"tools/check.py": "1\n", "scripts/hook.sh": "1\n", "tools/other.py": "1\n", "packages/a/index.js": "1\n", "ai/conf/settings.json": "{}\n", "old/tasks.json": "x\n",
		"config/vscode/moved.json": reviewtest.Numbered(),
	}
	b := reviewtest.NewRepository(t, files)
	for link, target := range map[string]string{
		".vscode": "config/vscode", ".husky": "tools/husky", ".envrc": "env/envrc", "CLAUDE.md": "docs/guide.md", "scripts/check": "../tools/check.py",
		"ai/main": "conf", ".claude": "ai/main", "node_modules/a": "../packages/a",
	} {
		reviewtest.Must(t, os.MkdirAll(filepath.Dir(b.InRepo(link)), 0o755))
		reviewtest.Must(t, os.Symlink(target, b.InRepo(link)))
	}
	reviewtest.Must(t, os.MkdirAll(b.InRepo(".git/hooks"), 0o755))
	reviewtest.Write(t, b.InRepo(".git/hooks/pre-push"), "exec scripts/check\n")
	b.Commit(nil)
	b.Prepare()
	for name := range files {
		b.Write(name, files[name]+"other content\n")
	}
	reviewtest.Must(t, os.Remove(b.Path("config/vscode/moved.json")))
	b.Write("config/vscode/launch.json", reviewtest.Numbered())
	cs := b.Assess()
	again := *cs
	again.Callers = nil
	reviewtest.Must(t, review.Assess(t.Context(), b.Workspace, &again))
	for _, set := range []*review.ChangeSet{cs, &again} {
		for name, rule := range map[string]string{
			"config/vscode/tasks.json": "vscode-tasks", "tools/husky/pre-commit": "hook-manager", "env/envrc": "direnv", "docs/guide.md": "agent-instructions",
			"tools/check.py": "called", "scripts/hook.sh": "called", "ai/conf/settings.json": "agent-settings", "config/vscode/launch.json": "vscode-launch",
		} {
			if risks := reviewtest.RisksOf(t, set, name); !slices.ContainsFunc(risks, func(r risk.Risk) bool { return r.Rule == rule && r.Holds() }) {
				t.Errorf("%s: %+v", name, risks)
			}
		}
		for _, name := range []string{"tools/other.py", "packages/a/index.js", "old/tasks.json"} {
			b.WantRisks(set, name)
		}
	}
	if r := reviewtest.RisksOf(t, cs, "config/vscode/tasks.json")[0]; r.Found != "through the symlink .vscode/tasks.json" {
		t.Errorf("reported as %+v", r)
	}
}

// TestAFileThatAScriptOfAPackageRunsForAHookIsHeldBack has a hook of the agent, too.
func TestAFileThatAScriptOfAPackageRunsForAHookIsHeldBack(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{
		"package.json": `{"scripts":{"lint":"node scripts/lint.js","push":"node scripts/push.js","build":"node scripts/build.js"},"lint-staged":{"*.js":"node scripts/staged.js"}}`,
		"main.go":      "package main\n",
	})
	reviewtest.Write(t, b.InRepo(".git/hooks/pre-commit"), "npm run lint\n")
	b.Prepare()
	for _, name := range []string{"lint", "push", "build", "staged"} {
		b.Write("scripts/"+name+".js", "other content\n")
	}
	b.Write(".husky/pre-push", "yarn push\n")
	cs := b.Assess()
	for _, name := range []string{"lint", "push", "staged"} {
		b.WantRisks(cs, "scripts/"+name+".js", "called")
	}
	b.WantRisks(cs, "scripts/build.js")
	if r := reviewtest.RisksOf(t, cs, "scripts/lint.js")[0]; r.Found != "named in package.json" || r.Severity != risk.High {
		t.Errorf("reported as %+v", r)
	}
}

func TestAFileThatAHookOfASubmoduleRunsIsHeldBack(t *testing.T) {
	lib := reviewtest.NewRepository(t, map[string]string{
		"scripts/check": "1\n", "scripts/other": "1\n", "scripts/push": "scripts/more\n", "scripts/more": "1\n", "tools/clean": "1\n", "team/lib.txt": "1\n", "scripts/absolute": "1\n",
	})
	b := reviewtest.NewRepository(t, map[string]string{"main.go": "package main\n"})
	reviewtest.GitIn(t, b.Repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.Repo, "lib")
	reviewtest.GitIn(t, b.Repo, "commit", "-q", "-m", "lib")
	dir := b.InRepo("lib")
	reviewtest.Write(t, b.InRepo(".git/modules/lib/hooks/pre-commit"), "./scripts/check\n"+dir+"/scripts/absolute\n")
	reviewtest.Must(t, os.Symlink(dir+"/scripts/push", b.InRepo(".git/modules/lib/hooks/pre-push")))
	reviewtest.GitIn(t, dir, "config", "filter.tidy.clean", "tools/clean %f")
	b.Prepare()
	for _, path := range []string{"scripts/check", "scripts/other", "scripts/push", "scripts/more", "scripts/absolute", "tools/clean", "team/lib.txt"} {
		b.Write("lib/"+path, "other content\n")
		reviewtest.Must(t, os.Chmod(b.Path("lib/"+path), 0o755))
	}
	was := []string{"newly-executable"}
	called := append([]string{"called"}, was...)
	cs := b.Assess()
	for _, path := range []string{"scripts/check", "scripts/push", "scripts/more", "scripts/absolute", "tools/clean"} {
		b.WantRisks(cs, "lib/"+path, called...)
	}
	b.WantRisks(cs, "lib/scripts/other", was...)
	b.WantRisks(cs, "lib/team/lib.txt", was...)
	if r := reviewtest.RisksOf(t, cs, "lib/scripts/check")[0]; r.Found != "named in your hook pre-commit of lib" {
		t.Errorf("reported as %+v", r)
	}
	reviewtest.GitIn(t, dir, "config", "core.hooksPath", "team")
	cs = b.Assess()
	b.WantRisks(cs, "lib/team/lib.txt", called...)
	b.WantRisks(cs, "lib/scripts/check", was...)
}

// TestHooksOfASubmoduleThatIsNotCheckedOutAreRead has submodules that are stored at the start, and
// one whose files the user removes later.
func TestHooksOfASubmoduleThatIsNotCheckedOutAreRead(t *testing.T) {
	for name, before := range map[string]bool{"stored": true, "removed later": false} {
		t.Run(name, func(t *testing.T) {
			lib := reviewtest.NewRepository(t, map[string]string{"scripts/check": "1\n", "scripts/outer": "1\n", "team/lib.txt": "1\n"})
			b := reviewtest.NewRepository(t, map[string]string{"main.go": "package main\n"})
			reviewtest.GitIn(t, b.Repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.Repo, "lib")
			reviewtest.GitIn(t, b.Repo, "commit", "-q", "-m", "lib")
			reviewtest.Write(t, b.InRepo(".git/hooks/pre-commit"), "./scripts/outer\n")
			reviewtest.Write(t, b.InRepo(".git/modules/lib/hooks/post-checkout"), "./scripts/check\n")
			deinit := func() { reviewtest.GitIn(t, b.Repo, "submodule", "--quiet", "deinit", "-f", "lib") }
			if before {
				deinit()
			}
			b.Prepare(func(req *workspace.Request) { req.Clean = true })
			if !before {
				deinit()
			}
			for _, path := range []string{"scripts/check", "scripts/outer", "team/lib.txt"} {
				b.Write("lib/"+path, "other content\n")
				reviewtest.Must(t, os.Chmod(b.Path("lib/"+path), 0o755))
			}
			cs := b.Assess()
			b.WantRisks(cs, "lib/scripts/check", "called", "newly-executable")
			b.WantRisks(cs, "lib/scripts/outer", "called", "newly-executable")
			if r := reviewtest.RisksOf(t, cs, "lib/scripts/outer")[0]; r.Found != "named in your hook pre-commit" {
				t.Errorf("reported as %+v", r)
			}
			b.WantRisks(cs, "lib/team/lib.txt", "newly-executable")
			reviewtest.GitIn(t, b.InRepo(".git/modules/lib"), "config", "core.hooksPath", "team")
			b.WantRisks(b.Assess(), "lib/team/lib.txt", "called", "newly-executable")

			reviewtest.Must(t, os.RemoveAll(b.InRepo(".git/modules/lib")))
			b.WantRisks(b.Assess(), "lib/scripts/check", "newly-executable")
		})
	}
}

// TestAFolderOfHooksOfAllRepositoriesIsReadOnce has a hook that cannot be read, and submodules in which
// relative names mean other files.
func TestAFolderOfHooksOfAllRepositoriesIsReadOnce(t *testing.T) {
	lib := reviewtest.NewRepository(t, map[string]string{"scripts/check": "1\n", "team/lib.txt": "1\n"})
	b := reviewtest.NewRepository(t, map[string]string{"main.go": "package main\n"})
	for i := range 5 {
		reviewtest.GitIn(t, b.Repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.Repo, fmt.Sprint("lib", i))
	}
	reviewtest.GitIn(t, b.Repo, "commit", "-q", "-m", "libs")
	reviewtest.Write(t, filepath.Join(b.Home, "hooks/pre-commit"), "cat team/lib.txt\n")
	global := filepath.Join(t.TempDir(), "gitconfig")
	reviewtest.Write(t, global, "[core]\n\thooksPath = "+filepath.Join(b.Home, "hooks")+"\n")
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	b.Prepare()
	for i := range 5 {
		b.Write(fmt.Sprintf("lib%d/scripts/check", i), "other content\n")
		b.Write(fmt.Sprintf("lib%d/team/lib.txt", i), "other content\n")
	}
	cs := b.Assess()
	for i := range 5 {
		b.WantRisks(cs, fmt.Sprintf("lib%d/scripts/check", i))
		b.WantRisks(cs, fmt.Sprintf("lib%d/team/lib.txt", i), "called")
		if r := reviewtest.RisksOf(t, cs, fmt.Sprintf("lib%d/team/lib.txt", i))[0]; r.Found != "named in your hook pre-commit" {
			t.Errorf("reported as %+v", r)
		}
	}
	reviewtest.Write(t, filepath.Join(b.Home, "hooks/commit-msg"), strings.Repeat("# long\n", risk.MaxCaller/7+1))
	if notes := b.Assess().Notes; len(notes) != 1 || !strings.HasPrefix(notes[0], "your hook commit-msg could not be read") {
		t.Errorf("notes: %q", notes)
	}
}

func TestHooksAreReadFromTheFolderThatGitRuns(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"scripts/check.sh": "1\n", "scripts/other.sh": "1\n"})
	reviewtest.Write(t, filepath.Join(b.Home, "hooks/pre-commit.d/check"), "scripts/check.sh\n")
	reviewtest.Write(t, b.InRepo(".git/hooks/pre-commit"), "scripts/other.sh\n")
	reviewtest.GitIn(t, b.Repo, "config", "core.hooksPath", filepath.Join(b.Home, "hooks"))
	b.Prepare()
	b.Write("scripts/check.sh", "other content\n")
	b.Write("scripts/other.sh", "other content\n")
	cs := b.Assess()
	b.WantRisks(cs, "scripts/check.sh", "called")
	b.WantRisks(cs, "scripts/other.sh")
	reviewtest.GitIn(t, b.Repo, "config", "core.hooksPath", ".git/hooks")
	cs = b.Assess()
	b.WantRisks(cs, "scripts/check.sh")
	b.WantRisks(cs, "scripts/other.sh", "called")
}

// TestAFolderOfHooksIsNamedAsGitNamesIt has the forms of paths that git expands.
func TestAFolderOfHooksIsNamedAsGitNamesIt(t *testing.T) {
	me, err := user.Current()
	reviewtest.Must(t, err)
	b := reviewtest.NewRepository(t, map[string]string{"scripts/check.sh": "1\n", "scripts/other.sh": "1\n"})
	reviewtest.Write(t, filepath.Join(b.Home, "hooks/pre-commit"), "scripts/check.sh\n")
	within, err := filepath.Rel(me.HomeDir, filepath.Join(b.Home, "hooks"))
	reviewtest.Must(t, err)
	b.Prepare()
	b.Write("scripts/check.sh", "other content\n")
	b.Write("scripts/other.sh", "other content\n")
	called, none := []string{"called"}, []string(nil)
	for path, want := range map[string][2][]string{
		"~" + me.Username + "/" + within: {called, none},
		"%(prefix)/no/hooks":             {none, none},     // it is not there
		":(unknown)/hooks":               {called, called}, // it may be anywhere
	} {
		reviewtest.GitIn(t, b.Repo, "config", "core.hooksPath", path)
		cs := b.Assess()
		b.WantRisks(cs, "scripts/check.sh", want[0]...)
		b.WantRisks(cs, "scripts/other.sh", want[1]...)
	}
}

// TestAFolderOfMoreHooksThanAreReadHoldsScriptsBack has samples, which are not read, among the hooks.
func TestAFolderOfMoreHooksThanAreReadHoldsScriptsBack(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"scripts/check.sh": "1\n"})
	folder := filepath.Join(b.Home, "hooks")
	for i := range 220 {
		reviewtest.Write(t, filepath.Join(folder, fmt.Sprintf("part-%d", i)), "make lint\n")
	}
	for i := range 200 {
		reviewtest.Write(t, filepath.Join(folder, fmt.Sprintf("part-%d.sample", i)), "make lint\n")
	}
	reviewtest.GitIn(t, b.Repo, "config", "core.hooksPath", folder)
	b.Prepare()
	b.Write("scripts/check.sh", "other content\n")
	cs := b.Assess()
	b.WantRisks(cs, "scripts/check.sh", "called")
	if notes := strings.Join(cs.Notes, "\n"); strings.Count(notes, "your hook hooks could not be read (it has more than 200 files)") != 1 {
		t.Errorf("notes: %q", notes)
	}
}

// TestALinkToAFolderOfHooksIsNotFollowedIntoTheRepository has a folder that an agent can write to.
func TestALinkToAFolderOfHooksIsNotFollowedIntoTheRepository(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"team/hooks/lib.sh": "1\n", "scripts/other.sh": "1\n"})
	reviewtest.Must(t, os.RemoveAll(b.InRepo(".git/hooks")))
	reviewtest.Must(t, os.Symlink("../team/hooks", b.InRepo(".git/hooks")))
	b.Prepare()
	b.User("team/hooks/pre-commit", "scripts/other.sh\n") // as if it had been accepted
	b.Write("team/hooks/lib.sh", "other content\n")
	b.Write("scripts/other.sh", "other content\n")
	cs := b.Assess()
	b.WantRisks(cs, "team/hooks/lib.sh", "called")
	b.WantRisks(cs, "scripts/other.sh")
}

func TestSettingsThatCannotBeReadFailTheAssessment(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.sh": "1\n"}).Prepare()
	b.Write(".envrc", "2\n")
	cs := b.Assess()
	reviewtest.Write(t, b.InRepo(".git/config"), "[core\n")
	if err := review.Assess(t.Context(), b.Workspace, cs); err == nil || !strings.Contains(err.Error(), "reading your git settings") {
		t.Errorf("%v", err)
	}
	b.WantRisks(cs, ".envrc", "direnv")
}

// TestAFolderThatIsNoRepositoryAnyMoreIsReviewed has a removed .git, one that names a repository that
// is gone. The user's settings for all repositories still apply.
func TestAFolderThatIsNoRepositoryAnyMoreIsReviewed(t *testing.T) {
	for name, damage := range map[string]func(b *reviewtest.Fixture){
		"removed": func(b *reviewtest.Fixture) { reviewtest.Must(t, os.RemoveAll(b.InRepo(".git"))) },
		"moved": func(b *reviewtest.Fixture) {
			reviewtest.Must(t, os.RemoveAll(b.InRepo(".git")))
			reviewtest.Write(t, b.InRepo(".git"), "gitdir: /no/such/folder\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{"scripts/check.sh": "1\n", "main.go": "package main\n"}).Prepare()
			global := filepath.Join(t.TempDir(), "gitconfig")
			reviewtest.Write(t, global, "[filter \"tidy\"]\n\tclean = tidy --with main.go\n")
			t.Setenv("GIT_CONFIG_GLOBAL", global)
			b.Write("scripts/check.sh", "other content\n")
			b.Write("main.go", "package other\n")
			damage(b)
			cs := b.Assess()
			b.WantRisks(cs, "scripts/check.sh", "called")
			b.WantRisks(cs, "main.go", "called")
			if notes := strings.Join(cs.Notes, "\n"); !strings.Contains(notes, "is no git repository any more, so scripts that your hooks may run are held back") {
				t.Errorf("notes: %q", notes)
			}
		})
	}
}

// TestChangedFilesThatCanRunOthersAreReadWithinALimit has the same large file many times, which costs
// an agent nothing.
func TestChangedFilesThatCanRunOthersAreReadWithinALimit(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"scripts/check.sh": "1\n", "main.go": "package main\n"}).Prepare()
	b.Write("scripts/check.sh", "other content\n")
	b.Write("main.go", "package other\n")
	b.Write("package.json", `{"scripts":{"prepare":"node main.go"}}`)
	large := `{"x":"` + strings.Repeat("x", risk.MaxCaller-8) + `"}`
	for i := range 70 {
		b.Write(fmt.Sprintf("apps/a%02d/package.json", i), large)
	}
	cs := b.Assess()
	b.WantRisks(cs, "scripts/check.sh", "called")
	b.WantRisks(cs, "main.go", "called")
	if notes := strings.Join(cs.Notes, "\n"); !strings.Contains(notes, "7 changed files, such as apps/a63/package.json, are not searched") {
		t.Errorf("notes: %q", notes)
	}
}

// TestAChangedFileThatIsTooLongToBeSearchedMayRunAnyScript has files that the agent padded.
func TestAChangedFileThatIsTooLongToBeSearchedMayRunAnyScript(t *testing.T) {
	padding := strings.Repeat("# padding\n", risk.MaxCaller/10+1)
	for path, held := range map[string]bool{
		".gitlab-ci.yml": true, "package.json": true, ".vscode/tasks.json": true, ".npmrc": true, ".pnp.cjs": false, ".yarn/releases/yarn-4.0.0.cjs": false, "notes.txt": false,
	} {
		b := reviewtest.NewRepository(t, map[string]string{"scripts/a.sh": "1\n", "main.go": "package main\n"}).Prepare()
		b.Write(path, padding)
		b.Write("scripts/a.sh", "2\n")
		b.Write("main.go", "package other\n")
		cs := b.Assess()
		b.WantRisks(cs, "scripts/a.sh", []string{"called"}[:map[bool]int{true: 1}[held]]...)
		b.WantRisks(cs, "main.go")
		if notes := strings.Join(cs.Notes, "\n"); strings.Contains(notes, "longer than 256 KiB, so scripts") != held {
			t.Errorf("%s: notes: %q", path, notes)
		}
	}
}

// TestLongFilesOfTheUserAreSearched has a bundled action and a lock file, which run no script of the
// repository, and long files that do.
func TestLongFilesOfTheUserAreSearched(t *testing.T) {
	padding := strings.Repeat("# padding\n", risk.MaxCaller/10+1)
	b := reviewtest.NewRepository(t, map[string]string{
		"scripts/a.sh": "1\n", "scripts/b.sh": "1\n", "scripts/c.sh": "1\n",
		".gitlab-ci.yml":                 padding + "scripts/a.sh\n",
		"package.json":                   `{"scripts":{"test":"sh scripts/c.sh","postinstall":"sh scripts/b.sh"},"x":"` + strings.Repeat("x", risk.MaxCaller) + `"}`,
		".github/actions/x/index.js":     padding,
		".github/actions/x/package.json": padding,
		".pnp.cjs":                       padding + "scripts/c.sh\n",
		".yarn/releases/yarn-4.0.0.cjs":  padding + "scripts/c.sh\n",
		".claude/picture":                "\x00" + padding + "scripts/c.sh\n",
	}).Prepare()
	for _, path := range []string{"scripts/a.sh", "scripts/b.sh", "scripts/c.sh"} {
		b.Write(path, "2\n")
	}
	cs := b.Assess()
	b.WantRisks(cs, "scripts/a.sh", "called")
	b.WantRisks(cs, "scripts/b.sh", "called")
	b.WantRisks(cs, "scripts/c.sh")
	if len(cs.Notes) > 0 {
		t.Errorf("notes: %q", cs.Notes)
	}
}

// TestFilesOfTheUserThatAreNotSearchedMayRunAnyScript has one file that is too long, and too many long
// ones, of which each kind is reported once.
func TestFilesOfTheUserThatAreNotSearchedMayRunAnyScript(t *testing.T) {
	text := strings.Repeat("# padding\n", risk.MaxContent/10)
	many := map[string]string{}
	for i := range 9 {
		many[fmt.Sprintf(".github/actions/a%d/index.js", i)] = text
	}
	for first, files := range map[string]map[string]string{".gitlab-ci.yml": {".gitlab-ci.yml": text + text[:10]}, ".github/actions/a8/index.js": many} {
		files["scripts/a.sh"] = "1\n"
		b := reviewtest.NewRepository(t, files).Prepare()
		b.Write("scripts/a.sh", "2\n")
		cs := b.Assess()
		b.WantRisks(cs, "scripts/a.sh", "called")
		if r := reviewtest.RisksOf(t, cs, "scripts/a.sh")[0]; !strings.HasPrefix(r.Found, "perhaps named in "+first) {
			t.Errorf("reported as %+v", r)
		}
		want := "1 file, such as " + first + ", are not searched for names of others, because they are longer than 4 MiB, or those before them have 32 MiB"
		if notes := strings.Join(cs.Notes, "\n"); !strings.Contains(notes, want) {
			t.Errorf("notes: %q", notes)
		}
	}
}

// TestANewAssessmentReplacesTheNotesOfTheEarlierOne has a hook that can be read again.
func TestANewAssessmentReplacesTheNotesOfTheEarlierOne(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.sh": "1\n"})
	reviewtest.Write(t, b.InRepo(".git/hooks/commit-msg"), strings.Repeat("# long\n", risk.MaxCaller/7+1))
	b.Prepare()
	b.Write("a.sh", "2\n")
	cs := b.Assess()
	cs.Notes = append(cs.Notes, "another note")
	data, err := json.Marshal(cs)
	reviewtest.Must(t, err)
	again := new(review.ChangeSet)
	reviewtest.Must(t, json.Unmarshal(data, again))
	reviewtest.Write(t, b.InRepo(".git/hooks/commit-msg"), "make lint\n")
	reviewtest.Must(t, review.Assess(t.Context(), b.Workspace, again))
	if len(cs.Notes) != 2 || len(again.Notes) != 1 || again.Notes[0] != "another note" {
		t.Errorf("notes: %q, then %q", cs.Notes, again.Notes)
	}
}

// TestManyFilesOfOneKindHideNoOtherCaller has packages that Yarn keeps in the repository, which
// are callers by their folder and come before package.json, and packages of a monorepo.
func TestManyFilesOfOneKindHideNoOtherCaller(t *testing.T) {
	files := map[string]string{
		"package.json":        `{"scripts":{"postinstall":"node tools/setup.js"}}`,
		"tools/setup.js":      "1\n",
		"lefthook.yml":        "pre-commit:\n  commands:\n    a:\n      run: ./tools/check.sh\n",
		"tools/check.sh":      "1\n",
		".yarn/plugins/a.cjs": "require('./tools/plugin.js')\n",
		"tools/plugin.js":     "1\n",
	}
	for i := range 600 {
		files[fmt.Sprintf(".yarn/cache/a-npm-%d.zip", i)] = "PK\x03\x04\x00"
		files[fmt.Sprintf("apps/a%d/package.json", i)] = `{"scripts":{"prepare":"node prepare.js"}}`
	}
	b := reviewtest.NewRepository(t, files).Prepare()
	for _, path := range []string{"tools/setup.js", "tools/check.sh", "tools/plugin.js"} {
		b.Write(path, "other content\n")
	}
	cs := b.Assess()
	again := *cs
	again.Callers = nil
	reviewtest.Must(t, review.Assess(t.Context(), b.Workspace, &again))
	for _, set := range []*review.ChangeSet{cs, &again} {
		for _, path := range []string{"tools/setup.js", "tools/check.sh", "tools/plugin.js"} {
			b.WantRisks(set, path, "called")
		}
		if notes := strings.Join(set.Notes, "\n"); strings.Count(notes, "101 other files, such as package.json, may run") != 1 {
			t.Errorf("the limit is noted as %q", notes)
		}
	}
}

// TestManyChangedFilesOfOneKindHideNoneOfThem has decoys nearer to the top than the package that runs
// a script.
func TestManyChangedFilesOfOneKindHideNoneOfThem(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"tools/setup.js": "1\n", "notes.txt": "1\n", "apps/web/package.json": "{}"}).Prepare()
	b.Write("tools/setup.js", "2\n")
	b.Write("notes.txt", "2\n")
	b.Write("apps/web/package.json", `{"scripts":{"postinstall":"node ../../tools/setup.js"}}`)
	for i := range 499 {
		b.Write(fmt.Sprintf("a%d/package.json", i), "{}")
	}
	b.WantRisks(b.Assess(), "tools/setup.js", "called")
	b.Write("a499/package.json", "{}")
	cs := b.Assess()
	b.WantRisks(cs, "tools/setup.js", "called")
	b.WantRisks(cs, "notes.txt")
	if notes := strings.Join(cs.Notes, "\n"); !strings.Contains(notes, "1 changed file, such as apps/web/package.json, are not searched") {
		t.Errorf("notes: %q", notes)
	}
}

func TestFilesBeyondTheLimitsAreHeldBack(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a": "a\n"}).Prepare()
	b.Write("long.txt", strings.Repeat("x", risk.MaxContent+1))
	cs := b.Assess()
	b.WantRisks(cs, "long.txt", "large-file")
}

func TestNoChangesHaveNoRisks(t *testing.T) {
	cs := reviewtest.NewRepository(t, map[string]string{"a": "a\n"}).Prepare().Assess()
	if !cs.Assessed() || len(cs.Changes) > 0 {
		t.Errorf("%+v", cs)
	}
}
