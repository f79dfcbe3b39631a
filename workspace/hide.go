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
	for _, glob := range g {
		if rooted := strings.Trim(glob, "/"); strings.Contains(glob, "/") {
			if matchPrefix(rooted, file) {
				return true
			}
			continue
		}
		for segment := range strings.SplitSeq(file, "/") {
			if ok, _ := path.Match(glob, segment); ok {
				return true
			}
		}
	}
	return false
}

// matchPrefix matches glob against file or one of the folders above it.
func matchPrefix(glob, file string) bool {
	segments := strings.Split(file, "/")
	depth := strings.Count(glob, "/") + 1
	if depth > len(segments) {
		return false
	}
	ok, _ := path.Match(glob, strings.Join(segments[:depth], "/"))
	return ok
}
