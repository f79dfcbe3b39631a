package review_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aibox/review"
	"aibox/workspace"
)

// bigRepository makes a repository of that many files of a few hundred bytes.
func bigRepository(b *testing.B, files int) *bench {
	b.Helper()
	content := map[string]string{}
	for i := range files {
		content[fmt.Sprintf("src/m%03d/p%02d/f%05d.go", i/400, i/20%20, i)] = fmt.Sprintf("package p\n\n// V is number %d.\nvar V = %d\n", i, i*7919)
	}
	return newRepository(b, content)
}

// BenchmarkChangeSetAgainstStatus computes the change set of 20 changed files
// among 80,000 and runs git status on the same files, in turns.
func BenchmarkChangeSetAgainstStatus(b *testing.B) {
	big := bigRepository(b, 80_000).prepare()
	files, err := filepath.Glob(big.ws.Path + "/src/m1*/p03/*0.go")
	must(b, err)
	for _, file := range files[:20] {
		must(b, os.WriteFile(file, []byte("package changed\n"), 0o644))
	}
	var ours, gits time.Duration
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		cs, err := review.Compute(b.Context(), big.ws, review.Options{})
		ours += time.Since(start)
		must(b, err)
		if len(cs.Changes) != 20 {
			b.Fatalf("%d changes", len(cs.Changes))
		}
		start = time.Now()
		gitIn(b, big.ws.Path, "--no-optional-locks", "status", "--porcelain")
		gits += time.Since(start)
	}
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ours-ms")
	b.ReportMetric(float64(gits.Milliseconds())/float64(b.N), "git-ms")
	b.ReportMetric(float64(ours)/float64(gits), "ratio")
}

// BenchmarkPrepareAgainstClone prepares a workspace of 80,000 files and runs git
// clone --local, in turns.
func BenchmarkPrepareAgainstClone(b *testing.B) {
	big := bigRepository(b, 80_000)
	gitIn(b, big.repo, "gc", "--quiet")
	var ours, gits time.Duration
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		ws, err := workspace.Prepare(b.Context(), workspace.Request{Repo: big.repo, Session: "b", Dirs: dirsIn(big.home)})
		ours += time.Since(start)
		must(b, err)
		must(b, workspace.Undo(b.Context(), ws))
		clone := filepath.Join(big.home, "clone")
		start = time.Now()
		gitIn(b, "/", "clone", "--quiet", "--local", big.repo, clone)
		gits += time.Since(start)
		must(b, os.RemoveAll(clone))
	}
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ours-ms")
	b.ReportMetric(float64(gits.Milliseconds())/float64(b.N), "git-ms")
	b.ReportMetric(float64(ours)/float64(gits), "ratio")
}
