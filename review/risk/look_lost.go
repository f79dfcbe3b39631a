package risk

import (
	"slices"
	"strings"
)

// protective are the rules whose files protect something, so that their removal is worth
// a note.
var protective = []string{"git-hooks", "hook-manager", "git-ignore", "protection", "github-actions", "forgejo-actions", "gitlab-ci", "ci-pipeline", "lock-file", "go-sum"}

// npmRestrictive begin the names of the files of npm-settings that can restrict something. The
// others are packages, programs, and lists that every update of dependencies rewrites.
var npmRestrictive = []string{".npmrc", ".yarnrc", "bunfig.toml", ".bunfig.toml", "pnpm-workspace.", ".pnpmfile.", "pnpmfile."}

// restricts reports whether a file of the rule can restrict what programs may do or see, so that
// its removal is held back as a change is: hidden files, rules that deny, ignore-scripts.
func restricts(r *rule, parts []string) bool {
	name := parts[len(parts)-1]
	switch r.name {
	case "npm-settings":
		return !packed(parts) && slices.ContainsFunc(npmRestrictive, func(begin string) bool { return strings.HasPrefix(name, begin) })
	case "agent-settings": // a command is a text that the user can send to the agent
		return len(parts) < 3 || parts[len(parts)-2] != "commands" || !strings.HasSuffix(name, ".md")
	}
	return r.name == "aibox-settings"
}

// lost judges a file that was removed or renamed.
func lost(x *index, name string) []Risk {
	parts := foldPath(name)
	found := x.rules(parts)
	for _, r := range found {
		if restricts(r, parts) {
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
