package scan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aibox/internal/git"
	"aibox/review"
	"aibox/workspace"
)

// Count summarizes the differences from the baseline.
type Count struct {
	Files   int
	Added   int // lines
	Deleted int // lines
}

// Limits of a count while the agent works. A count runs again and again, and the change
// set at the end is complete.
const (
	aliveFileSize = 16 << 20
	aliveFiles    = 20_000
	aliveBytes    = 64 << 20
)

// CountRunning counts the changes that Workspace would find now, while the sandbox runs.
// It changes nothing in the workspace and leaves nothing in ws.GitDir. It skips files
// that change meanwhile and files that the user may not read.
func CountRunning(ctx context.Context, ws *workspace.Workspace) (Count, error) {
	var count Count
	err := Running(ctx, ws, func(set *review.ChangeSet) error {
		count.Files = set.Count()
		count.Added, count.Deleted = set.Totals()
		return nil
	})
	return count, err
}

// Running finds the changes that Workspace would find now, while the sandbox runs, under
// the rules of CountRunning. The change set and its objects exist while visit runs.
func Running(ctx context.Context, ws *workspace.Workspace, visit func(*review.ChangeSet) error) error {
	beside := filepath.Join(ws.GitDir, "aibox")
	sweepCounts(beside)
	dir, err := os.MkdirTemp(beside, countPrefix)
	if err != nil {
		return fmt.Errorf("making a folder to count in: %w", err)
	}
	defer os.RemoveAll(dir)
	repo, err := scratchRepo(ctx, dir, ws)
	if err != nil {
		return fmt.Errorf("making a repository to count in: %s", git.Message(err))
	}
	set, err := computeInto(ctx, repo, ws, Options{
		MaxFileSize: aliveFileSize, MaxFiles: aliveFiles, MaxBytes: aliveBytes, MaxListed: review.MaxListed, Workers: 1, running: true,
	})
	if err != nil {
		return err
	}
	set.GitDir = dir
	return visit(set)
}

// scratchRepo makes a temporary repository that can read the objects of ws.GitDir, and
// whose own objects all readers of a change set can find.
func scratchRepo(ctx context.Context, dir string, ws *workspace.Workspace) (*git.Repo, error) {
	repo, err := git.Scratch(ctx, dir, ws.GitDir, git.FormatOf(ws.BaseTree))
	if err != nil {
		return nil, err
	}
	alternates := filepath.Join(dir, "objects", "info", "alternates")
	return repo, errors.Join(
		os.MkdirAll(filepath.Dir(alternates), 0o700),
		os.WriteFile(alternates, []byte(filepath.Join(ws.GitDir, "objects")+"\n"), 0o600),
		os.MkdirAll(filepath.Join(dir, "aibox"), 0o700),
	)
}

// countPrefix begins the names of folders to count in.
const countPrefix = ".count-"

// countKept is how long such a folder is kept: many times the duration of a count.
const countKept = 10 * time.Minute

// sweepCounts removes the folders of counts that were killed.
func sweepCounts(beside string) {
	entries, _ := os.ReadDir(beside)
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && strings.HasPrefix(entry.Name(), countPrefix) && time.Since(info.ModTime()) > countKept {
			_ = os.RemoveAll(filepath.Join(beside, entry.Name()))
		}
	}
}
