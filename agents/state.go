package agents

import (
	"slices"
	"strings"

	"aibox/internal/fault"
)

// Contains reports whether the state folder inner is below the state folder outer. Both are
// clean paths of the form "~/…". A folder does not contain itself.
func Contains(outer, inner string) bool { return strings.HasPrefix(inner, outer+"/") }

// checkState refuses an agent if one of its state folders contains or is inside another
// agent's. The same folder is allowed, for two agents that run the same program in
// different ways: a session keeps a folder for each agent.
func (s Set) checkState(info Info) error {
	for _, other := range s.All() {
		for _, own := range info.StateDirs {
			if i := slices.IndexFunc(other.Info().StateDirs, func(dir string) bool { return Contains(own, dir) }); i >= 0 {
				return overlap(info.Name, "the state folder %q contains %q, where %s keeps its conversations", own, other.Info().StateDirs[i], other.Info().Name)
			}
			if i := slices.IndexFunc(other.Info().StateDirs, func(dir string) bool { return Contains(dir, own) }); i >= 0 {
				return overlap(info.Name, "the state folder %q is inside %q, where %s keeps its conversations", own, other.Info().StateDirs[i], other.Info().Name)
			}
		}
	}
	return nil
}

func overlap(name, format string, args ...any) error {
	return fault.New(fault.Usage, format, args...).Hint("use a separate folder, such as state = [%q]", "~/."+name)
}
