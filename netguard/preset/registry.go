package preset

import (
	"fmt"
	"net/url"
	"strings"
)

// Registry is how the tool of a preset is set up on the user's machine. A sandbox gets it
// before the preset's queries run, if nothing in the sandbox sets a registry for the tool, so
// that the preset allows the registry that the tool uses.
type Registry struct {
	Preset  string   `json:"preset"`
	Env     []string `json:"env,omitempty"`     // NAME=VALUE
	Refused string   `json:"refused,omitempty"` // why the sandbox does not get it, as a sentence; Env is empty then
}

// CargoIndex is the variable of the registry that replaces cargo's own, with CargoConfig:
// cargo has no variable for the replacement itself.
const CargoIndex = "CARGO_REGISTRIES_AIBOX_INDEX"

// CargoConfig is the configuration that makes cargo use CargoIndex. Cargo reads it at
// CargoConfigFile from every folder; those of projects come first.
const (
	CargoConfig     = "[source.crates-io]\nreplace-with = \"aibox\"\n"
	CargoConfigFile = "/.cargo/config.toml"
)

// variables are those that set up the tools, by preset. The first is the tool's main one.
var variables = map[string][]string{
	"npm":   {"npm_config_registry"},
	"pip":   {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST"},
	"go":    {"GOPROXY", "GOSUMDB"},
	"cargo": {CargoIndex},
}

// Registry returns the registry of the preset's tool from the user's settings by variable;
// false if the user has none. It never returns a URL with a password, nor one that the preset
// could not allow.
func (p Preset) Registry(settings map[string]string) (Registry, bool) {
	r := Registry{Preset: p.Name}
	for _, variable := range variables[p.Name] {
		value := settings[variable]
		if value == "" || variable == "GOPROXY" && !strings.Contains(value, "://") { // "direct" is no registry
			continue
		}
		if why := p.unfit(variable, value); why != "" {
			return Registry{Preset: p.Name, Refused: why}, true
		}
		r.Env = append(r.Env, variable+"="+value)
	}
	return r, len(r.Env) > 0
}

// mine begins a refusal. Its argument is the tool.
const mine = "the registry that this machine's %s is set up for "

// SecretIn is the registry of a user whose setting of the variable holds a secret.
func (p Preset) SecretIn(variable string) Registry {
	return Registry{Preset: p.Name, Refused: fmt.Sprintf(mine+
		"has a password or a key in its URL, which does not enter a sandbox: give the URL without it with --env %s=URL, and add the secret with --secret", p.Name, variable)}
}

// unfit returns the reason why a sandbox must not get a setting; "" if it can.
func (p Preset) unfit(variable, value string) string {
	secret := p.SecretIn(variable).Refused
	if strings.Contains(value, "@") { // also in what is not a valid URL
		return secret
	}
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\r\n,|", r) }) {
		if !strings.Contains(word, "://") {
			continue // "direct", the name of a database, a host that needs no TLS
		}
		u, err := url.Parse(word)
		host := hostOf(word)
		switch {
		case err != nil || host == "":
			return fmt.Sprintf(mine+"is not at an http address, so that a sandbox does not get it", p.Name)
		case u.RawQuery != "" || u.Fragment != "":
			return secret
		}
		if refused := p.check([]string{host}).Refused; len(refused) > 0 {
			return fmt.Sprintf(mine+"cannot be reached from a sandbox: %s", p.Name, refused[0])
		}
	}
	return ""
}

// ownQueries print "own" if the image or the sandbox's environment sets a registry for the
// tool, and "none" if it would use the one that is built into it.
var ownQueries = map[string]string{
	"npm": `found=$(npm config list) || exit 1
printf '%s\n' "$found" | grep -qE '^(; )?registry = ' && echo own || echo none`,
	"pip": `found=$(python3 -m pip config list) || exit 1
printf '%s\n' "$found" | grep -qE 'index-url=' && echo own || echo none`,
	"go": `found=$(go env GOPROXY GOSUMDB) && unset GOPROXY GOSUMDB && default=$(GOENV=off go env GOPROXY GOSUMDB) || exit 1
[ "$found" = "$default" ] && echo none || echo own`,
	"cargo": `command -v cargo >/dev/null || exit 1
home=${CARGO_HOME:-$HOME/.cargo}
cat "$home/config.toml" "$home/config" /.cargo/config.toml /.cargo/config 2>/dev/null | grep -qE '^ *(replace-with|registry|index) *=' ||
	env | grep -qE '^CARGO_REGISTRIES_[A-Z0-9_]+_INDEX=' && echo own || echo none`,
}

// OwnQuery returns the program that tells whether the sandbox itself sets a registry for the
// preset's tool; see HasNone.
func (p Preset) OwnQuery() []string { return []string{"sh", "-c", ownQueries[p.Name]} }

// HasNone reports whether OwnQuery printed that the tool would use the registry that is built
// into it. A tool that failed is left as it is.
func HasNone(output []byte) bool { return strings.TrimSpace(string(output)) == "none" }
