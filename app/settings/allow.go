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
	pattern, err := netguard.ParseAllow(entry)
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
		allow := own.Settings.Allow
		if slices.Contains(allow, pattern.String()) {
			return nil, errUnchanged
		}
		return catalog.With(document, "allow", strings.Join(append(slices.Clone(allow), pattern.String()), ","))
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return file, err
}
