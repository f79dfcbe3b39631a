package settings

import (
	"context"
	"errors"
	"slices"

	"aibox/config"
	"aibox/netguard"
)

// errUnchanged reports that the file already has the setting.
var errUnchanged = errors.New("unchanged")

// AllowHost adds an entry to the allow list of the user's settings, unless it is already
// there, and returns the path of the file. If the settings have a list for the agent, the
// entry is added to that list, because it replaces the general one. The entry is a host or
// a pattern, not a preset.
func (e Editor) AllowHost(ctx context.Context, agent, entry string) (file string, err error) {
	return e.addHost(ctx, "allow", agent, entry, netguard.ParseAllow)
}

// DenyHost adds an entry to the deny list, as AllowHost does to the allow list.
func (e Editor) DenyHost(ctx context.Context, agent, entry string) (file string, err error) {
	return e.addHost(ctx, "deny", agent, entry, netguard.ParseDeny)
}

// addHost adds an entry to the list with this key, or to the agent's list with the same
// key.
func (e Editor) addHost(ctx context.Context, key, agent, entry string, parse func(string) (netguard.Pattern, error)) (file string, err error) {
	pattern, err := parse(entry)
	if err != nil {
		return "", err
	}
	file, err = File()
	if err != nil {
		return "", err
	}
	catalog := e.source.Catalog()
	err = e.rewrite(ctx, func(document *config.Document) ([]byte, error) {
		own, err := e.resolve(document)
		if err != nil {
			return nil, Fault(err)
		}
		list, err := own.Find("agents." + agent + "." + key)
		if err != nil || list.Source().Kind == config.BuiltIn {
			if list, err = own.Find(key); err != nil {
				return nil, err
			}
		}
		have, _ := list.Value.([]string)
		if slices.Contains(have, pattern.String()) {
			return nil, errUnchanged
		}
		list.Value = append(slices.Clone(have), pattern.String())
		return catalog.With(document, list.Key, list.Text()) // which quotes an entry with a comma
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return file, err
}
