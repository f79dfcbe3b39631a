package schema

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"aibox/netguard"
)

// Limits of a body's form. They are far above what agents send, and bound the memory
// that names and depth cost.
const (
	depthLimit   = 100    // levels of arrays and objects
	memberLimit  = 10_000 // members of one object
	nameLimit    = 256    // bytes of a member's name that a table can know
	namesLimit   = 256    // different names that are kept while a body is read
	leftOutLimit = 64
	placeLimit   = 128
)

// walk is the state of reading a body by the tables. dec reads the body once, strictly: no
// name twice in an object, no invalid UTF-8, nothing after the end.
type walk struct {
	body    []byte
	dec     *jsontext.Decoder
	ahead   *jsontext.Decoder // looks ahead for the kind of an object
	out     output
	policy  Policy
	camel   bool     // names may also be written in snake case, as in Gemini's API
	place   []string // the path to dec's position: names and "[]"
	model   string
	leftOut []string
	offers  []netguard.ServerTool // tools that were left out, of the list that is being read
	names   map[string]string     // the names that were read, so that most are not copied again
	scratch []byte                // reused for names

	streams          bool // the answer will be streamed
	hasStreamOptions bool // stream_options passed

	outputLimit int64  // tokens of one choice of the answer; 0 if there is no limit
	choices     int64  // of the answer to each prompt; 0 means 1
	prompts     int64  // 0 means 1
	mediaTokens int64  // see Result
	surcharge   string // see Result
	several     bool   // see Result
	fee         netguard.ServerTool
}

func newWalk(body []byte, policy Policy) *walk {
	return &walk{
		body:   body,
		dec:    jsontext.NewDecoder(bytes.NewBuffer(body)),
		ahead:  new(jsontext.Decoder),
		names:  map[string]string{},
		policy: policy,
	}
}

// malformed explains an error of the decoder without any part of the body.
func malformed(err error) error {
	message := "the request's body is not valid JSON"
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = "the request's body has an object with the same name twice"
	case errors.Is(err, io.EOF):
		message = "the request has no body"
	case errors.Is(err, io.ErrUnexpectedEOF):
		message = "the request's body ends in the middle of its JSON"
	case strings.Contains(err.Error(), "UTF-8"):
		message = "the request's body is not valid UTF-8"
	}
	return &Refusal{Malformed, message}
}

// end ensures that nothing follows the body's value.
func (w *walk) end() error {
	if _, err := w.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &Refusal{Malformed, "the request's body has data after its JSON"}
	}
	return nil
}

// open reads the beginning of an object or array and checks the limits.
func (w *walk) open() error {
	if _, err := w.dec.ReadToken(); err != nil {
		return malformed(err)
	}
	if w.dec.StackDepth() > depthLimit {
		return &Refusal{Malformed, "the request's JSON is nested too deeply"}
	}
	return nil
}

// name reads the next member's name.
func (w *walk) name() (string, error) {
	raw, err := w.dec.ReadValue()
	if err != nil {
		return "", malformed(err)
	}
	if _, n := w.dec.StackIndex(w.dec.StackDepth()); n > 2*memberLimit {
		return "", &Refusal{Malformed, "an object of the request has too many members"}
	}
	w.scratch, _ = jsontext.AppendUnquote(w.scratch[:0], raw) // the decoder has found it valid
	text := w.scratch[:min(len(w.scratch), nameLimit)]        // no table has a name that long
	name, known := w.names[string(text)]
	if !known {
		name = string(text)
		if len(w.names) < namesLimit {
			w.names[name] = name
		}
	}
	return name, nil
}

// skip reads a whole value within the limits and returns its bytes. see is called
// with each string that is the value of a member, unless it is nil.
func (w *walk) skip(see func(name string, value jsontext.Token) error) ([]byte, error) {
	kind := w.dec.PeekKind()
	if kind != '{' && kind != '[' {
		value, err := w.dec.ReadValue()
		if err != nil {
			return nil, malformed(err)
		}
		return w.read(len(value)), nil
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	begin, depth := w.dec.InputOffset()-1, w.dec.StackDepth()
	for w.dec.StackDepth() >= depth {
		kind, members := w.dec.StackIndex(w.dec.StackDepth())
		next := w.dec.PeekKind()
		switch {
		case next == '{' || next == '[':
			if err := w.open(); err != nil {
				return nil, err
			}
		case kind == '{' && next == '"' && members%2 == 0:
			name, err := w.name()
			if err != nil {
				return nil, err
			}
			if see == nil || w.dec.PeekKind() != '"' {
				continue
			}
			value, err := w.dec.ReadToken()
			if err != nil {
				return nil, malformed(err)
			}
			if err := see(name, value); err != nil {
				return nil, err
			}
		default:
			if _, err := w.dec.ReadToken(); err != nil {
				return nil, malformed(err)
			}
		}
	}
	return w.body[begin:w.dec.InputOffset()], nil
}

// read returns the n bytes that dec has just read, in the body's own memory.
func (w *walk) read(n int) []byte {
	end := w.dec.InputOffset()
	return w.body[end-int64(n) : end]
}

// tag looks ahead into the object that dec is about to read, and returns the string in the
// member key, or in a member of that member. It returns false if there is none, or if it is not a
// string.
func (w *walk) tag(key string, inner ...string) (string, bool) {
	rest := w.body[w.dec.InputOffset():]
	at := bytes.IndexByte(rest, '{') // only a comma or colon and white space precede it
	if at < 0 {
		return "", false
	}
	w.ahead.Reset(bytes.NewBuffer(rest[at:]), jsontext.AllowDuplicateNames(true))
	if _, err := w.ahead.ReadToken(); err != nil {
		return "", false
	}
	for w.ahead.PeekKind() == '"' {
		name, err := w.ahead.ReadToken()
		if err != nil {
			return "", false
		}
		found := name.String() == key
		switch kind := w.ahead.PeekKind(); {
		case found && len(inner) == 0 && kind == '"':
			value, err := w.ahead.ReadToken()
			return value.String(), err == nil
		case found && len(inner) > 0 && kind == '{':
			if _, err := w.ahead.ReadToken(); err != nil {
				return "", false
			}
			key, inner = inner[0], inner[1:]
			continue
		}
		if err := w.ahead.SkipValue(); found || err != nil {
			return "", false
		}
	}
	return "", false
}

// leave reads a value that is left out, and records its place.
func (w *walk) leave() (bool, error) {
	w.note("")
	_, err := w.skip(nil)
	return false, err
}

// note records that something at the current place is left out.
func (w *walk) note(what string) {
	place := strings.ReplaceAll(strings.Join(w.place, "."), ".[]", "[]") + what
	place = place[:min(len(place), placeLimit)]
	if len(w.leftOut) < leftOutLimit && !slices.Contains(w.leftOut, place) {
		w.leftOut = append(w.leftOut, place)
	}
}

// at returns the current place for a sentence.
func (w *walk) at() string {
	return strings.ReplaceAll(strings.Join(w.place, "."), ".[]", "[]")
}
