package bakery

import (
	"maps"
	"slices"
	"strings"
)

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
				return h.address(word, "pip's proxy") == ""
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
