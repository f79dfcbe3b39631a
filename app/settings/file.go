package settings

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"aibox/config"
	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/internal/termtext"
)

// File returns the path of the user's settings file. The file need not exist.
func File() (string, error) {
	dirs, err := paths.Default()
	return filepath.Join(dirs.Config, config.UserName), err
}

// Fault adds a hint to an error of a settings file: how to fix it. It returns nil for
// nil.
func Fault(err error) error {
	if err == nil {
		return nil
	}
	file, _ := File()
	switch place, _, _ := strings.Cut(err.Error(), "\n"); {
	case strings.HasPrefix(place, file+" cannot be used: "):
		return err // its owner or mode is wrong, which an editor does not change
	case strings.HasPrefix(place, file):
		return fault.New(fault.KindOf(err), "%w", err).Hint("`aibox config edit` opens it")
	case strings.Contains(place, "/"+config.RepositoryName):
		return fault.New(fault.KindOf(err), "%w", err).Hint("fix or remove it: an agent may have written it")
	default:
		return err
	}
}

// lock waits until no other process changes the settings file, which need not exist. The lock must
// be closed. Without it, one of two changes at the same time would be lost: each replaces the file
// with a copy of what it has read.
func lock(ctx context.Context, file string) (*flock.Lock, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, unwritable(file, err)
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // its folder is the one that is written to
	}
	held, err := flock.Wait(ctx, filepath.Join(filepath.Dir(file), lockName), flock.Exclusive)
	if err != nil && ctx.Err() == nil {
		return nil, unwritable(file, err)
	}
	return held, err
}

// lockName is the file beside the settings that is locked. The settings file itself cannot be,
// because each change replaces it.
const lockName = "." + config.UserName + ".lock"

// write replaces the settings file or, if that is a link, its target. The caller holds the lock.
func write(file string, data []byte) error {
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		target = file
	}
	if err := paths.WriteFile(target, data); err != nil {
		return unwritable(target, err)
	}
	return nil
}

// unwritable returns why the settings file cannot be changed.
func unwritable(file string, err error) error {
	failed := fault.New(fault.Environment, "%s cannot be written: %w", termtext.Escape(file), err)
	if diskerr.Is(err) {
		return diskerr.Explain(failed, filepath.Dir(file))
	}
	return failed.Hint("make its folder writable, or set XDG_CONFIG_HOME to another one")
}
