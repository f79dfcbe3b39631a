package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aibox/agents"
	"aibox/app/login"
	"aibox/app/run"
	"aibox/app/settings"
	"aibox/bakery"
	"aibox/config"
	"aibox/internal/paths"
	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/preset"
	"aibox/session"
	"aibox/workspace"
)

// Catalog returns the subjects of settings: the options of every agent and the images
// that take a version.
func (a *App) Catalog() config.Catalog {
	catalog := config.Catalog{Inference: modelserver.Validate, Provider: checkProvider, Words: run.ListChecks(), Narrows: preset.Narrows, ReachesLess: session.ReachesLess, Auto: machineLimits(), Version: func(text string) error {
		_, err := bakery.ParseVersion(text)
		return err
	}}
	for _, agent := range a.Agents().All() {
		info := agent.Info()
		catalog.Agents = append(catalog.Agents, config.Agent{Name: info.Name, Options: agents.Options(agent), Login: info.HasLogin()})
		if info.Version != "" && info.Image != bakery.Base && !slices.Contains(catalog.Images, info.Image) {
			catalog.Images = append(catalog.Images, info.Image)
		}
	}
	for _, broken := range a.CustomAgents().Broken {
		catalog.Unread = append(catalog.Unread, strings.TrimSuffix(filepath.Base(broken.Path), ".toml"))
	}
	return catalog
}

// Settings resolves the settings for the repository at repo, a path or a URL; "" means no
// repository. Only a repository with a working tree has its own settings.
func (a *App) Settings(repo string, flags ...config.Override) (*config.Resolved, error) {
	in := config.Input{Environment: os.Environ(), Flags: flags}
	file, err := settings.File()
	if err != nil {
		return nil, err
	}
	if in.User, err = config.ReadUser(file); err != nil {
		return nil, settings.Fault(err)
	}
	if repo != "" && !workspace.IsURL(repo) {
		if top := workspace.WorkingTree(repo); top != "" {
			if in.Repository, err = config.ReadRepository(top); err != nil {
				return nil, settings.Fault(err)
			}
		}
	}
	resolved, err := a.Catalog().Resolve(in)
	return resolved, settings.Fault(err)
}

// SettingsEditor returns the editor of the user's settings file.
func (a *App) SettingsEditor() settings.Editor { return settings.NewEditor(a) }

// Logins returns the user's accounts at the agents' vendors.
func (a *App) Logins() (login.Logins, error) {
	dirs, err := paths.Default()
	return login.New(a, dirs), err
}

// UserSettings returns the settings outside of any repository. They are read once.
func (a *App) UserSettings() (*config.Resolved, error) {
	a.settingsLock.Lock()
	defer a.settingsLock.Unlock()
	if !a.settingsRead {
		a.settings, a.settingsErr = a.Settings("")
		a.settingsRead = true
	}
	return a.settings, a.settingsErr
}

// ForgetUserSettings makes the next call of UserSettings read them again.
func (a *App) ForgetUserSettings() {
	a.settingsLock.Lock()
	defer a.settingsLock.Unlock()
	a.settingsRead = false
}

// AllowsDegraded reports whether the user's own settings allow a session even if this
// machine cannot enforce a limit.
func (a *App) AllowsDegraded() bool {
	own, err := a.UserSettings()
	return err == nil && own.Settings.AllowDegraded
}
