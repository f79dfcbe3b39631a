package gateway

import (
	"bytes"
	"slices"
	"strconv"

	"aibox/netguard/gateway/schema"
)

// scanner finds scalar values in JSON that streams by, in pieces of any size: one
// document, one per line, or one per server-sent event. It keeps no more than one
// key, one value and the names of depthLimit levels, whatever it is fed, and never
// fails: what it does not understand it passes over.
type scanner struct {
	keys  map[string]string // the keys that are looked for, by themselves; others read as ""
	long  bool              // values that are too long are told too, cut off
	value func(path []string, text []byte, isString bool)

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

// inString reads on in a string and returns how many bytes it took, at least one.
// Most of what models send is in strings, so it looks for their end in strides.
func (s *scanner) inString(p []byte) int {
	if s.escape {
		s.escape = false
		s.keep(p[:1])
		return 1
	}
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

// inNumber reads on in a number and returns how many bytes it took; none when it
// has ended.
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

// emit tells a value with the keys that lead to it; inList stands for an array. One at
// the top is one of documents and counts for nothing.
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

func (s *scanner) top() *level { return &s.levels[len(s.levels)-1] }

func (s *scanner) reset() {
	s.levels, s.excess, s.state, s.escape = s.levels[:0], 0, scanBetween, false
}

// usage counts the tokens that an answer says were used, notes an error that came on
// the way, when the status had long said that all is well, and whether there is an
// answer at all.
type usage struct {
	scanner  scanner
	dialect  Dialect
	answer   answer
	fields   [fieldCount]int64
	told     bool // there was a count
	trouble  trouble
	id       string // of the answer
	lastType string // of the event being read
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

// usageKeys lead to counts, to an answer's ID, and to the answer.
var usageKeys = keySet(append(answerKeys, "response", "message", "usage", "usageMetadata",
	"prompt_tokens", "input_tokens", "completion_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
	"promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "prompt_eval_count", "eval_count",
	"error", "type", "code", "status", "id")...)

func keySet(keys ...string) map[string]string {
	set := make(map[string]string, len(keys))
	for _, key := range keys {
		set[key] = key
	}
	return set
}

// countLimit is more tokens than any answer can have; larger counts are nonsense.
const countLimit = 1 << 40

// newUsage follows the answer of an endpoint; 0 is one that does not generate.
func newUsage(dialect Dialect, api schema.Endpoint) *usage {
	u := &usage{dialect: dialect, answer: answer{api: api}}
	u.scanner.keys, u.scanner.value, u.scanner.long = usageKeys, u.see, true
	return u
}

// Write feeds a piece of the answer.
func (u *usage) Write(p []byte) (int, error) { return u.scanner.Write(p) }

// tokens are the counts so far. Streams repeat their counts, each time the whole
// so far.
func (u *usage) tokens() (input, output int64) {
	return u.fields[fieldInput] + u.fields[fieldCacheWrite] + u.fields[fieldCacheRead], u.fields[fieldOutput] + u.fields[fieldThoughts]
}

func (u *usage) see(path []string, text []byte, isString bool) {
	if len(path) == 0 {
		return
	}
	if isString {
		u.answer.see(path, text)
	}
	if slices.Contains(path, inList) {
		return // nothing else that is looked for is in one
	}
	u.fail(path, text, isString)
	if isString {
		if u.dialect == OpenAI && (len(path) == 1 || len(path) == 2 && path[0] == "response") && path[len(path)-1] == "id" {
			u.id = unquote(string(text))
		}
		return
	}
	field, ok := u.field(path)
	if !ok {
		return
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && n >= 0 && n < countLimit {
		u.fields[field] = max(u.fields[field], n)
		u.told = true
	}
}

// fail notes the error of a stream, in the shapes
//
//	{"error":{"message":…,"type":…,"code":…}}                 most
//	{"response":{"error":{"message":…,"code":…}}}             Responses
//	{"type":"error","message":…,"code":…}                     Responses
//	{"error":"…"}                                             Ollama
//
// Like counts, errors are taken only from where the model's own text cannot lie.
func (u *usage) fail(path []string, text []byte, isString bool) {
	if len(path) == 3 && path[0] == "response" {
		path = path[1:]
	}
	field := ""
	switch {
	case len(path) == 1 && path[0] == "type":
		u.lastType = string(text)
		return
	case len(path) == 1 && path[0] == "error" && isString:
		field = "message"
	case len(path) == 1 && u.lastType == "error":
		field = path[0]
	case len(path) == 2 && path[0] == "error":
		field = path[1]
	}
	switch field {
	case "message":
		if u.trouble.message == "" && isString {
			u.trouble.message = unquote(string(text))
		}
	case "type", "code", "status":
		if len(u.trouble.kind) < tokenLimit {
			u.trouble.kind += " " + string(text)
		}
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
