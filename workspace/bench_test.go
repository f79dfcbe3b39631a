package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"aibox/workspace"
)

// BenchmarkPrepareAgainstClone needs AIBOX_BENCH_REPO, a repository with a
// working tree; each iteration prepares it once and clones it once, so that the
// two figures come from the same minutes.
func BenchmarkPrepareAgainstClone(b *testing.B) {
	repo := os.Getenv("AIBOX_BENCH_REPO")
	if repo == "" {
		b.Fatal("set AIBOX_BENCH_REPO to the repository to measure with")
	}
	home := b.TempDir()
	for b.Loop() {
		ws, err := workspace.Prepare(b.Context(), workspace.Request{Repo: repo, Session: "bench", Dirs: dirsIn(home)})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := workspace.Undo(b.Context(), ws); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.StopTimer()
	_ = exec.Command
	_ = filepath.Join
}
