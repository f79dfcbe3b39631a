package workspace_test

import (
	"strings"
	"testing"

	"aibox/workspace"
)

// A blob compresses well: a small repository can hold one of gigabytes.
func TestALargeIgnoreFileOfACommitIsNotReadIntoMemory(t *testing.T) {
	repo := repository(t)
	large := strings.Repeat("*.log\n", 1<<18)
	commit(t, repo, map[string]string{"dir/.gitignore": large, ".gitignore": "*.tmp\n"})
	ws := prepared(t, repo, func(r *workspace.Request) { r.Clean = true })
	if read(t, ws.Path+"/dir/.gitignore") != large {
		t.Error("the file is not complete")
	}
	baseline, err := workspace.LoadBaseline(ws.Baseline)
	must(t, err)
	ours := false
	for _, rules := range baseline.Ignore {
		ours = ours || string(rules.Data) == "*.tmp\n"
		if len(rules.Data) > 1<<20 {
			t.Errorf("the baseline holds %d bytes of rules", len(rules.Data))
		}
	}
	if !ours {
		t.Error("the baseline lacks the rules of the other file")
	}
}
