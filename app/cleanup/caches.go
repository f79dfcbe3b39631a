package cleanup

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
	"aibox/workspace"
)

// scratchAge is how long a temporary file must have been unchanged before it counts as
// abandoned.
const scratchAge = 24 * time.Hour

// removeCaches removes old cached files, and temporary files of commands that were
// killed.
func removeCaches(ctx context.Context, dirs paths.Dirs, report *Report, olderThan time.Duration) error {
	var errs []error
	remove := func(kind Kind, path string) {
		files, bytes := workspace.Measure(path)
		if err := removePath(ctx, path, report.DryRun); err != nil {
			errs = append(errs, err)
			return
		}
		report.Add(kind, path, files, bytes)
	}
	for _, path := range ownedPaths(filepath.Join(dirs.Cache, "models", "*.json"), olderThan) {
		remove(KindCaches, path)
	}
	for _, path := range olderVersions(filepath.Join(dirs.Cache, "init", "aibox-init-*"), olderThan) {
		remove(KindCaches, path)
	}
	for _, pattern := range []string{
		filepath.Join(dirs.Cache, "setup-*"), filepath.Join(dirs.Cache, "init", ".aibox-init.*"), filepath.Join(dirs.Cache, "models", ".*"),
		filepath.Join(os.TempDir(), "aibox-probe-*"), filepath.Join(os.TempDir(), "aibox-check-*.toml"),
		filepath.Join(os.TempDir(), "aibox-bundle-*"), filepath.Join(os.TempDir(), "aibox-message-*"),
	} {
		for _, path := range ownedPaths(pattern, scratchAge) {
			remove(KindScratch, path)
		}
	}
	return errors.Join(errs...)
}

func removePath(ctx context.Context, path string, dryRun bool) error {
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

// ownedPaths returns the paths that match, belong to this user and have been unchanged
// for this time.
func ownedPaths(pattern string, age time.Duration) []string {
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

// olderVersions returns the old paths that match, without the newest one.
func olderVersions(pattern string, age time.Duration) []string {
	all := ownedPaths(pattern, -1<<62)
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
	return slices.DeleteFunc(ownedPaths(pattern, age), func(path string) bool { return path == newest })
}
