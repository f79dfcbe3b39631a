package gateway

import "strconv"

// scanner finds scalar values in JSON that streams by, in pieces of any size: one
// document, one per line, or one per server-sent event. It keeps no more than one
// key, one value and the names of depthLimit levels, whatever it is fed, and never
// fails: what it does not understand it passes over.
type scanner struct {
	value func(path []string, text string, isString bool)

	levels  []level
	excess  int    // levels beyond depthLimit, which are not looked into
	token   []byte // the string or number being read, at most tokenLimit
	tooLong bool
	state   scanState
	escape  bool
}

type level struct {
	array  bool
	key    string
	hasKey bool // a key was read, its value comes next
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

// Write feeds p. It never fails.
func (s *scanner) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch s.state {
		case scanString:
			i += s.inString(p[i:]) - 1
		case scanNumber:
			if c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E' {
				s.keep(c)
				continue
			}
			s.state = scanBetween
			s.emit(false)
			s.between(c)
		default:
			s.between(c)
		}
	}
	return len(p), nil
}

// inString reads on in a string and returns how many bytes it took, at least one.
func (s *scanner) inString(p []byte) int {
	for i, c := range p {
		switch {
		case c == '\n': // not JSON: start again at the next line
			s.reset()
			return i + 1
		case s.escape:
			s.escape = false
			s.keep('\\')
			s.keep(c)
		case c == '\\':
			s.escape = true
		case c == '"':
			s.state = scanBetween
			s.endString()
			return i + 1
		default:
			s.keep(c)
		}
	}
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
		s.state, s.token, s.tooLong = scanNumber, s.token[:0], false
		s.keep(c)
	case c == ',':
		s.top().hasKey = false
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
	top.key, top.hasKey = "", true
	if !s.tooLong && len(s.token) <= 64 {
		top.key = string(s.token)
	}
}

// emit tells a value with the keys that lead to it. An array at the top is one of
// documents and counts for nothing.
func (s *scanner) emit(isString bool) {
	defer func() { s.top().hasKey = false }()
	if s.tooLong {
		return
	}
	var path [depthLimit]string
	n := 0
	for i, level := range s.levels {
		switch {
		case level.array && i == 0:
			continue
		case level.array:
			return // nothing that is looked for is in one
		}
		path[n] = level.key
		n++
	}
	s.value(path[:n], string(s.token), isString)
}

func (s *scanner) keep(c byte) {
	if len(s.token) >= tokenLimit {
		s.tooLong = true
		return
	}
	s.token = append(s.token, c)
}

func (s *scanner) top() *level { return &s.levels[len(s.levels)-1] }

func (s *scanner) reset() {
	s.levels, s.excess, s.state, s.escape = s.levels[:0], 0, scanBetween, false
}

// usage counts the tokens that an answer says were used.
type usage struct {
	scanner scanner
	dialect Dialect
	fields  [fieldCount]int64
}

type field uint8

const (
	fieldInput field = iota
	fieldCacheWrite
	fieldCacheRead
	fieldOutput
	fieldThoughts
	fieldCount
)

// countLimit is more tokens than any answer can have; larger counts are nonsense.
const countLimit = 1 << 40

func newUsage(dialect Dialect) *usage {
	u := &usage{dialect: dialect}
	u.scanner.value = u.see
	return u
}

// Write feeds a piece of the answer.
func (u *usage) Write(p []byte) (int, error) { return u.scanner.Write(p) }

// tokens are the counts so far. Streams repeat their counts, each time the whole
// so far.
func (u *usage) tokens() (input, output int64) {
	return u.fields[fieldInput] + u.fields[fieldCacheWrite] + u.fields[fieldCacheRead], u.fields[fieldOutput] + u.fields[fieldThoughts]
}

func (u *usage) see(path []string, text string, isString bool) {
	if isString {
		return
	}
	field, ok := u.field(path)
	if !ok {
		return
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > u.fields[field] && n < countLimit {
		u.fields[field] = n
	}
}

// field says what a path counts. Only paths that the model's own text and the
// arguments of its tool calls cannot lie under are taken.
func (u *usage) field(path []string) (field, bool) {
	if u.dialect == Ollama {
		if len(path) != 1 {
			return 0, false
		}
		switch path[0] {
		case "prompt_eval_count":
			return fieldInput, true
		case "eval_count":
			return fieldOutput, true
		}
		return 0, false
	}
	if len(path) == 3 && (path[0] == "response" || path[0] == "message") {
		path = path[1:] // the wrapping of the Responses and Messages streams
	}
	if len(path) != 2 {
		return 0, false
	}
	if u.dialect == Gemini {
		if path[0] != "usageMetadata" {
			return 0, false
		}
		switch path[1] {
		case "promptTokenCount":
			return fieldInput, true
		case "candidatesTokenCount":
			return fieldOutput, true
		case "thoughtsTokenCount":
			return fieldThoughts, true
		}
		return 0, false
	}
	if path[0] != "usage" {
		return 0, false
	}
	switch path[1] {
	case "prompt_tokens", "input_tokens":
		return fieldInput, true
	case "completion_tokens", "output_tokens":
		return fieldOutput, true
	case "cache_creation_input_tokens":
		return fieldCacheWrite, u.dialect == Anthropic
	case "cache_read_input_tokens":
		return fieldCacheRead, u.dialect == Anthropic
	}
	return 0, false
}

// modelFinder finds the model that a request's body names.
type modelFinder struct {
	scanner scanner
	model   string
}

func newModelFinder() *modelFinder {
	f := &modelFinder{}
	f.scanner.value = func(path []string, text string, isString bool) {
		if isString && len(path) == 1 && path[0] == "model" && f.model == "" {
			f.model = text
		}
	}
	return f
}
