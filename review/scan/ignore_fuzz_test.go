package scan_test

import (
	"testing"

	"aibox/review/scan"
	"aibox/workspace"
)

// FuzzIgnoreRules matches any path against any rules: it must end, and give the
// same answer twice.
func FuzzIgnoreRules(f *testing.F) {
	f.Add("*.log\n!keep.log\n/build\n", "a/b.log")
	f.Add("**/x/**/y\n\\#a\n[a-\n[!]a]\n\\", "x/y/x/y")
	f.Add("a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	f.Add(" \n\t\n\r\n/\n//\n!\n!/\n**\n", "\xff")
	f.Fuzz(func(t *testing.T, rules, path string) {
		ignored := scan.Ignores([]workspace.IgnoreFile{{Data: []byte(rules)}}, path, false)
		if again := scan.Ignores([]workspace.IgnoreFile{{Data: []byte(rules)}}, path, false); again != ignored {
			t.Errorf("%q: %t, then %t", path, ignored, again)
		}
	})
}
