package risk

import (
	"regexp"
	"strings"
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

func goMod(r *rule, f *File) []Risk {
	if f.link() {
		return r.one(0, "")
	}
	grave := firstLine(r, f, func(text string) bool {
		word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		return word == "replace" || word == "toolchain" || word == "tool" || word == "godebug" || strings.Contains(text, "=>")
	})
	if grave != nil {
		return grave
	}
	if found := firstLine(r, f, func(text string) bool {
		text = strings.TrimSpace(text)
		return text != "" && text != ")" && !strings.HasPrefix(text, "//")
	}); found != nil {
		return found
	}
	var found []Risk
	f.before().lines(func(l line) bool { // without it, other code is built
		if word, _, _ := strings.Cut(strings.TrimSpace(l.text), " "); word == "exclude" || word == "toolchain" || strings.Contains(l.text, "=>") {
			found = r.one(0, "taken away: "+strings.TrimSpace(l.text))
		}
		return found == nil
	})
	return found
}

func goGenerate(r *rule, f *File) []Risk {
	return firstLine(r, f, func(text string) bool { return strings.HasPrefix(text, "//go:generate") })
}

// cgoLine matches lines that make go call a C compiler, or access another package's internals.
var cgoLine = lazy(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\s/*]*#cgo\b|^\s*(import\s+)?"C"|^//go:(linkname|cgo_)`)
})

func cgo(r *rule, f *File) []Risk {
	return firstLine(r, f, func(text string) bool {
		return (strings.Contains(text, "#cgo") || strings.Contains(text, `"C"`) || strings.HasPrefix(text, "//go:")) && cgoLine().MatchString(text)
	})
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
