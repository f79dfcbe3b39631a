package risk

import "slices"

// protective are the rules whose files protect something, so that their removal is worth
// a note.
var protective = []string{"git-hooks", "hook-manager", "git-ignore", "protection", "github-actions", "forgejo-actions", "gitlab-ci", "ci-pipeline", "lock-file", "go-sum", "agent-settings", "npm-settings"}

// lost judges a file that was removed or renamed.
func lost(x *index, name string) []Risk {
	for _, r := range x.rules(foldPath(name)) {
		if slices.Contains(protective, r.name) {
			return protectionLost.one(0, r.title)
		}
	}
	return nil
}
