// Package usage reads an inference answer while it streams by: how many tokens it used,
// whether it holds an answer at all, and whether it holds an error. It keeps no part of
// the answer's text and never fails; what it does not understand it skips.
//
// It has a scanner of its own because encoding/json and its successor need whole tokens
// in memory, stop at the first error, and know neither server-sent events nor a stream
// that breaks off. A hostile server must not be able to fill memory or stop the count.
package usage

import (
	"slices"
	"strconv"

	"aibox/netguard/gateway/failure"
	"aibox/netguard/gateway/schema"
)

// Usage counts the tokens that an answer says were used, notes an error that came on
// the way, when the status had long said that all is well, and whether there is an
// answer at all.
type Usage struct {
	scanner  scanner
	dialect  schema.Dialect
	answer   answer
	fields   [fieldCount]int64
	reported bool // there was a count
	failure  failure.Failure
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

// New follows the answer of an endpoint; 0 is one that does not generate.
func New(dialect schema.Dialect, api schema.Endpoint) *Usage {
	u := &Usage{dialect: dialect, answer: answer{api: api}}
	u.scanner.keys, u.scanner.value, u.scanner.long = usageKeys, u.see, true
	return u
}

// Write feeds a piece of the answer.
func (u *Usage) Write(p []byte) (int, error) { return u.scanner.Write(p) }

// Pieces returns how many pieces of an answer have come.
func (u *Usage) Pieces() int64 { return u.answer.pieces }

// Ended reports whether the server sent, in the API's form, why the answer ends.
func (u *Usage) Ended() bool { return u.answer.ended }

// Reported reports whether the answer held a token count.
func (u *Usage) Reported() bool { return u.reported }

// Failure returns the error that the answer held; its zero value means none.
func (u *Usage) Failure() failure.Failure { return u.failure }

// ID returns the ID of an OpenAI answer; empty if there was none.
func (u *Usage) ID() string { return u.id }

// Tokens returns the counts so far. Streams repeat their counts, each time the total
// so far.
func (u *Usage) Tokens() (input, output int64) {
	return u.fields[fieldInput] + u.fields[fieldCacheWrite] + u.fields[fieldCacheRead], u.fields[fieldOutput] + u.fields[fieldThoughts]
}

func (u *Usage) see(path []string, text []byte, isString bool) {
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
		if u.dialect == schema.OpenAI && (len(path) == 1 || len(path) == 2 && path[0] == "response") && path[len(path)-1] == "id" {
			u.id = failure.Unquote(string(text))
		}
		return
	}
	field, ok := u.field(path)
	if !ok {
		return
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && n >= 0 && n < countLimit {
		u.fields[field] = max(u.fields[field], n)
		u.reported = true
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
func (u *Usage) fail(path []string, text []byte, isString bool) {
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
		if u.failure.Message == "" && isString {
			u.failure.Message = failure.Unquote(string(text))
		}
	case "type", "code", "status":
		if len(u.failure.Kind) < tokenLimit {
			u.failure.Kind += " " + string(text)
		}
	}
}

// field says what a path counts. Only paths that the model's own text and the
// arguments of its tool calls cannot lie under are taken.
func (u *Usage) field(path []string) (field, bool) {
	if u.dialect == schema.Ollama {
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
	if u.dialect == schema.Gemini {
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
		return fieldCacheWrite, u.dialect == schema.Anthropic
	case "cache_read_input_tokens":
		return fieldCacheRead, u.dialect == schema.Anthropic
	}
	return 0, false
}
