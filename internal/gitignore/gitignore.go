// Package gitignore parses the patterns of .gitignore files (gitignore(5)) and matches paths
// like git on a case-sensitive file system. The user's patterns of files in a repository have
// this syntax. It does no I/O, and works on bytes, so that names need not be UTF-8.
//
// It is written by hand because patterns and names can come from an agent: its time is at
// most the length of the name times the length of the pattern. go-git's matcher is based on
// filepath.Match, which lacks [!a] and named classes; doublestar lacks the rules for
// slashes, folders and negation. A test compares this package with git.
package gitignore

import "strings"

// Pattern is one line of a .gitignore file.
type Pattern struct {
	Show bool // it begins with !: matching paths are not ignored

	dir     string // the folder of its .gitignore file; "" for the top
	folders bool   // it ends with /: only for folders
	name    bool   // it has no other slash: for the last part of a path, at any depth
	literal string // the literal beginning of names
	rest    *glob  // the pattern for the rest; nil if nothing may follow
}

// Parse reads one line of the .gitignore file in the folder dir; "" for the top. ok is
// false for an empty line, a comment, and a pattern that no name can match, such as one
// with an unclosed class.
func Parse(line, dir string) (p Pattern, ok bool) {
	if strings.HasPrefix(line, "#") {
		return p, false
	}
	p.dir = dir
	line = trimSpaces(line)
	line, p.Show = strings.CutPrefix(line, "!")
	line, p.folders = strings.CutSuffix(line, "/")
	p.name = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return p, false
	}
	end := strings.IndexAny(line, `*?[\`)
	if end < 0 {
		p.literal = line
		return p, true
	}
	p.literal = line[:end]
	p.rest, ok = compile(line[end:], !p.name)
	return p, ok
}

// trimSpaces cuts the spaces at the end, except one after a backslash.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\':
			i++
			end = min(i+1, len(line))
		case line[i] != ' ':
			end = i + 1
		}
	}
	return line[:end]
}

// Match reports whether the pattern matches the path itself, which is relative to the top
// and has no slash at its end. It does not check the folders above.
func (p *Pattern) Match(path string, isFolder bool) bool {
	if p.folders && !isFolder {
		return false
	}
	if p.dir != "" {
		var below bool
		if path, below = strings.CutPrefix(path, p.dir); !below || !strings.HasPrefix(path, "/") {
			return false
		}
		path = path[1:]
	}
	if p.name {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	rest, ok := strings.CutPrefix(path, p.literal)
	if !ok || p.rest == nil {
		return ok && rest == ""
	}
	return p.rest.match(rest)
}

// Literal returns the pattern that matches the path, from the top, and nothing else. A byte
// that is not valid UTF-8 becomes ?, so that the pattern can be stored as text.
func Literal(path string) string {
	var out strings.Builder
	out.WriteByte('/')
	for _, r := range path {
		switch {
		case r == '\uFFFD':
			out.WriteByte('?')
		case strings.ContainsRune(`*?[\ `, r):
			out.WriteByte('\\')
			out.WriteRune(r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
