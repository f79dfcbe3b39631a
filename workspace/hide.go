package workspace

import (
	"strings"

	"aibox/internal/gitignore"
)

// DefaultHide returns the built-in globs for hidden files, which come before the user's
// own. They name the files that programs store private keys in; a private key under
// another name is found by its content.
func DefaultHide() []string {
	return []string{
		".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template",
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!id_*.*", "!id_*/",
	}
}

// formerHide is what DefaultHide returned in earlier versions.
var formerHide = []string{".env", ".env.*", "*.pem", "id_*"}

// OwnHide returns the user's own globs of a record, which follow the built-in ones.
func OwnHide(globs []string) []string {
	for _, builtIn := range [][]string{DefaultHide(), formerHide} {
		if own, ok := cutPrefix(globs, builtIn); ok {
			return own
		}
	}
	return globs
}

func cutPrefix(words, prefix []string) ([]string, bool) {
	if len(words) < len(prefix) {
		return words, false
	}
	for i, word := range prefix {
		if words[i] != word {
			return words, false
		}
	}
	return words[len(prefix):], true
}

// Globs select the hidden files of a repository. They have the syntax of .gitignore: the
// last glob that matches a path decides, and a leading ! shows the file again.
type Globs struct {
	words    []string
	patterns []gitignore.Pattern
	list     gitignore.List
	builtIn  int // how many of the first globs are DefaultHide; with them, keys are hidden by content
	recorded bool
}

// ParseGlobs checks the globs that a user gave.
func ParseGlobs(words []string) (*Globs, error) {
	g := &Globs{builtIn: countBuiltIn(words)}
	for _, word := range words {
		p, err := gitignore.ParseWord(word)
		if err != nil {
			return nil, err
		}
		g.add(word, p)
	}
	return g, nil
}

// countBuiltIn returns how many of the globs are DefaultHide: all of it or nothing.
func countBuiltIn(words []string) int {
	if _, ok := cutPrefix(words, DefaultHide()); ok {
		return len(DefaultHide())
	}
	return 0
}

// recordedGlobs parses the globs of a record. It skips globs that only earlier versions
// accepted; they matched no name. Each private key has its own glob there.
func recordedGlobs(words []string) *Globs {
	g := &Globs{builtIn: countBuiltIn(words), recorded: true}
	for _, word := range words {
		if p, err := gitignore.ParseWord(word); err == nil {
			g.add(word, p)
		}
	}
	return g
}

func (g *Globs) add(word string, p gitignore.Pattern) {
	g.words, g.patterns = append(g.words, word), append(g.patterns, p)
	g.list.Add(p)
}

// Match reports whether the file or a folder above it is hidden.
func (g *Globs) Match(file string) bool { return g.list.Match(file, false) }

// Matcher returns Match for many files of the same folders: it caches the result for the
// last folder. It is not safe for concurrent use.
func (g *Globs) Matcher() func(file string) bool {
	last, hidden := "", false
	return func(file string) bool {
		if i := strings.LastIndexByte(file, '/'); i >= 0 {
			if dir := file[:i]; dir != last {
				last, hidden = dir, g.list.Match(dir, true)
			}
			if hidden {
				return true
			}
		}
		return g.list.Entry(file, false)
	}
}

// hidesKeys reports whether a file is hidden if it turns out to be a private key: the
// built-in globs are in force, and no glob of the user shows the file. In a record, each key of
// the user's files has its own glob, and other keys are the agent's.
func (g *Globs) hidesKeys(file string) bool { return !g.recorded && g.hidesFormerKeys(file) }

// hidesFormerKeys is hidesKeys for a file of the history.
func (g *Globs) hidesFormerKeys(file string) bool {
	if g.builtIn == 0 {
		return false
	}
	for i := range len(file) + 1 {
		if (i == len(file) || file[i] == '/') && g.list.Last(file[:i], i < len(file)) >= g.builtIn {
			return false // the last matching glob is the user's, and hid no folder
		}
	}
	return true
}

// idle returns the user's globs that match none of the files and none of their folders.
func (g *Globs) idle(files ...[]string) []string {
	var idle []string
	for i := g.builtIn; i < len(g.patterns); i++ {
		if !g.matchesAny(i, files) {
			idle = append(idle, g.words[i])
		}
	}
	return idle
}

func (g *Globs) matchesAny(at int, files [][]string) bool {
	p := &g.patterns[at]
	for _, list := range files {
		dir := ""
		for _, file := range list {
			if p.Match(file, false) {
				return true
			}
			if now := folderOf(file); now != dir {
				dir = now
				for ; now != "."; now = folderOf(now) {
					if p.Match(now, true) {
						return true
					}
				}
			}
		}
	}
	return false
}
