package app

import (
	"strings"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/shellquote"
	"aibox/internal/sorting"
	"aibox/netguard/gateway/modelserver"
)

// providers returns the model servers that the user's settings describe. The same settings
// give the same servers, so that a key command runs once for all of them. If the settings
// cannot be read, there are none; operations that need the settings report that.
func (a *App) providers() []modelserver.Provider {
	own, err := a.UserSettings()
	if err != nil {
		return nil
	}
	a.settingsLock.Lock()
	defer a.settingsLock.Unlock()
	if a.providersOf == own {
		return a.providerList
	}
	var all []modelserver.Provider
	for name, settings := range own.Providers {
		if p, err := describeProvider(name, settings); err == nil {
			all = append(all, p.Share())
		}
	}
	sorting.Func(all, func(a, b *modelserver.Provider) int { return strings.Compare(a.Name, b.Name) })
	a.providersOf, a.providerList = own, all
	return all
}

// describeProvider reads the settings of a provider.
func describeProvider(name string, s config.Provider) (modelserver.Provider, error) {
	argv, err := shellquote.Split(s.KeyCommand)
	if err != nil {
		return modelserver.Provider{}, fault.New(fault.Usage, "key-command of [providers.%s] cannot be read: %w", name, err).
			Hint(`for a pipe or a variable, name a script: key-command = "/home/me/bin/key"`)
	}
	file, err := paths.ExpandHome(s.KeyFile)
	if err != nil {
		return modelserver.Provider{}, fault.New(fault.Usage, "key-file of [providers.%s] %w", name, err).Hint(`write a whole path, such as "~/.config/aibox/key"`)
	}
	return modelserver.Provider{
		Name: name, Kind: s.Kind, URL: s.URL, Dialects: s.Dialect, Region: s.Region, Project: s.Project, APIVersion: s.APIVersion,
		KeyEnv: s.KeyEnv, KeyFile: file, KeyCommand: argv, KeyLifetime: s.KeyLifetime,
	}, nil
}

// checkProvider is config.Catalog.Provider.
func checkProvider(name string, s config.Provider) error {
	p, err := describeProvider(name, s)
	if err != nil {
		return err
	}
	return p.Check()
}
