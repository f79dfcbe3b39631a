package risk

import "slices"

// protective are the rules whose files protect something, so that their removal is worth
// a note.
var protective = []string{"git-hooks", "hook-manager", "git-ignore", "protection", "github-actions", "forgejo-actions", "gitlab-ci", "ci-pipeline", "lock-file", "go-sum"}

// restrictive are the rules whose files restrict what programs may do or see, so that a removal
// is held back as a change is: hidden files, rules that deny, ignore-scripts.
var restrictive = []string{"aibox-settings", "agent-settings", "npm-settings"}

// lost judges a file that was removed or renamed.
func lost(x *index, name string) []Risk {
	found := x.rules(foldPath(name))
	for _, r := range found {
		if slices.Contains(restrictive, r.name) {
			risk := r.at(0, "taken away: "+name)
			risk.Runs, risk.Severity = "nothing new; what the file forbids is no longer forbidden", Medium
			return []Risk{risk}
		}
	}
	for _, r := range found {
		if slices.Contains(protective, r.name) {
			return protectionLost.one(0, r.title)
		}
	}
	return nil
}
