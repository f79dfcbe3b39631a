package risk

import "slices"

// protective are the rules whose files protect, so that their end is worth a note.
var protective = []string{"git-hooks", "hook-manager", "git-ignore", "protection", "github-actions", "forgejo-actions", "gitlab-ci", "ci-pipeline", "lock-file", "go-sum", "agent-settings", "npm-settings"}

// lost judges a file that is not there any more under its name.
func lost(x *index, name string) []Risk {
	for _, r := range x.rules(foldPath(name)) {
		if slices.Contains(protective, r.name) {
			return protectionLost.one(0, r.title)
		}
	}
	return nil
}
