package workspace_test

import (
	"testing"

	"aibox/workspace"
)

func TestAReadOnlyPathIsAlsoWhatCouldReplaceAReadOnlyFile(t *testing.T) {
	baseline := workspace.Baseline{Files: []workspace.File{{Path: "deep/lock/go.sum"}, {Path: "main.go"}}}
	readOnly, err := baseline.ReadOnly([]string{"go.sum", "ci/"})
	must(t, err)
	for path, want := range map[string]bool{
		"deep/lock/go.sum": true, "go.sum": true, "deep/lock/go.sum/below": true, "deep/lock": true, "deep": true,
		"ci": true, "ci/new.yml": true, "main.go": false, "deep/lock/other": false, "go.sums": false,
	} {
		if readOnly.Has(path) != want {
			t.Errorf("%s is read-only: %v", path, !want)
		}
	}
}
