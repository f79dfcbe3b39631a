package run

import (
	"maps"
	"slices"

	"aibox/internal/toolconfig"
	"aibox/netguard/preset"
	"aibox/review/risk/secrets"
	"aibox/session"
)

// ownRegistries returns the registries of the user's package tools whose presets the session
// allows.
func ownRegistries(spec *session.Spec, tools toolconfig.Source) ([]preset.Registry, error) {
	if !spec.Mode().HasProxy() {
		return nil, nil
	}
	_, names, err := spec.Policy()
	if err != nil {
		return nil, err
	}
	settings := map[string]func() map[string]string{
		"npm":   func() map[string]string { return map[string]string{"npm_config_registry": tools.NPM()} },
		"pip":   tools.Pip,
		"go":    tools.Go,
		"cargo": func() map[string]string { return map[string]string{preset.CargoIndex: tools.Cargo()} },
	}
	var registries []preset.Registry
	for _, name := range names {
		read, ok := settings[name]
		if !ok {
			continue
		}
		found, _ := preset.Find(name)
		if registry, ok := ownRegistry(found, read()); ok {
			registries = append(registries, registry)
		}
	}
	return registries, nil
}

// ownRegistry returns the registry of a preset's tool from the user's settings by variable; false
// if the user has none. A URL with a secret in its path is refused, like one with a password.
func ownRegistry(p preset.Preset, settings map[string]string) (preset.Registry, bool) {
	for _, variable := range slices.Sorted(maps.Keys(settings)) {
		if secrets.InURL(settings[variable]) {
			return p.SecretIn(variable), true
		}
	}
	return p.Registry(settings)
}
