package toolconfig

import (
	"cmp"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// sourceLimit bounds how many sources replace each other, since they may do so in a circle.
const sourceLimit = 8

// Cargo returns the index of the registry that replaces cargo's own; "" if none does, or if
// its crates are in a folder.
func (s Source) Cargo() string {
	home := cmp.Or(s.Env("CARGO_HOME"), path.Join(s.Home, ".cargo"))
	text := cmp.Or(s.read(path.Join(home, "config.toml")), s.read(path.Join(home, "config")))
	var settings struct {
		Source map[string]struct {
			ReplaceWith string `toml:"replace-with"`
			Registry    string `toml:"registry"`
		} `toml:"source"`
		Registries map[string]struct {
			Index string `toml:"index"`
		} `toml:"registries"`
	}
	if toml.Unmarshal([]byte(text), &settings) != nil {
		return ""
	}
	name := settings.Source["crates-io"].ReplaceWith
	for range sourceLimit {
		next := settings.Source[name].ReplaceWith
		if next == "" {
			break
		}
		name = next
	}
	if name == "" {
		return ""
	}
	variable := "CARGO_REGISTRIES_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_INDEX"
	return cmp.Or(settings.Source[name].Registry, s.Env(variable), settings.Registries[name].Index)
}
