// Package syntax tells what the parts of a line of source are (a keyword, a string, a
// comment), so that a screen can color them. It is for the eye alone and knows
// languages roughly, by tables; in return it takes time linear in the text whatever
// that says, needs nothing but the lines before, and never fails. It does no I/O and
// prints nothing: what it is given is raw, and stays so.
package syntax

import (
	"bytes"
	"path"
	"strings"
)

// Class is what a part of a line is.
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
	Key      // what a value belongs to: an attribute, a key of YAML or JSON
)

// Span is a part of a line, in bytes from its beginning. Parts between spans are plain.
type Span struct {
	From, To int
	Class    Class
}

// State is what a line begins within: nothing when zero, or a comment or text that
// went on beyond the line before.
type State struct {
	comment bool
	quote   int8 // of the language's, from 1
	inner   bool // a tag of markup, a listing in prose
}

// Language is how the lines of a file are read. A nil one finds nothing in them.
type Language struct {
	name     string
	kind     kind
	line     []string  // begin a comment to the end of the line
	block    [2]string // begin and end a comment
	quotes   []quote   // the longer one before those that it begins with
	apart    bool      // no text begins within a word, as in "don't"
	char     bool      // ' holds one character, or is something else
	words    map[string]Class
	anyCase  bool   // words are the same in capitals
	letters  string // that belong to names beside letters, digits and _
	capitals bool   // a name in capitals is a type
	hash     bool   // a line that begins with # is for a preprocessor
	keys     string // what stands behind a name that has a value

	marks [256]bool // the bytes that comments and texts begin with
}

// prepare notes what the language's comments and texts begin with.
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

// kind is how the text is built.
type kind uint8

const (
	code kind = iota
	markup
	prose
)

// quote is what text stands in.
type quote struct {
	begin, end string
	lines      bool // it may go on in the next line
	raw        bool // a backslash means nothing
}

// Of finds the language of a file by its name, or by the "#!" of its first line,
// which may be empty. It is nil when there is none that is known.
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

// Name is the language's, for people; empty when there is none.
func (l *Language) Name() string {
	if l == nil {
		return ""
	}
	return l.name
}

// maxLine is how much of a line is looked at, in bytes. Where a longer one ends is not
// known, so the next line begins with nothing.
const maxLine = 8 << 10

// Line appends the parts of a line, in order, to spans, and returns what the next line
// begins within. The text is without its newline.
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
