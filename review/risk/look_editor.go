package risk

import (
	"bytes"
	"regexp"
)

// vimLine is a modeline that sets an option holding an expression.
var vimLine = lazy(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|\s)(?:vi|[Vv]im[<=>]?\d*|ex):.*(?:expr\b|\bfde\b|\bfex\b|\binde\b|\binex\b|\bstl\b|\bstatusline\b|rulerformat|titlestring|iconstring|guitablabel|\bgtl\b|%\{|system\(|execute|:!)`)
})

// maxModeline is the longest line that is tried.
const maxModeline = 4 << 10

func modeline(r *rule, f *File) []Risk {
	text := f.Text()
	if f.link() || !bytes.Contains(text, []byte("vi:")) && !bytes.Contains(text, []byte("vim")) && !bytes.Contains(text, []byte("Vim")) && !bytes.Contains(text, []byte("ex:")) {
		return nil
	}
	last := bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n")) + 1
	var found []Risk
	f.lines(func(l line) bool {
		if (l.number <= 5 || l.number > last-5) && len(l.text) < maxModeline && vimLine().MatchString(l.text) {
			found = r.one(l.number, l.text)
		}
		return found == nil
	})
	return found
}

// lispEnd is how close to the end Emacs searches for file variables.
const lispEnd = 3000

func emacsEval(r *rule, f *File) []Risk {
	text := f.Text()
	if f.link() || !bytes.Contains(text, []byte("eval:")) {
		return nil
	}
	end := text[max(0, len(text)-lispEnd):]
	local := bytes.Contains(end, []byte("Local Variables:")) && bytes.Contains(end, []byte("eval:"))
	var found []Risk
	f.lines(func(l line) bool {
		at := bytes.Index([]byte(l.text), []byte("eval:"))
		if at >= 0 && (local || l.number <= 2 && bytes.Count([]byte(l.text), []byte("-*-")) >= 2) {
			found = r.one(l.number, l.text)
		}
		return found == nil
	})
	if found == nil && local && len(f.stretches()) > 0 && bytes.Contains(f.stretches()[len(f.stretches())-1].text, []byte("Local Variables:")) {
		return r.one(f.first(), "")
	}
	return found
}
