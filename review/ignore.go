package review

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"aibox/workspace"
)

// ignoreRules are the user's own ignore rules as they stood before the agent.
// What the agent wrote into ignore files since does not count.
type ignoreRules struct{ matcher gitignore.Matcher }

func newIgnoreRules(files []workspace.IgnoreFile) ignoreRules {
	var patterns []gitignore.Pattern
	for _, file := range files {
		var domain []string
		if len(file.Dir) > 0 {
			domain = strings.Split(string(file.Dir), "/")
		}
		for line := range strings.SplitSeq(string(file.Data), "\n") {
			line = strings.TrimSuffix(line, "\r")
			if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
				continue
			}
			patterns = append(patterns, gitignore.ParsePattern(trimSpaces(line), domain))
		}
	}
	return ignoreRules{gitignore.NewMatcher(patterns)}
}

// trimSpaces cuts trailing spaces unless the last is escaped (gitignore(5)).
func trimSpaces(line string) string {
	trimmed := strings.TrimRight(line, " ")
	if strings.HasSuffix(trimmed, `\`) && len(trimmed) < len(line) {
		return trimmed + " "
	}
	return trimmed
}

// match reports whether the rules leave path out.
func (r ignoreRules) match(path string, dir bool) bool {
	return r.matcher.Match(strings.Split(path, "/"), dir)
}
