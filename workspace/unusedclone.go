package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aibox/internal/flock"
	"aibox/internal/git"
	"aibox/internal/paths"
)

// ErrWork means that a clone has, or may have, commits that its server does not have.
var ErrWork = errors.New("it may have commits that its server does not have")

// Clones lists aibox's clones of URLs.
func Clones(dirs paths.Dirs) []string {
	found, _ := filepath.Glob(filepath.Join(dirs.Repos(), clonePrefix+"*.git"))
	return found
}

// UnusedClone calls remove for a clone that was not used within age, unless needed reports that a session
// refers to it. Nobody can use the clone meanwhile. It fails with ErrBusy while a session is being
// prepared, and with ErrWork if the clone has work that is nowhere else.
func UnusedClone(ctx context.Context, dir string, age time.Duration, needed func() (bool, error), remove func() error) error {
	clone, err := flock.Try(dir+".lock", flock.Exclusive)
	if err != nil {
		return busy(err)
	}
	defer clone.Close()
	alone, err := flock.Try(storesLock(filepath.Dir(dir)), flock.Exclusive)
	if err != nil {
		return busy(err)
	}
	defer alone.Close()
	used, err := os.Stat(filepath.Join(dir, serverFile))
	if err == nil && time.Since(used.ModTime()) < max(age, minAge) { // a run that has just updated it has no record yet
		return nil
	}
	if held, err := needed(); held || err != nil {
		return err
	}
	if err := onlyServers(ctx, dir); err != nil {
		return err
	}
	return remove()
}

// onlyServers returns ErrWork if a clone has anything that its server did not have at some update,
// except tags.
func onlyServers(ctx context.Context, dir string) error {
	if worktrees, err := entries(filepath.Join(dir, "worktrees")); err != nil || len(worktrees) > 0 {
		return errors.Join(err, ErrWork)
	}
	server, err := paths.ReadSmall(filepath.Join(dir, serverFile), largestServerFile)
	if errors.Is(err, fs.ErrNotExist) { // an earlier version made it
		return ErrWork
	}
	if err != nil {
		return err
	}
	var tips strings.Builder
	for _, id := range branchCommits(string(server)) {
		tips.WriteString("^" + id + "\n")
	}
	var work bytes.Buffer
	err = git.User(dir).Run(ctx, strings.NewReader(tips.String()), &work, "rev-list", "--max-count=1", "--ignore-missing",
		"--exclude=refs/tags/*", "--exclude=refs/aibox/*", "--all", "--glob="+replacedRefs+"*", "--stdin")
	if err != nil {
		return fmt.Errorf("looking for commits in it: %s", git.Message(err))
	}
	if work.Len() > 0 {
		return ErrWork
	}
	return nil
}

// busy returns ErrBusy in place of the error of a lock that is held.
func busy(err error) error {
	if errors.Is(err, flock.ErrHeld) {
		return ErrBusy
	}
	return err
}
