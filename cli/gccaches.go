package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"aibox/internal/paths"
	"aibox/session"
	"aibox/workspace"
)

// scratchAge is how long nothing must have happened to scratch of aibox's before it
// is nobody's.
const scratchAge = 24 * time.Hour

// gcCaches removes what can be made again and was not needed for long, and what
// commands that were killed have left.
func (o *gcOptions) caches(ctx context.Context, report *session.GCReport, olderThan time.Duration) error {
	dirs, err := paths.Default()
	if err != nil {
		return err
	}
	var errs []error
	drop := func(kind session.GCKind, path string) {
		files, bytes := workspace.Measure(path)
		if err := dropPath(ctx, path, report.DryRun); err != nil {
			errs = append(errs, err)
			return
		}
		report.Add(kind, path, files, bytes)
	}
	for _, path := range ours(filepath.Join(dirs.Cache, "models", "*.json"), olderThan) {
		drop(session.GCCaches, path)
	}
	for _, path := range olderVersions(filepath.Join(dirs.Cache, "init", "aibox-init-*"), olderThan) {
		drop(session.GCCaches, path)
	}
	for _, pattern := range []string{
		filepath.Join(dirs.Cache, "setup-*"), filepath.Join(dirs.Cache, "init", ".aibox-init.*"), filepath.Join(dirs.Cache, "models", ".*"),
		filepath.Join(os.TempDir(), "aibox-probe-*"), filepath.Join(os.TempDir(), "aibox-check-*.toml"),
	} {
		for _, path := range ours(pattern, scratchAge) {
			drop(session.GCScratch, path)
		}
	}
	return errors.Join(errs...)
}

func dropPath(ctx context.Context, path string, dryRun bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) || dryRun:
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return workspace.RemoveFolder(ctx, path)
	default:
		return os.Remove(path)
	}
}

// ours are the paths of this user that match and that nothing has happened to for so
// long.
func ours(pattern string, age time.Duration) []string {
	found, _ := filepath.Glob(pattern)
	return slices.DeleteFunc(found, func(path string) bool {
		info, err := os.Lstat(path)
		if err != nil || time.Since(info.ModTime()) < age {
			return true
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		return !ok || int(stat.Uid) != os.Getuid()
	})
}

// olderVersions are the old paths that match, but for the newest of all.
func olderVersions(pattern string, age time.Duration) []string {
	all := ours(pattern, -1<<62)
	if len(all) == 0 {
		return nil
	}
	modified := func(path string) time.Time {
		info, err := os.Lstat(path)
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	newest := slices.MaxFunc(all, func(x, y string) int { return cmp.Compare(modified(x).UnixNano(), modified(y).UnixNano()) })
	return slices.DeleteFunc(ours(pattern, age), func(path string) bool { return path == newest })
}
