package syntax

import (
	"bytes"
	"strings"
)

// markup reads a line of HTML or XML: tags with their attributes, and comments.
func (s *scanner) markup() {
	for s.at < len(s.text) {
		switch rest := s.text[s.at:]; {
		case s.state.comment:
			s.comment()
		case s.state.inner:
			s.tag()
		case bytes.HasPrefix(rest, []byte("<!--")):
			s.add(s.at+4, Comment)
			s.state.comment = true
		case rest[0] == '<' && len(rest) > 1 && (letter(rest[1]) || strings.IndexByte("/!?", rest[1]) >= 0):
			end := s.at + 2
			for end < len(s.text) && (letter(s.text[end]) || digit(s.text[end]) || strings.IndexByte("-_:.", s.text[end]) >= 0) {
				end++
			}
			s.add(end, Keyword)
			s.state.inner = true
		default:
			s.at++
		}
	}
}

// tag reads the next part of a tag.
func (s *scanner) tag() {
	switch c := s.text[s.at]; {
	case c == '>':
		s.add(s.at+1, Keyword)
		s.state.inner = false
	case c == '"' || c == '\'':
		end := bytes.IndexByte(s.text[s.at+1:], c)
		if end < 0 {
			s.add(len(s.text), String)
			return
		}
		s.add(s.at+end+2, String)
	case letter(c) || c == '_' || c == ':' || c == '@' || c == '#':
		end := s.at + 1
		for end < len(s.text) && (letter(s.text[end]) || digit(s.text[end]) || strings.IndexByte("-_:.@", s.text[end]) >= 0) {
			end++
		}
		s.add(end, Key)
	default:
		s.at++
	}
}

// prose reads a line of Markdown: headings, code blocks, quotations, inline code.
func (s *scanner) prose() {
	rest := bytes.TrimLeft(s.text, " ")
	switch {
	case bytes.HasPrefix(rest, []byte("```")) || bytes.HasPrefix(rest, []byte("~~~")):
		s.add(len(s.text), Comment)
		s.state.inner = !s.state.inner
		return
	case s.state.inner:
		s.add(len(s.text), String)
		return
	case bytes.HasPrefix(rest, []byte("#")):
		s.add(len(s.text), Keyword)
		return
	case bytes.HasPrefix(rest, []byte(">")):
		s.add(len(s.text), Comment)
		return
	case len(rest) > 1 && strings.IndexByte("-*+", rest[0]) >= 0 && rest[1] == ' ':
		s.at = len(s.text) - len(rest)
		s.add(s.at+1, Keyword)
	}
	for s.at < len(s.text) {
		i := bytes.IndexByte(s.text[s.at:], '`')
		if i < 0 {
			return
		}
		s.at += i
		end := bytes.IndexByte(s.text[s.at+1:], '`')
		if end < 0 {
			return
		}
		s.add(s.at+end+2, String)
	}
}
