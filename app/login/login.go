// Package login stores where the key of the user's account at an agent's vendor is: a file
// of its own that only the user can read, or a command that prints the key. Both are named
// in the user's settings, with the vendor's hosts that the user accepts.
package login

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"aibox/agents"
	"aibox/app/run"
	"aibox/app/settings"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/redact"
	"aibox/internal/secret"
)

// Logins are the user's logins.
type Logins struct {
	source settings.Source
	editor settings.Editor
	dirs   paths.Dirs
}

// New returns the logins in the settings that source resolves.
func New(source settings.Source, dirs paths.Dirs) Logins {
	return Logins{source, settings.NewEditor(source), dirs}
}

// Key is the key of an account: the key itself, or a command that prints it.
type Key struct {
	Text    secret.Value
	Command string
}

// Stored is the result of a login.
type Stored struct {
	Replaced bool   // there was a login already
	File     string // the file with the key; empty for a command
	// Left is why the file with the previous key, which the login does not use any more, is still
	// there; nil if it is not.
	Left error
}

// Find returns where the key of the user's account for an agent is.
func (l Logins) Find(agent string) (source config.SecretSource, found bool, err error) {
	l.source.ForgetUserSettings()
	resolved, err := l.source.Settings("")
	if err != nil {
		return config.SecretSource{}, false, err
	}
	source, found = resolved.Logins[agent]
	return source, found, nil
}

// Unaccepted returns the hosts of the agent's vendor that a login has to accept; found is
// false if the user has accepted all of them.
func (l Logins) Unaccepted(info agents.Info) (unaccepted run.UnacceptedCloud, found bool, err error) {
	resolved, err := l.source.Settings("")
	if err != nil {
		return run.UnacceptedCloud{}, false, err
	}
	err = run.CheckCloud(info, agents.Cloud, resolved)
	if unaccepted, found = run.IsUnacceptedCloud(err); found {
		return unaccepted, true, nil
	}
	return run.UnacceptedCloud{}, false, err
}

// Login stores a key and accepts the vendor's hosts. A command runs once, to check its key.
// If Login fails, nothing has changed.
func (l Logins) Login(ctx context.Context, info agents.Info, key Key) (Stored, error) {
	if err := l.check(ctx, info, key); err != nil {
		return Stored{}, err
	}
	unaccepted, accepts, err := l.Unaccepted(info)
	if err != nil {
		return Stored{}, err
	}
	before, replaced, err := l.Find(info.Name)
	if err != nil {
		return Stored{}, err
	}
	stored := Stored{Replaced: replaced}
	fileKey, commandKey := config.LoginKeys(info.Name)
	undo := func() {}
	changes := []settings.Change{{Key: fileKey}, {Key: commandKey, Text: key.Command}}
	if key.Command == "" {
		stored.File = l.file(info.Name)
		if undo, err = l.write(stored.File, key.Text); err != nil {
			return Stored{}, err
		}
		changes = []settings.Change{{Key: commandKey}, {Key: fileKey, Text: named(stored.File)}}
	}
	if accepts {
		cloud, hosts := unaccepted.Accept()
		changes = append(changes, settings.Change{Key: cloud, Text: hosts})
	}
	if err := l.editor.Change(ctx, changes...); err != nil {
		undo()
		return Stored{}, err
	}
	l.source.ForgetUserSettings()
	if key.Command != "" && l.owns(info.Name, before) {
		stored.Left = removeFile(l.file(info.Name))
	}
	return stored, nil
}

// check refuses what cannot be stored.
func (l Logins) check(ctx context.Context, info agents.Info, key Key) error {
	if err := info.CheckLogin(); err != nil {
		return err
	}
	if err := l.checkEnvironment(info); err != nil {
		return err
	}
	if key.Command == "" {
		return run.CheckLoginKey(key.Text)
	}
	_, err := run.ReadLogin(ctx, info.Name, config.SecretSource{Command: key.Command})
	return err
}

// checkEnvironment refuses to change a login that a variable of the environment overrides.
func (l Logins) checkEnvironment(info agents.Info) error {
	resolved, err := l.source.Settings("")
	if err != nil {
		return err
	}
	fileKey, commandKey := config.LoginKeys(info.Name)
	for _, key := range []string{fileKey, commandKey} {
		setting, err := resolved.Find(key)
		if err != nil {
			return err
		}
		if setting.Source().Kind == config.Environment {
			return fault.New(fault.Usage, "the environment variable %s sets the login to %s", setting.Variable(), info.Title).Hint("unset %s", setting.Variable())
		}
	}
	return nil
}

// file returns the path of the file in which Login stores an agent's key.
func (l Logins) file(agent string) string { return filepath.Join(l.dirs.Config, "keys", agent) }

// named returns the path of a file as the settings name it: with ~ for the home folder.
func named(file string) string {
	short := paths.Short(file)
	if whole, err := paths.ExpandHome(short); err == nil && whole == file {
		return short
	}
	return file
}

// owns reports whether the key of a login is in the file that Login stores keys in.
func (l Logins) owns(agent string, source config.SecretSource) bool {
	file, err := paths.ExpandHome(source.File)
	return err == nil && file == l.file(agent)
}

// write stores a key. undo restores the previous state.
func (l Logins) write(file string, key secret.Value) (undo func(), err error) {
	before, readErr := paths.ReadSmall(file, redact.Most+64)
	if err = paths.MakePrivate(filepath.Dir(file)); err == nil {
		err = paths.WriteFile(file, []byte(key.Reveal()+"\n"))
	}
	if err != nil {
		return nil, fault.New(fault.Environment, "the key cannot be stored: %w", err).
			Hint("make the folder %s writable, or set XDG_CONFIG_HOME to another one", paths.Short(l.dirs.Config))
	}
	return func() {
		if readErr != nil {
			_ = os.Remove(file)
			return
		}
		_ = paths.WriteFile(file, before)
	}, nil
}

func removeFile(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Environment, "the key cannot be removed: %w", err).Hint("remove the file yourself: rm %s", paths.Short(file))
	}
	return nil
}
