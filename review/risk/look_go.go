package risk

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// firstLine is the rule's risk at the first added line that fits, with a count when
// there are more.
func firstLine(r *rule, f *File, fits func(text string) bool) []Risk {
	var found []Risk
	more := 0
	f.lines(func(l line) bool {
		switch {
		case !fits(l.text):
		case found == nil:
			found = r.one(l.number, l.text)
		default:
			more++
		}
		return true
	})
	return andMore(found, more)
}

// goEntry is a line of go.mod or go.work that is in effect.
type goEntry struct {
	line
	verb string // its first word, or that of its block
	rest string // without that word
}

// same is what two lines with the same effect have in common.
func (e goEntry) same() string { return e.verb + " " + e.rest }

// goEntries are the lines of go.mod or go.work without comments, each with the word of its block:
// a module that leaves a block is another entry, though its line stays.
func goEntries(text []byte) (all []goEntry) {
	block, number := "", 0
	for part := range bytes.Lines(text) {
		number++
		e := goEntry{line: line{number, strings.TrimSpace(string(part))}, verb: block}
		e.rest = e.text
		verb, rest, _ := strings.Cut(strings.ReplaceAll(e.text, "(", " ("), " ")
		switch {
		case e.text == "" || strings.HasPrefix(e.text, "//"):
			continue
		case strings.HasPrefix(e.text, ")"):
			block = ""
			continue
		case block == "" && strings.HasPrefix(strings.TrimSpace(rest), "("):
			block = verb
			continue
		case block == "":
			e.verb, e.rest = verb, strings.TrimSpace(strings.TrimPrefix(e.text, verb))
		}
		all = append(all, e)
	}
	return all
}

func goMod(r *rule, f *File) []Risk {
	if f.link() {
		return r.one(0, "")
	}
	was, now := map[string]bool{}, map[string]bool{}
	var old []goEntry
	if f.Old.Mode != symlink && !f.Old.Cut {
		old = goEntries(plainText(f.Old.Content))
	}
	entries := goEntries(f.Text())
	for _, e := range old {
		was[e.same()] = true
	}
	var grave, other []goEntry
	for _, e := range entries {
		now[e.same()] = true
		switch {
		case was[e.same()]:
		case slices.Contains([]string{"replace", "toolchain", "tool", "godebug"}, e.verb) || strings.Contains(e.text, "=>"):
			grave = append(grave, e)
		default:
			other = append(other, e)
		}
	}
	for _, added := range [][]goEntry{grave, other} {
		if len(added) > 0 {
			return andMore(r.one(added[0].number, added[0].text), len(added)-1)
		}
	}
	for _, e := range old { // without it, other code is built
		if (e.verb == "exclude" || e.verb == "toolchain" || strings.Contains(e.text, "=>")) && !now[e.same()] {
			return r.one(0, "taken away: "+e.same())
		}
	}
	return nil
}

func goGenerate(r *rule, f *File) []Risk {
	return firstLine(r, f, func(text string) bool { return strings.HasPrefix(text, "//go:generate") })
}

// cgoImport matches the import of C at the start of a line without comments or after another
// statement, and goDirective those that reach into another package or the linker.
var (
	cgoImport = lazy(func() *regexp.Regexp {
		return regexp.MustCompile("(^|;|\\*/)\\s*(import\\s*\\(?\\s*)?[\"`]C[\"`]\\s*($|[;)]|//|/\\*)")
	})
	goDirective = lazy(func() *regexp.Regexp { return regexp.MustCompile(`^//go:(linkname|cgo_)`) })
)

// blockComment matches a comment within a line of Go or Terraform.
var blockComment = lazy(func() *regexp.Regexp { return regexp.MustCompile(`/\*.*?\*/`) })

func cgo(r *rule, f *File) []Risk {
	return firstLine(r, f, func(text string) bool {
		switch {
		case strings.Contains(text, "#cgo") && cgoFlags(text), strings.HasPrefix(text, "//go:") && goDirective().MatchString(text):
			return true
		}
		return (strings.Contains(text, `"C"`) || strings.Contains(text, "`C`")) &&
			cgoImport().MatchString(blockComment().ReplaceAllString(text, " "))
	})
}

// cgoFlags reports whether a line of a comment begins with #cgo. Go takes any blanks of Unicode
// away before it (saveCgo of go/build).
func cgoFlags(text string) bool {
	start := strings.TrimLeftFunc(text, func(c rune) bool { return unicode.IsSpace(c) || c == '/' || c == '*' })
	if strings.HasPrefix(start, "#cgo") {
		return true
	}
	for before := range strings.SplitSeq(text, "#cgo") {
		if strings.HasSuffix(strings.TrimRightFunc(before, unicode.IsSpace), "/*") {
			return true
		}
	}
	return false
}

// goSum finds modules whose checksum has changed.
func goSum(r *rule, f *File) []Risk {
	was := map[string]string{}
	for text := range strings.Lines(string(f.Old.Content)) {
		if fields := strings.Fields(text); len(fields) == 3 {
			was[fields[0]+" "+fields[1]] = fields[2]
		}
	}
	return firstLine(r, f, func(text string) bool {
		fields := strings.Fields(text)
		if len(fields) != 3 {
			return false
		}
		sum, known := was[fields[0]+" "+fields[1]]
		return known && sum != fields[2]
	})
}
