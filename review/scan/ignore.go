package scan

import (
	"aibox/internal/gitignore"
	"aibox/workspace"
)

// newIgnoreRules returns the user's own ignore rules from before the agent ran. The
// agent's changes to ignore files do not count.
func newIgnoreRules(files []workspace.IgnoreFile) *gitignore.List {
	rules := &gitignore.List{}
	for _, file := range files {
		rules.AddFile(string(file.Dir), string(file.Data))
	}
	return rules
}
