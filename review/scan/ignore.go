package scan

import (
	"aibox/internal/gitignore"
	"aibox/workspace"
)

// newIgnoreRules are the user's own ignore rules as they stood before the agent. What
// the agent wrote into ignore files since does not count.
func newIgnoreRules(files []workspace.IgnoreFile) *gitignore.List {
	rules := &gitignore.List{}
	for _, file := range files {
		rules.AddFile(string(file.Dir), string(file.Data))
	}
	return rules
}
