package workspace

import (
	"path"
	"strings"

	"aibox/internal/fault"
)

// Globs match files of a repository by name. A glob without a slash matches any
// segment of a path, so ".env" hides a file and "secrets" a whole folder; one
// with a slash matches from the top of the repository.
type Globs []string

// ParseGlobs checks the globs that a user gave.
func ParseGlobs(globs []string) (Globs, error) {
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			return nil, fault.New(fault.Usage, "%q is not a glob", glob).
				Hint("use * and ? and [a-z], as in --hide '*.key'; a glob with a slash counts from the top: --hide 'config/*.yml'")
		}
	}
	return globs, nil
}

// Match reports whether file or a folder above it matches.
func (g Globs) Match(file string) bool {
	return g.Matcher()(file)
}

// Matcher is Match for many files of the same folders: it remembers the answer
// for the folder it was last asked about. It is not safe for concurrent use.
func (g Globs) Matcher() func(file string) bool {
	last, hidden := "", false
	return func(file string) bool {
		if i := strings.LastIndexByte(file, '/'); i >= 0 {
			if dir := file[:i]; dir != last {
				last, hidden = dir, g.matchAbove(dir)
			}
			if hidden {
				return true
			}
		}
		return g.MatchEntry(file)
	}
}

func (g Globs) matchAbove(dir string) bool {
	for end := 0; end < len(dir); end++ {
		if i := strings.IndexByte(dir[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(dir)
		}
		if g.MatchEntry(dir[:end]) {
			return true
		}
	}
	return false
}

// MatchEntry is Match for a file whose folders are known not to match.
func (g Globs) MatchEntry(file string) bool {
	name := file[strings.LastIndexByte(file, '/')+1:]
	for _, glob := range g {
		if strings.Contains(glob, "/") {
			if ok, _ := path.Match(strings.Trim(glob, "/"), file); ok {
				return true
			}
		} else if ok, _ := path.Match(glob, name); ok {
			return true
		}
	}
	return false
}
