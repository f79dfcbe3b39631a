package bakery

import (
	"maps"
	"slices"
	"strings"
)

// pip returns only the settings of pip that a build can use and may see: addresses without
// secrets that do not point to this machine.
func (a addresses) pip(settings map[string]string) map[string]string {
	var taken map[string]string
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
				return a.check(word, "pip's proxy") == ""
			})
		default:
			words = slices.DeleteFunc(words, func(word string) bool { return a.check(word, "pip's index") == "" })
		}
		if len(words) == 0 {
			continue
		}
		if taken == nil {
			taken = map[string]string{}
		}
		taken[name] = strings.Join(words, " ")
	}
	return taken
}
