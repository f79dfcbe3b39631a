package risk

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// vimLine is a modeline that sets an option holding an expression.
var vimLine = lazy(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|\s)(?:vi|[Vv]im[<=>]?\d*|ex):.*(?:expr\b|\bfde\b|\bfex\b|\binde\b|\binex\b|\bstl\b|\bstatusline\b|rulerformat|titlestring|iconstring|guitablabel|\bgtl\b|%\{|system\(|execute|:!)`)
})

// vimMark is the beginning of a modeline.
var vimMark = lazy(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|\s)(?:vi|[Vv]im[<=>]?\d*|ex):`) })

// maxModelines is how many bytes of the first and last lines are tried. Beyond them, any
// modeline counts.
const maxModelines = 256 << 10

func modeline(r *rule, f *File) []Risk {
	text := f.Text()
	if f.link() || !bytes.Contains(text, []byte("vi:")) && !bytes.Contains(text, []byte("vim")) && !bytes.Contains(text, []byte("Vim")) && !bytes.Contains(text, []byte("ex:")) {
		return nil
	}
	last := bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n")) + 1
	var found []Risk
	left := maxModelines
	f.lines(func(l line) bool {
		if l.number <= 5 || l.number > last-5 {
			left -= len(l.text)
			if left >= 0 && vimLine().MatchString(l.text) || left < 0 && vimMark().MatchString(l.text) {
				found = r.one(l.number, l.text)
			}
		}
		return found == nil
	})
	return found
}

// lispEnd is how close to the end Emacs searches for file variables: 3000 characters.
const lispEnd = 3000 * utf8.UTFMax

// lispVariables and lispEval match what Emacs reads: only the former in letters of any case.
var (
	lispVariables = lazy(func() *regexp.Regexp { return regexp.MustCompile(`(?i)local variables:`) })
	lispEval      = lazy(func() *regexp.Regexp { return regexp.MustCompile(`eval[ \t]*:`) })
)

func emacsEval(r *rule, f *File) []Risk {
	text := f.Text()
	if f.link() || !lispEval().Match(text) {
		return nil
	}
	end := text[max(0, len(text)-lispEnd):]
	local := lispVariables().Match(end) && lispEval().Match(end)
	var found []Risk
	f.lines(func(l line) bool {
		if (local || l.number <= 2 && strings.Count(l.text, "-*-") >= 2) && lispEval().MatchString(l.text) {
			found = r.one(l.number, l.text)
		}
		return found == nil
	})
	if found == nil && local && len(f.stretches()) > 0 && lispVariables().Match(f.stretches()[len(f.stretches())-1].text) {
		return r.one(f.first(), "")
	}
	return found
}
