package bakery

import (
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// pipKeys are the settings that determine how pip reaches its registry, with their
// variables. Other settings are ignored.
var pipKeys = map[string]string{
	"index-url": "PIP_INDEX_URL", "extra-index-url": "PIP_EXTRA_INDEX_URL",
	"proxy": "PIP_PROXY", "trusted-host": "PIP_TRUSTED_HOST",
}

// readPip finds pip's settings as pip does, by variable: the environment, then the
// user's file, then the system's.
func readPip(root fs.FS, env func(string) string, home string) map[string]string {
	user := []string{path.Join(home, ".config/pip/pip.conf"), path.Join(home, ".pip/pip.conf")}
	if set := env("XDG_CONFIG_HOME"); set != "" {
		user[0] = path.Join(set, "pip/pip.conf")
	}
	// Later files win.
	files := slices.Concat([]string{"/etc/xdg/pip/pip.conf", "/etc/pip.conf"}, []string{user[1], user[0]}, []string{env("PIP_CONFIG_FILE")})
	found := map[string]string{}
	for _, file := range files {
		data, err := fs.ReadFile(root, strings.TrimPrefix(path.Clean("/"+file), "/"))
		if err == nil {
			maps.Copy(found, parsePip(string(data)))
		}
	}
	for _, name := range pipKeys {
		if value := env(name); value != "" {
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

// pip takes only settings that a build can use and may see: addresses without passwords
// that do not point to this machine.
func (h *Host) pip(settings map[string]string) {
	h.Pip = nil
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		words := strings.Fields(settings[name])
		switch name {
		case "PIP_TRUSTED_HOST":
			words = slices.DeleteFunc(words, func(word string) bool { return !addressForm.MatchString(word) })
		case "PIP_PROXY":
			words = slices.DeleteFunc(words, func(word string) bool {
				if !strings.Contains(word, "://") {
					word = "http://" + word
				}
				u, err := url.Parse(word)
				return err != nil || h.address(u.String(), "pip's proxy") == ""
			})
		default:
			words = slices.DeleteFunc(words, func(word string) bool { return h.address(word, "pip's index") == "" })
		}
		if len(words) == 0 {
			continue
		}
		if h.Pip == nil {
			h.Pip = map[string]string{}
		}
		h.Pip[name] = strings.Join(words, " ")
	}
}
