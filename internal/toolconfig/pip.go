package toolconfig

import (
	"maps"
	"path"
	"strings"
)

// pipKeys are the settings that determine how pip reaches its registry, with their
// variables. Other settings are ignored.
var pipKeys = map[string]string{
	"index-url": "PIP_INDEX_URL", "extra-index-url": "PIP_EXTRA_INDEX_URL",
	"proxy": "PIP_PROXY", "trusted-host": "PIP_TRUSTED_HOST",
}

// Pip returns pip's settings by variable: those of the environment, then of the user's file,
// then of the system's.
func (s Source) Pip() map[string]string {
	found := map[string]string{}
	for _, file := range []string{ // later ones win
		"/etc/xdg/pip/pip.conf", "/etc/pip.conf",
		path.Join(s.Home, ".pip/pip.conf"), path.Join(s.folder(), "pip/pip.conf"),
		s.Env("PIP_CONFIG_FILE"),
	} {
		maps.Copy(found, parsePip(s.read(file)))
	}
	for _, name := range pipKeys {
		if value := s.Env(name); value != "" {
			found[name] = value
		}
	}
	return found
}

// parsePip reads a pip.conf: sections of "key = value", where indented lines continue a value.
// Settings of [install] win over those of [global].
func parsePip(text string) map[string]string {
	sections := map[string]map[string]string{"global": {}, "install": {}}
	section, name := "", ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case bare == "" || bare[0] == '#' || bare[0] == ';':
		case bare[0] == '[':
			section, name = strings.Trim(bare, "[]"), ""
		case line[0] == ' ' || line[0] == '\t':
			if values, ok := sections[section]; ok && name != "" {
				values[name] = strings.TrimSpace(values[name] + " " + bare)
			}
		default:
			key, value, _ := strings.Cut(bare, "=")
			name = pipKeys[strings.ReplaceAll(strings.TrimSpace(key), "_", "-")]
			if values, ok := sections[section]; ok && name != "" {
				values[name] = strings.TrimSpace(value)
			}
		}
	}
	maps.Copy(sections["global"], sections["install"])
	return sections["global"]
}
