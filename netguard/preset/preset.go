// Package preset defines the names that an allow list can have in place of hosts: "npm",
// "github". A preset of a code forge has hosts. A preset of a package registry has none:
// the sandbox's own tools name their registry, so that it is a mirror that the image or the
// user (see Registry) configures. The package is pure: it defines which programs to run in the
// sandbox and reads their output, which it treats as hostile.
package preset

import (
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/spelling"
	"aibox/netguard"
)

// Preset is a named group of hosts.
type Preset struct {
	Name    string
	Summary string   // its purpose, as a clause without a full stop
	Hosts   []string // entries of an allow list; empty if the image names the hosts
}

// presets lists every preset, in the order of documentation.
var presets = []Preset{
	{Name: "npm", Summary: "the npm registry that the image's npm uses"},
	{Name: "pip", Summary: "the Python package index that the image's pip uses"},
	{Name: "go", Summary: "the module proxy and checksum database that the image's go command uses"},
	{Name: "cargo", Summary: "the crate registry that the image's cargo uses"},
	{Name: "apt", Summary: "the package archives in the image's APT sources"},
	{Name: "github", Summary: "github.com: git over HTTPS, the API, releases and raw files", Hosts: []string{
		"github.com", "api.github.com", "codeload.github.com", "uploads.github.com",
		"raw.githubusercontent.com", "objects.githubusercontent.com", "release-assets.githubusercontent.com", "media.githubusercontent.com",
	}},
	{Name: "gitlab", Summary: "gitlab.com: git over HTTPS, the API and packages", Hosts: []string{"gitlab.com"}},
	{Name: "bitbucket", Summary: "bitbucket.org: git over HTTPS and the API", Hosts: []string{"bitbucket.org", "api.bitbucket.org"}},
	{Name: "codeberg", Summary: "codeberg.org: git over HTTPS, the API and packages", Hosts: []string{"codeberg.org"}},
}

// All returns every preset, in the order of documentation. The caller must not change
// their hosts.
func All() []Preset { return slices.Clone(presets) }

// Names returns the names of all presets.
func Names() []string {
	names := make([]string, len(presets))
	for i, preset := range presets {
		names[i] = preset.Name
	}
	return names
}

// Find returns the preset with the name, or false.
func Find(name string) (Preset, bool) {
	i := slices.IndexFunc(presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, false
	}
	return presets[i], true
}

// Entry is one word of an allow list: a preset or a pattern. Exactly one is set.
type Entry struct {
	Preset  string
	Pattern netguard.Pattern
}

// String returns the entry in canonical form.
func (e Entry) String() string {
	if e.Preset != "" {
		return e.Preset
	}
	return e.Pattern.String()
}

// ParseAllow parses one word of an allow list: the name of a preset, or an entry for
// netguard.ParseAllow. A mistake is a Usage fault with a hint.
func ParseAllow(word string) (Entry, error) {
	if _, ok := Find(word); ok {
		return Entry{Preset: word}, nil
	}
	pattern, err := netguard.ParseAllow(word)
	if err == nil && isSingleLabel(pattern) {
		return Entry{}, unknown(word)
	}
	if err != nil {
		return Entry{}, explain(word, err, netguard.ParseAllow)
	}
	return Entry{Pattern: pattern}, nil
}

// ParseDeny parses one word of a deny list; see netguard.ParseDeny. A mistake is a Usage
// fault with a hint.
func ParseDeny(word string) (netguard.Pattern, error) {
	if _, ok := Find(word); ok {
		return netguard.Pattern{}, fault.New(fault.Usage, "%q is a preset, which only an allow list can have", word).
			Hint("name the hosts to deny, or leave %s out of the allow list", word)
	}
	pattern, err := netguard.ParseDeny(word)
	if err != nil {
		return netguard.Pattern{}, explain(word, err, netguard.ParseDeny)
	}
	return pattern, nil
}

// Narrows reports whether an allow list with the words of next allows at most the requests
// that one with those of now allows; see netguard.Narrows. A preset counts as equal only to
// itself.
func Narrows(next, now []string) bool {
	narrow, ok := patterns(next, now)
	wide, valid := patterns(now, nil)
	return ok && valid && netguard.Narrows(narrow, wide)
}

// patterns returns the patterns of a list. It is false for a word that is not valid, and for
// a preset that is not in allowed; nil allows every preset.
func patterns(words, allowed []string) (all []netguard.Pattern, ok bool) {
	for _, word := range words {
		entry, err := ParseAllow(word)
		switch {
		case err != nil, entry.Preset != "" && allowed != nil && !slices.Contains(allowed, word):
			return nil, false
		case entry.Preset == "":
			all = append(all, entry.Pattern)
		}
	}
	return all, true
}

// isSingleLabel reports whether the pattern's host is a name without a dot. No public host
// has such a name, so it is a misspelled preset.
func isSingleLabel(pattern netguard.Pattern) bool {
	host, _ := pattern.Host()
	return host.Name() != "" && !strings.Contains(host.Name(), ".")
}

func unknown(word string) error {
	bad := fault.New(fault.Usage, "%q is neither a preset nor a host with a domain", word)
	if near := spelling.Nearest(word, Names()); near != "" {
		bad = bad.Hint("did you mean %s?", near)
	}
	return bad.Hint("the presets are %s", strings.Join(Names(), ", "))
}

// explain turns an error about word into a Usage fault. If a part of word is an entry by
// itself, the hint says so.
func explain(word string, err error, parse func(string) (netguard.Pattern, error)) error {
	bad := fault.New(fault.Usage, "%s", err)
	if meant := repair(word); meant != "" && meant != word {
		if pattern, err := parse(meant); err == nil {
			return bad.Hint("did you mean %s?", pattern)
		}
	}
	switch {
	case word == "*" || strings.HasPrefix(word, "*:"):
		return bad.Hint("aibox run --network public …")
	case strings.HasPrefix(word, "*."):
		return bad.Hint("name the domain of one owner, such as *.example.org")
	default:
		return bad.Hint("write HOST, HOST:PORT, *.DOMAIN or a preset: %s", strings.Join(Names(), ", "))
	}
}

// services are the ports of names that users write in place of a number.
var services = map[string]string{"http": "80", "https": "443", "ssh": "22", "git": "9418", "ftp": "21"}

// repair guesses the entry that word was meant to be: without scheme, user and path, with
// the number of a named port, and with *.DOMAIN for .DOMAIN. It returns "" if there is no
// guess.
func repair(word string) string {
	scheme, rest, isURL := strings.Cut(word, "://")
	if !isURL {
		scheme, rest = "", word
	}
	rest, _, _ = strings.Cut(rest, "/")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	if domain, ok := strings.CutPrefix(rest, "."); ok {
		rest = "*." + domain
	}
	if host, port, ok := strings.Cut(rest, ":"); ok && services[port] != "" {
		rest = host + ":" + services[port]
	} else if !ok && scheme == "ssh" {
		rest += ":22"
	}
	return rest
}
