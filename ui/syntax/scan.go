package syntax

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// scanner reads one line. Each step reads a part of it once and moves past it.
type scanner struct {
	language *Language
	text     []byte
	at       int
	state    State
	spans    []Span
}

// add classifies the text up to end, and moves there.
func (s *scanner) add(end int, class Class) {
	if class != Plain && end > s.at {
		if last := len(s.spans) - 1; last >= 0 && s.spans[last].To == s.at && s.spans[last].Class == class {
			s.spans[last].To = end
		} else {
			s.spans = append(s.spans, Span{s.at, end, class})
		}
	}
	s.at = end
}

// code reads a line of a program or of data.
func (s *scanner) code() {
	if s.state == (State{}) {
		s.beginning()
	}
	for s.at < len(s.text) {
		switch {
		case s.state.comment:
			s.comment()
		case s.state.quote > 0:
			s.quoted()
		case s.opens():
		default:
			s.word()
		}
	}
	if q := s.state.quote; q > 0 && !s.language.quotes[q-1].lines {
		s.state.quote = 0
	}
}

// beginning reads the constructs that can only be at the beginning of a line.
func (s *scanner) beginning() {
	l := s.language
	rest := bytes.TrimLeft(s.text, " \t")
	start := len(s.text) - len(rest)
	switch {
	case len(rest) == 0:
	case l.block[0] == "/*" && continuesComment(rest):
		// The middle of a comment that starts above the shown lines, or an operator at the start of a
		// line. The state stays zero: the next lines do not continue it, because they would all be a
		// comment then.
		s.at = start
		s.comment()
	case l.hash && rest[0] == '#':
		end := start + 1
		for end < len(s.text) && letter(s.text[end]) {
			end++
		}
		s.at = start
		s.add(end, Keyword)
	}
	if bytes.HasPrefix(s.text, []byte("#!")) {
		s.add(len(s.text), Comment)
	}
}

// continuesComment reports whether a line looks like the middle of a block comment, and not like a rule of CSS
// for all elements.
func continuesComment(line []byte) bool {
	if line[0] != '*' || len(line) > 1 && line[1] != ' ' && line[1] != '/' {
		return false
	}
	rest, rule := bytes.CutPrefix(line, []byte("* {"))
	return !rule || len(rest) > 0 && rest[0] != ' '
}

// comment reads to the end of a block comment.
func (s *scanner) comment() {
	end := s.language.block[1]
	i := bytes.Index(s.text[s.at:], []byte(end))
	if i < 0 {
		s.add(len(s.text), Comment)
		return
	}
	s.add(s.at+i+len(end), Comment)
	s.state.comment = false
}

// quoted reads to the end of a string.
func (s *scanner) quoted() {
	q := s.language.quotes[s.state.quote-1]
	for i := s.at; i < len(s.text); i++ {
		switch {
		case s.text[i] == '\\' && !q.raw:
			i++
		case s.text[i] == q.end[0] && bytes.HasPrefix(s.text[i:], []byte(q.end)):
			s.add(i+len(q.end), String)
			s.state.quote = 0
			return
		}
	}
	s.add(len(s.text), String)
}

// opens reads the start of a comment or string, if one is here.
func (s *scanner) opens() bool {
	l, rest := s.language, s.text[s.at:]
	if !l.marks[rest[0]] {
		return false
	}
	for _, mark := range l.line {
		if bytes.HasPrefix(rest, []byte(mark)) && s.begins(mark) {
			s.add(len(s.text), Comment)
			return true
		}
	}
	if l.block[0] != "" && bytes.HasPrefix(rest, []byte(l.block[0])) {
		s.add(s.at+len(l.block[0]), Comment)
		s.state.comment = true
		return true
	}
	if l.char && rest[0] == '\'' {
		class := String
		end := charEnd(rest)
		if end == 1 {
			class = Plain
		}
		s.add(s.at+end, class)
		return true
	}
	if l.apart && s.at > 0 && (letter(s.text[s.at-1]) || digit(s.text[s.at-1])) {
		return false
	}
	for i, q := range l.quotes {
		if bytes.HasPrefix(rest, []byte(q.begin)) {
			if !s.key(len(q.begin)) {
				s.add(s.at+len(q.begin), String)
				s.state.quote = int8(i + 1)
			}
			return true
		}
	}
	return false
}

// begins reports whether a mark starts a comment here. A # does so only at the start of a
// word.
func (s *scanner) begins(mark string) bool {
	if mark != "#" || s.at == 0 {
		return true
	}
	return strings.IndexByte(" \t;,({[)}]", s.text[s.at-1]) >= 0
}

// key reads a name that a value follows, if there is one; n bytes precede the name.
func (s *scanner) key(n int) bool {
	if s.language.keys == "" {
		return false
	}
	rest := s.text[s.at:]
	end := bytes.IndexByte(rest[n:min(len(rest), n+200)], rest[0])
	if end < 0 || bytes.IndexByte(rest[n:n+end], '\\') >= 0 || !s.hasValue(s.at+n+end+1) {
		return false
	}
	s.add(s.at+n+end+1, Key)
	return true
}

// hasValue reports whether a value follows a name that ends at i.
func (s *scanner) hasValue(i int) bool {
	for i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t') {
		i++
	}
	if i >= len(s.text) || strings.IndexByte(s.language.keys, s.text[i]) < 0 {
		return false
	}
	next := byte(' ')
	if i+1 < len(s.text) {
		next = s.text[i+1]
	}
	return s.text[i] == '=' && next != '=' || s.text[i] == ':' && strings.IndexByte(" \t\"'[{0123456789", next) >= 0
}

// charEnd returns the end of a character in single quotes, or only of the quote when it is
// something else, such as a lifetime.
func charEnd(rest []byte) int {
	for i := 1; i < min(len(rest), 12); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '\'':
			if i == 1 {
				return 2
			}
			if _, size := utf8.DecodeRune(rest[1:]); rest[1] == '\\' || size == i-1 {
				return i + 1
			}
			return 1
		}
	}
	return 1
}

// word reads a name, a number, or one other character.
func (s *scanner) word() {
	c := s.text[s.at]
	switch {
	case digit(c):
		end := s.at + 1
		for end < len(s.text) && (letter(s.text[end]) || digit(s.text[end]) || s.text[end] == '_' || s.text[end] == '.' && end+1 < len(s.text) && digit(s.text[end+1])) {
			end++
		}
		s.add(end, Number)
	case s.named(c):
		end := s.at + 1
		for end < len(s.text) && (s.named(s.text[end]) || digit(s.text[end])) {
			end++
		}
		s.add(end, s.classOf(end))
	default:
		s.at++
	}
}

// classOf returns the class of the name up to end.
func (s *scanner) classOf(end int) Class {
	l, name := s.language, s.text[s.at:end]
	if len(name) <= longestWord {
		if class, ok := l.words[string(name)]; ok {
			return class
		}
		if l.anyCase {
			if class, ok := l.words[strings.ToLower(string(name))]; ok {
				return class
			}
		}
	}
	switch {
	case l.keys != "" && len(bytes.Trim(s.text[:s.at], " \t-.,{([")) == 0 && s.hasValue(end):
		return Key
	case end < len(s.text) && s.text[end] == '(' && (len(name) > 1 || letter(name[0])):
		return Function
	case l.capitals && name[0] >= 'A' && name[0] <= 'Z':
		return Type
	}
	return Plain
}

// named reports whether a byte can be part of a name.
func (s *scanner) named(c byte) bool {
	return letter(c) || c == '_' || c >= 0x80 || strings.IndexByte(s.language.letters, c) >= 0
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
