package risk

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"aibox/internal/gitname"
)

// plainAttributes are those that change nothing in what git stores of a file, apart from
// line endings. Any other name can be a macro of another file, which names a filter.
var plainAttributes = []string{
	"text", "crlf", "eol", "diff", "merge", "binary", "whitespace", "export-ignore", "export-subst", "delta", "encoding",
	"conflict-marker-size", "lockable", "builtin_objectmode",
}

// plainServices begin the names of attributes that hosting services read.
var plainServices = []string{"linguist-", "gitlab-"}

// converting reports whether a line of attributes can change what git stores of a file.
func converting(text string) bool {
	text = strings.Trim(text, " \t\r\n") // git knows no other blanks
	if text == "" || text[0] == '#' {
		return false
	}
	return slices.ContainsFunc(strings.Fields(afterPattern(text)), func(word string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-!"), "=")
		return !slices.Contains(plainAttributes, name) &&
			!slices.ContainsFunc(plainServices, func(service string) bool { return strings.HasPrefix(name, service) })
	})
}

// quotedPattern is a pattern in quotes, with the escapes that git reads (unquote_c_style).
var quotedPattern = lazy(func() *regexp.Regexp {
	return regexp.MustCompile(`^"([^"\\]|\\[abfnrtv"\\]|\\[0-3][0-7][0-7])*"`)
})

// afterPattern is a line of attributes without its pattern, which may be in quotes. As in git, one
// with a wrong escape or without an end ends at the first blank.
func afterPattern(text string) string {
	if quoted := quotedPattern().FindString(text); quoted != "" {
		return text[len(quoted):]
	}
	if end := strings.IndexAny(text, " \t\r\n"); end >= 0 {
		return text[end:]
	}
	return ""
}

// isAttributes reports whether git reads the file at name as attributes, on some disk.
func isAttributes(name string) bool { return gitname.IsDotGitattributes(path.Base(name)) }

// NeedsOld reports whether the rules need the content of a removed file.
func NeedsOld(name string) bool { return isAttributes(name) }

// convertingLines are the lines of a file of attributes that can change what git stores, in
// order, since a later line replaces an earlier one.
func convertingLines(name string, s Side) []line {
	var found []line
	if !isAttributes(name) || s.Mode == "" || s.Mode == symlink { // git follows no link to attributes
		return nil
	}
	number := 0
	for part := range bytes.Lines(s.Content) {
		number++
		if text := strings.TrimSpace(string(part)); converting(string(part)) {
			found = append(found, line{number, text})
		}
	}
	return found
}

// conversions finds a change of what git stores of files: another filter, encoding or
// expansion of ids, or none any more. Its accept would store something else than what the
// review shows.
func conversions(f *File) []Risk {
	oldPath := f.Path
	if f.OldPath != "" {
		oldPath = f.OldPath
	}
	before, after := convertingLines(oldPath, f.Old), convertingLines(f.Path, f.New)
	switch changed := changedLine(before, after); {
	case changed != nil:
		return attributesConvert.one(changed.number, changed.text)
	case len(after) < len(before):
		return attributesConvert.one(0, "taken away: "+changedLine(after, before).text)
	case len(before) > 0 && oldPath != f.Path:
		return attributesConvert.one(0, "moved: "+before[0].text)
	}
	return nil
}

// changedLine returns the first line of after that before does not have at that place; nil
// if after is the beginning of before.
func changedLine(before, after []line) *line {
	for i := range after {
		if i == len(before) || before[i].text != after[i].text {
			return &after[i]
		}
	}
	return nil
}
