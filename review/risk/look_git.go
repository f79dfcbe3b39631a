package risk

import (
	"regexp"
	"slices"
	"strings"
)

// builtinDrivers are git's built-in names for diff= and merge= (gitattributes(5)), which
// run nothing.
var builtinDrivers = []string{
	"ada", "bash", "bibtex", "cpp", "csharp", "css", "dts", "elixir", "fortran", "fountain", "golang", "html", "java", "kotlin", "markdown", "matlab", "objc", "pascal", "perl", "php", "python", "ruby", "rust", "scheme", "tex",
	"union", "text", "binary",
}

// driver returns the first attribute in a line of .gitattributes that makes git run a
// command; "" if there is none.
func driver(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "#") {
		return ""
	}
	for _, word := range strings.Fields(text) {
		kind, name, ok := strings.Cut(word, "=")
		if !ok || kind != "filter" && (kind != "diff" && kind != "merge" || slices.Contains(builtinDrivers, name)) {
			continue
		}
		return word
	}
	return ""
}

func driverLines(r *rule, f *File) []Risk {
	var found []Risk
	f.lines(func(l line) bool {
		if driver(l.text) != "" {
			found = r.one(l.number, l.text)
		}
		return found == nil
	})
	return found
}

// before returns the reversed change, whose added lines are the removed ones.
func (f *File) before() *File {
	return &File{Path: f.Path, Old: f.New, New: f.Old}
}

func hidingLines(r *rule, f *File) []Risk {
	var found []Risk
	f.lines(func(l line) bool {
		for _, word := range strings.Fields(l.text) {
			if word == "-diff" || word == "binary" || word == "-text" || strings.HasPrefix(word, "linguist-generated") || strings.HasPrefix(word, "linguist-vendored") || strings.HasPrefix(word, "gitlab-generated") {
				found = r.one(l.number, l.text)
			}
		}
		return found == nil
	})
	return found
}

func loosened(r *rule, f *File) []Risk {
	var found []Risk
	f.lines(func(l line) bool {
		if strings.HasPrefix(l.text, "!") {
			found = r.one(l.number, l.text)
		}
		return found == nil
	})
	if found != nil || f.Old.Mode == "" {
		return found
	}
	f.before().lines(func(l line) bool {
		if text := strings.TrimSpace(l.text); text != "" && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "!") {
			found = r.one(0, "taken away: "+text)
		}
		return found == nil
	})
	return found
}

// gitSection is the head of a section of a git configuration. Another head may precede it in
// the line.
var gitSection = lazy(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\[(core|include|includeif|filter|diff|merge|alias|credential|gpg|remote|url|extensions|uploadpack|receive|interactive|pager|sequence|ssh|http|hook|submodule|tar|trailer|sendemail|difftool|mergetool|guitool|man|browser)\b`)
})

// gitHead matches the content of the file HEAD of a repository, as git accepts it.
var gitHead = lazy(func() *regexp.Regexp { return regexp.MustCompile(`^(ref:\s*refs/|[0-9a-fA-F]{40})`) })

func embeddedRepository(r *rule, f *File) []Risk {
	parts := foldPath(f.Path)
	last := parts[len(parts)-1]
	switch {
	case f.link(), f.New.Cut:
	case last == "head" && !gitHead().Match(f.Text()):
		return nil
	case last == "config" && !gitSection().Match(f.Text()):
		return nil
	case last == "gitdir" || last == "commondir":
		if strings.Contains(strings.TrimRight(string(f.Text()), "\r\n"), "\n") {
			return nil
		}
	}
	return r.one(f.first(), "")
}
