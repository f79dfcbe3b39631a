package usage

import (
	"bytes"
	"slices"
)

// scanner finds scalar values in streamed JSON, in pieces of any size: one document, one
// per line, or one per server-sent event. It keeps at most one key, one value and the names
// of depthLimit levels, for any input, and never fails: it skips everything that it does
// not understand.
type scanner struct {
	keys  map[string]string // the single keys to look for; others read as ""
	long  bool              // values that are too long are reported too, truncated
	value func(path []string, text []byte, isString bool)

	levels  []level
	excess  int    // levels beyond depthLimit, which are not read
	token   []byte // the string or number being read, at most tokenLimit
	tooLong bool
	state   scanState
	escape  bool
}

type level struct {
	array  bool
	index  int // of the current element of an array
	key    string
	hasKey bool // a key was read, and its value follows
}

type scanState uint8

const (
	scanBetween scanState = iota
	scanString
	scanNumber
)

const (
	depthLimit = 8
	tokenLimit = 256
)

// Write reads p. It never fails.
func (s *scanner) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		switch s.state {
		case scanString:
			i += s.inString(p[i:])
		case scanNumber:
			i += s.inNumber(p[i:])
		default:
			s.between(p[i])
			i++
		}
	}
	return len(p), nil
}

// searchLimit is how many bytes are searched at a time, so that a string with many escapes and a
// distant end is not searched to its end after each of them.
const searchLimit = 512

// inString continues a string and returns how many bytes it took, at least one. Most output
// of models is in strings, so it searches for their end in large steps.
func (s *scanner) inString(p []byte) int {
	if s.escape {
		s.escape = false
		s.keep(p[:1])
		return 1
	}
	p = p[:min(len(p), searchLimit)]
	end := bytes.IndexByte(p, '"')
	text := p
	if end >= 0 {
		text = p[:end]
	}
	if i := bytes.IndexByte(text, '\\'); i >= 0 {
		text, end = text[:i], i
	}
	if i := bytes.IndexByte(text, '\n'); i >= 0 { // not JSON: start again at the next line
		s.reset()
		return i + 1
	}
	s.keep(text)
	switch {
	case end < 0:
		return len(p)
	case p[end] == '\\':
		s.keep(p[end : end+1])
		s.escape = true
	default:
		s.state = scanBetween
		s.endString()
	}
	return end + 1
}

// inNumber continues a number and returns how many bytes it took; none if the number has
// ended.
func (s *scanner) inNumber(p []byte) int {
	for i, c := range p {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			s.keep(p[:i])
			s.state = scanBetween
			s.emit(false)
			return i
		}
	}
	s.keep(p)
	return len(p)
}

func (s *scanner) between(c byte) {
	switch {
	case c == '{' || c == '[':
		s.open(c == '[')
	case c == '}' || c == ']':
		s.close()
	case s.excess > 0 && c != '"', len(s.levels) == 0:
	case c == '"':
		s.state, s.token, s.tooLong, s.escape = scanString, s.token[:0], false, false
	case c == '-' || c >= '0' && c <= '9':
		s.state, s.token, s.tooLong = scanNumber, append(s.token[:0], c), false
	case c == ',':
		s.top().hasKey = false
		s.top().index++
	}
}

func (s *scanner) open(array bool) {
	if s.excess > 0 || len(s.levels) >= depthLimit {
		s.excess++
		return
	}
	s.levels = append(s.levels, level{array: array})
}

func (s *scanner) close() {
	if s.excess > 0 {
		s.excess--
		return
	}
	if len(s.levels) > 0 {
		s.levels = s.levels[:len(s.levels)-1]
	}
	if len(s.levels) > 0 {
		s.top().hasKey = false
	}
}

func (s *scanner) endString() {
	if s.excess > 0 {
		return
	}
	top := s.top()
	if top.array || top.hasKey {
		s.emit(true)
		return
	}
	top.key, top.hasKey = s.keys[string(s.token)], true
}

// emit reports a value with its path of keys, in which inList represents an array. An array
// at the top is a list of documents and is ignored.
func (s *scanner) emit(isString bool) {
	defer func() { s.top().hasKey = false }()
	if s.tooLong && !s.long {
		return
	}
	var path [depthLimit]string
	n := 0
	for i, level := range s.levels {
		switch {
		case level.array && i == 0:
			continue
		case level.array:
			path[n] = inList
		default:
			path[n] = level.key
		}
		n++
	}
	s.value(path[:n], s.token, isString)
}

func (s *scanner) keep(text []byte) {
	if room := tokenLimit - len(s.token); len(text) > room {
		s.tooLong, text = true, text[:room]
	}
	s.token = append(s.token, text...)
}

// element returns the index of the current element in the innermost array; 0 outside of arrays.
func (s *scanner) element() int {
	for _, level := range slices.Backward(s.levels) {
		if level.array {
			return level.index
		}
	}
	return 0
}

func (s *scanner) top() *level { return &s.levels[len(s.levels)-1] }

func (s *scanner) reset() {
	s.levels, s.excess, s.state, s.escape = s.levels[:0], 0, scanBetween, false
}
