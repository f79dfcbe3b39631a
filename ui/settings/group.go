package settings

import (
	"cmp"
	"slices"

	"aibox/config"
)

// groups are the headings of the settings at the top of the file, in order.
var groups = []struct {
	title string
	keys  []string
}{
	{"sandbox", []string{"agent", "image", "network", "hide", "read-only", "mount", "env", "clean", "system"}},
	{"egress proxy", []string{"allow", "deny", "ask", "ask-timeout", "egress-upload", "egress-download", "egress-upload-host", "egress-download-host", "inspect", "secret", "ssh-agent", "learn", "own-addresses"}},
	{"limits", []string{"timeout", "idle-timeout", "memory", "cpus", "pids", "disk", "state-size", "max-output", "sandboxes", "allow-degraded"}},
	{"model", []string{"inference", "model", "inference-tools", "model-timeout", "max-tokens", "max-cost", "max-upload"}},
	{"review", []string{"accept", "require-changes", "verify", "verify-timeout", "pager"}},
	{"this machine", []string{"rootful", "max-parallel", "keep", "notify", "notify-on", "notify-command", "audit-keep", "audit-command"}},
}

// place is where a setting belongs: a group, and its rank in there.
type place struct{ group, rank int }

// placeOf returns the place of a setting. Those in a section of the file come after all
// groups, in the order of the file.
func placeOf(setting config.Setting) place {
	if setting.Section() != "" {
		return place{len(groups) + 1, 0}
	}
	for i, group := range groups {
		if rank := slices.Index(group.keys, setting.Key); rank >= 0 {
			return place{i, rank}
		}
	}
	return place{len(groups), 0}
}

// heading returns the heading above a setting.
func heading(setting config.Setting) string {
	switch at := placeOf(setting); {
	case setting.Section() != "":
		return setting.Section()
	case at.group < len(groups):
		return groups[at.group].title
	default:
		return "other"
	}
}

// grouped returns the settings in the order of their groups.
func grouped(all []config.Setting) []config.Setting {
	return slices.SortedStableFunc(slices.Values(all), func(a, b config.Setting) int {
		x, y := placeOf(a), placeOf(b)
		return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.rank, y.rank))
	})
}
