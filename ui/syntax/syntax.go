// Package syntax classifies the parts of a line of source code (keyword, string,
// comment), so that a screen can color them. Its tables know languages only roughly. It
// does no I/O and prints nothing; the text it gets is raw, and spans are offsets into it.
//
// It is not chroma, the usual library, for two reasons. The text comes from a hostile
// agent, and chroma's lexers run on a backtracking regular expression engine: some files
// took it hours (https://github.com/alecthomas/chroma/issues/410), and the timeout it has
// since is 250 ms per match, of which a line has many. This package takes time linear in
// the text. And chroma tokenizes a whole text from its start, while a screen shows 50
// lines in the middle of a diff of 300,000: here the state after a line is a small value
// that the next line continues from.
package syntax

import (
	"bytes"
	"path"
	"strings"
)

// Class is the kind of a part of a line.
type Class uint8

// The classes. Plain is the zero value.
const (
	Plain Class = iota
	Comment
	String
	Number
	Keyword
	Type
	Function // a name that is called or defined
	Key      // an attribute, or a key of YAML or JSON
)

// Span is a part of a line, as byte offsets. Text between spans is plain.
type Span struct {
	From, To int
	Class    Class
}

// State is the state that continues from one line to the next, such as an open comment or
// string. The zero value is none.
type State struct {
	comment bool
	quote   int8 // index of the open quote in the language, from 1
	inner   bool // in a tag of markup, or in a code block of prose
}

// Language says how to read the lines of a file. A nil Language finds no spans.
type Language struct {
	name     string
	kind     kind
	line     []string  // markers of a comment to the end of the line
	block    [2]string // start and end of a block comment
	quotes   []quote   // a longer marker before its prefixes
	apart    bool      // no string starts within a word, as in "don't"
	char     bool      // ' holds one character, or is something else
	words    map[string]Class
	anyCase  bool   // words are case-insensitive
	letters  string // characters of names besides letters, digits and _
	capitals bool   // a name in capitals is a type
	hash     bool   // a line that starts with # is a preprocessor directive
	keys     string // characters between a key and its value

	marks [256]bool // the first bytes of comments and strings
}

// prepare fills in marks.
func (l *Language) prepare() {
	for _, mark := range append([]string{l.block[0]}, l.line...) {
		if mark != "" {
			l.marks[mark[0]] = true
		}
	}
	for _, q := range l.quotes {
		l.marks[q.begin[0]] = true
	}
	l.marks['\''] = l.marks['\''] || l.char
}

// kind is the general form of a language.
type kind uint8

const (
	code kind = iota
	markup
	prose
)

// quote is a pair of string delimiters.
type quote struct {
	begin, end string
	lines      bool // the string may span lines
	raw        bool // a backslash is no escape
}

// Of returns the language of a file by its name, or by the "#!" of its first line, which
// may be empty. It is nil for an unknown language.
func Of(name string, first []byte) *Language {
	known, base := all(), strings.ToLower(path.Base(name))
	if l := known.files[base]; l != nil {
		return l
	}
	if l := known.endings[strings.TrimPrefix(path.Ext(base), ".")]; l != nil {
		return l
	}
	if stem, _, ok := strings.Cut(base, "."); ok && known.files[stem] != nil { // Dockerfile.test
		return known.files[stem]
	}
	if program, ok := bytes.CutPrefix(first, []byte("#!")); ok {
		words := strings.FieldsFunc(string(program[:min(len(program), 200)]), func(r rune) bool { return r == ' ' || r == '/' || r == '\t' })
		for i := len(words) - 1; i >= 0; i-- {
			if l := known.programs[strings.TrimRight(words[i], "0123456789.")]; l != nil {
				return l
			}
		}
	}
	return nil
}

// Name returns the name of the language to show; empty for a nil one.
func (l *Language) Name() string {
	if l == nil {
		return ""
	}
	return l.name
}

// maxLine is how many bytes of a line are read. After a longer line the state is
// unknown, so the next line starts from the zero State.
const maxLine = 8 << 10

// Line appends the spans of a line, in order, to spans, and returns them with the state
// for the next line. within is the state after the previous line. The text is without
// its newline.
func (l *Language) Line(text []byte, within State, spans []Span) ([]Span, State) {
	if l == nil {
		return spans, State{}
	}
	cut := len(text) > maxLine
	if cut {
		text = text[:maxLine]
	}
	s := scanner{language: l, text: text, state: within, spans: spans}
	switch l.kind {
	case markup:
		s.markup()
	case prose:
		s.prose()
	default:
		s.code()
	}
	if cut {
		s.state = State{}
	}
	return s.spans, s.state
}
