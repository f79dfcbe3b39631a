package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aibox/review/printer"
	"aibox/review/scan"
	"aibox/workspace"
)

// repository is a repository of that many files, a hundred to a folder.
func (b *bench) repository(ctx context.Context, files int) (string, error) {
	if dir, ok := b.large[files]; ok {
		return dir, nil
	}
	dir := filepath.Join(b.scratch, fmt.Sprintf("repo-%d", files))
	for i := range files {
		path := filePath(dir, i)
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return "", err
			}
		}
		if err := os.WriteFile(path, text(i, 0), 0o600); err != nil {
			return "", err
		}
	}
	b.large[files] = dir
	return dir, b.commit(ctx, dir)
}

func filePath(dir string, i int) string {
	return filepath.Join(dir, fmt.Sprintf("dir%03d", i/100), fmt.Sprintf("file%05d.txt", i))
}

// text is the content of file i in its n-th version: forty lines, one of which
// changes.
func text(i, n int) []byte {
	var out strings.Builder
	for line := range 40 {
		version := 0
		if line == 20 {
			version = n
		}
		fmt.Fprintf(&out, "file %d, line %d, version %d\n", i, line, version)
	}
	return []byte(out.String())
}

// edit puts version n into count files, spread over all.
func edit(dir string, files, count, n int) error {
	for i := range count {
		at := i * (files / count)
		if err := os.WriteFile(filePath(dir, at), text(at, n), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// copies makes a workspace and a git clone of a repository of that many files.
func (b *bench) copies(ctx context.Context, files int) (ws *workspace.Workspace, clone string, remove func() error, err error) {
	repo, err := b.repository(ctx, files)
	if err != nil {
		return nil, "", nil, err
	}
	if ws, err = b.workspace(ctx, repo); err != nil {
		return nil, "", nil, err
	}
	clone = filepath.Join(b.scratch, fmt.Sprintf("clone-%d", files))
	_, err = b.quiet(ctx, "git", "clone", "-q", "--local", repo, clone)
	return ws, clone, func() error { return errors.Join(workspace.Undo(context.Background(), ws), os.RemoveAll(clone)) }, err
}

func (b *bench) workspace(ctx context.Context, repo string) (*workspace.Workspace, error) {
	return workspace.Prepare(ctx, workspace.Request{Repo: repo, Session: fmt.Sprintf("bench-%d", time.Now().UnixNano()), Dirs: b.dirs()})
}

func (b *bench) count(full int) int {
	if b.quick {
		return full / 20
	}
	return full
}

func changeSet(ctx context.Context, b *bench) ([]Row, error) {
	files := b.count(80_000)
	ws, clone, remove, err := b.copies(ctx, files)
	if err != nil {
		return nil, err
	}
	version := 0
	edited := func(dir string) error { version++; return edit(dir, files, 20, version) }
	ours, theirs, err := duel(ctx, b.pairs,
		func(ctx context.Context) (time.Duration, error) {
			if err := edited(ws.Path); err != nil {
				return 0, err
			}
			begin := time.Now()
			set, err := scan.Workspace(ctx, ws, scan.Options{})
			took := time.Since(begin)
			if err == nil && len(set.Changes) != 20 {
				err = fmt.Errorf("%d changes instead of 20", len(set.Changes))
			}
			return took, err
		},
		func(ctx context.Context) (time.Duration, error) {
			if err := edited(clone); err != nil {
				return 0, err
			}
			return b.timed(ctx, "git", "-C", clone, "status", "--porcelain")
		})
	if err = errors.Join(err, remove()); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("change set, 20 of %d files", files)
	return []Row{versus(what, "git status --porcelain", "ms", ours, theirs, target{most: 1})}, nil
}

func diffText(ctx context.Context, b *bench) ([]Row, error) {
	files := b.count(10_000)
	changed := files / 10
	ws, clone, remove, err := b.copies(ctx, files)
	if err != nil {
		return nil, err
	}
	err = errors.Join(edit(ws.Path, files, changed, 1), edit(clone, files, changed, 1))
	if err != nil {
		return nil, err
	}
	set, err := scan.Workspace(ctx, ws, scan.Options{})
	if err != nil {
		return nil, err
	}
	ours, theirs, err := duel(ctx, b.pairs,
		func(ctx context.Context) (time.Duration, error) {
			var patch lines
			begin := time.Now()
			err := printer.Patch(ctx, set, &patch)
			took := time.Since(begin)
			if err == nil && patch.count < 8*changed { // headers, a hunk's, and seven lines of it
				err = fmt.Errorf("a patch of %d files has %d lines", changed, patch.count)
			}
			return took, err
		},
		func(ctx context.Context) (time.Duration, error) { return b.timed(ctx, "git", "-C", clone, "diff") })
	if err = errors.Join(err, remove()); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("diff text, %d of %d files", changed, files)
	return []Row{versus(what, "git diff", "ms", ours, theirs, target{most: 1.3})}, nil
}

// lines counts the lines written to it.
type lines struct{ count int }

func (l *lines) Write(p []byte) (int, error) {
	l.count += bytes.Count(p, []byte("\n"))
	return len(p), nil
}

func prepare(ctx context.Context, b *bench) ([]Row, error) {
	files := b.count(80_000)
	repo, err := b.repository(ctx, files)
	if err != nil {
		return nil, err
	}
	first, err := b.workspace(ctx, repo) // makes the host-owned repository, once for a user's repository
	if err = errors.Join(err, workspace.Undo(ctx, first)); err != nil {
		return nil, err
	}
	clone := filepath.Join(b.scratch, "clone")
	ours, theirs, err := duel(ctx, b.pairs,
		func(ctx context.Context) (time.Duration, error) {
			begin := time.Now()
			ws, err := b.workspace(ctx, repo)
			took := time.Since(begin)
			if err != nil {
				return took, err
			}
			return took, workspace.Undo(ctx, ws)
		},
		func(ctx context.Context) (time.Duration, error) {
			took, err := b.timed(ctx, "git", "clone", "-q", "--local", repo, clone)
			return took, errors.Join(err, os.RemoveAll(clone))
		})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("preparing a workspace of %d files", files)
	return []Row{versus(what, "git clone --local", "ms", ours, theirs, target{most: 1})}, nil
}
