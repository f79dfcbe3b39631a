package review

import (
	"slices"
	"testing"
)

func TestSymlinksAreFollowedByTheirTextsAlone(t *testing.T) {
	l := resolveLinks(map[string]string{
		".vscode": "config/vscode", "scripts/check": "../tools//check.py", "a/b": "../c/./d/", "c/d": "e", "deep/one": "../a/b/x",
		"out": "../../other", "absolute": "/etc", "none": "a\x00b", "top": ".", "loop": "round", "round": "loop", "self/in": ".",
	})
	for name, want := range map[string][]string{
		"config/vscode/tasks.json": {".vscode/tasks.json"},
		"config/vscode2/a":         nil,
		"tools/check.py":           {"scripts/check"},
		"c/e/x/y":                  {"a/b/x/y", "c/d/x/y", "deep/one/y"},
		"etc/passwd":               nil,
		"loop":                     nil,
	} {
		found := l.aliases(name)
		if slices.Sort(found); !slices.Equal(found, want) {
			t.Errorf("%s: %q, want %q", name, found, want)
		}
	}
	if found := l.aliases("self/a"); len(found) != maxAliases {
		t.Errorf("a symlink to a folder around it gives %d names", len(found))
	}
}
