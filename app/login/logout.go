package login

import (
	"context"

	"aibox/agents"
	"aibox/app/settings"
	"aibox/config"
)

// Removed is the result of a logout.
type Removed struct {
	Found bool     // there was a login
	Kept  string   // a file with the key that is the user's own, so that it was not removed
	Hosts []string // the vendor's hosts that are no longer accepted
}

// Logout removes the key of the user's account, or the command that prints it, and the
// acceptance of the vendor's hosts. Without a login it changes nothing.
func (l Logins) Logout(ctx context.Context, info agents.Info) (Removed, error) {
	if err := info.CheckLogin(); err != nil {
		return Removed{}, err
	}
	if err := l.checkEnvironment(info); err != nil {
		return Removed{}, err
	}
	source, found, err := l.Find(info.Name)
	if err != nil {
		return Removed{}, err
	}
	if !found {
		return Removed{}, removeFile(l.file(info.Name)) // of a login that was edited by hand
	}
	resolved, err := l.source.Settings("")
	if err != nil {
		return Removed{}, err
	}
	removed := Removed{Found: true}
	fileKey, commandKey := config.LoginKeys(info.Name)
	changes := []settings.Change{{Key: fileKey}, {Key: commandKey}}
	if setting, err := resolved.Find(config.CloudKey(info.Name)); err == nil && setting.Source().Kind == config.UserFile {
		removed.Hosts = resolved.AcceptedCloud(info.Name)
		changes = append(changes, settings.Change{Key: setting.Key})
	}
	if err := l.editor.Change(ctx, changes...); err != nil {
		return Removed{}, err
	}
	l.source.ForgetUserSettings()
	if source.File != "" && !l.owns(info.Name, source) {
		removed.Kept = source.File
	}
	return removed, removeFile(l.file(info.Name))
}
