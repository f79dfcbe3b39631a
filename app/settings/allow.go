package settings

import (
	"context"
	"errors"
	"slices"
	"strings"

	"aibox/config"
	"aibox/netguard"
)

// errUnchanged reports that the file has the setting already.
var errUnchanged = errors.New("unchanged")

// AllowHost adds an entry to the allow list of the user's settings, unless it is there, and
// returns the path of the file. The entry is a host or a pattern, not a preset.
func (e Editor) AllowHost(_ context.Context, entry string) (file string, err error) {
	return e.addHost("allow", entry, netguard.ParseAllow, func(s config.Settings) []string { return s.Allow })
}

// DenyHost adds an entry to the deny list, as AllowHost does to the allow list.
func (e Editor) DenyHost(_ context.Context, entry string) (file string, err error) {
	return e.addHost("deny", entry, netguard.ParseDeny, func(s config.Settings) []string { return s.Deny })
}

// addHost adds an entry to the list with this key.
func (e Editor) addHost(key, entry string, parse func(string) (netguard.Pattern, error), list func(config.Settings) []string) (file string, err error) {
	pattern, err := parse(entry)
	if err != nil {
		return "", err
	}
	file, err = File()
	if err != nil {
		return "", err
	}
	catalog := e.source.Catalog()
	err = rewrite(func(document *config.Document) ([]byte, error) {
		own, err := catalog.Resolve(config.Input{User: document})
		if err != nil {
			return nil, Fault(err)
		}
		have := list(own.Settings)
		if slices.Contains(have, pattern.String()) {
			return nil, errUnchanged
		}
		return catalog.With(document, key, strings.Join(append(slices.Clone(have), pattern.String()), ","))
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return file, err
}
