package settings

import (
	"os"
	"path/filepath"
	"strings"

	"aibox/config"
	"aibox/internal/diskerr"
	"aibox/internal/fault"
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
	case strings.HasPrefix(place, file):
		return fault.New(fault.KindOf(err), "%w", err).Hint("`aibox config edit` opens it")
	case strings.Contains(place, "/"+config.RepositoryName):
		return fault.New(fault.KindOf(err), "%w", err).Hint("fix or remove it: an agent may have written it")
	default:
		return err
	}
}

// write replaces the settings file or, if that is a link, its target.
func write(file string, data []byte) error {
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		target, err = file, os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = paths.WriteFile(target, data)
	}
	if err != nil {
		failed := fault.New(fault.Environment, "%s cannot be written: %w", termtext.Escape(file), err)
		if diskerr.Is(err) {
			return diskerr.Explain(failed, filepath.Dir(target))
		}
		return failed.Hint("make its folder writable, or set XDG_CONFIG_HOME to another one")
	}
	return nil
}
