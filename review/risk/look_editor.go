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

// modelines is how many of the first and of the last lines Vim searches for modelines.
const modelines = 5

// modeline reports a modeline among the lines that Vim reads, unless it was among them before: lines
// that are taken away can bring one there that was without effect.
func modeline(r *rule, f *File) []Risk {
	text := f.Text()
	if f.link() || !bytes.Contains(text, []byte("vi:")) && !bytes.Contains(text, []byte("vim")) && !bytes.Contains(text, []byte("Vim")) && !bytes.Contains(text, []byte("ex:")) {
		return nil
	}
	known := map[string]bool{}
	for _, l := range outerLines(f.oldText()) {
		known[l.text] = true
	}
	left := maxModelines
	for _, l := range outerLines(text) {
		if known[l.text] {
			continue
		}
		left -= len(l.text)
		if left >= 0 && vimLine().MatchString(l.text) || left < 0 && vimMark().MatchString(l.text) {
			return r.one(l.number, l.text)
		}
	}
	return nil
}

// outerLines are the first and the last lines of a text that Vim searches for modelines.
func outerLines(text []byte) []line {
	text = bytes.TrimRight(text, "\n")
	last := bytes.Count(text, []byte("\n")) + 1
	var found []line
	for len(found) < min(modelines, last) {
		part, rest, _ := bytes.Cut(text, []byte("\n"))
		found, text = append(found, line{len(found) + 1, strings.TrimRight(string(part), "\r")}), rest
	}
	for number := last; number > max(modelines, last-modelines); number-- {
		start := bytes.LastIndexByte(text, '\n') + 1
		found = append(found, line{number, strings.TrimRight(string(text[start:]), "\r")})
		text = text[:max(0, start-1)]
	}
	return found
}

// lispEnd is how close to the end Emacs searches for file variables: 3000 characters.
const lispEnd = 3000 * utf8.UTFMax

// lispVariables and lispEval match what Emacs reads: only the former in letters of any case.
var (
	lispVariables = lazy(func() *regexp.Regexp { return regexp.MustCompile(`(?i)local variables:`) })
	lispEval      = lazy(func() *regexp.Regexp { return regexp.MustCompile(`eval[ \t]*:`) })
)

// emacsEval reports an eval: that Emacs reads, unless it read it before: text that is taken away can
// bring one near the end.
func emacsEval(r *rule, f *File) []Risk {
	text := f.Text()
	if f.link() || !lispEval().Match(text) {
		return nil
	}
	known := map[string]bool{}
	for _, l := range evalLines(f.oldText()) {
		known[l.text] = true
	}
	for _, l := range evalLines(text) {
		if !known[l.text] {
			return r.one(l.number, l.text)
		}
	}
	if len(f.stretches()) > 0 && readsVariables(text) && lispVariables().Match(f.stretches()[len(f.stretches())-1].text) {
		return r.one(f.first(), "")
	}
	return nil
}

// lastPart is the part of a text that Emacs searches for file variables.
func lastPart(text []byte) []byte { return text[max(0, len(text)-lispEnd):] }

// readsVariables reports whether there are file variables with an eval: at the end of a text.
func readsVariables(text []byte) bool {
	return lispVariables().Match(lastPart(text)) && lispEval().Match(lastPart(text))
}

// evalLines are the lines with an eval: that Emacs reads.
func evalLines(text []byte) []line {
	var found []line
	rest := text
	for number := 1; number <= 2; number++ {
		var part []byte
		if part, rest, _ = bytes.Cut(rest, []byte("\n")); bytes.Count(part, []byte("-*-")) >= 2 && lispEval().Match(part) {
			found = append(found, line{number, strings.TrimRight(string(part), "\r")})
		}
	}
	if !readsVariables(text) {
		return found
	}
	end := lastPart(text)
	end = text[bytes.LastIndexByte(text[:len(text)-len(end)], '\n')+1:] // whole lines
	number := bytes.Count(text[:len(text)-len(end)], []byte("\n")) + 1
	for part := range bytes.Lines(end) {
		if lispEval().Match(part) {
			found = append(found, line{number, strings.TrimRight(string(part), "\r\n")})
		}
		number++
	}
	return found
}
