// Package usage reads an inference answer while it streams: how many tokens it used,
// whether it contains an answer at all, and whether it contains an error. It keeps no part
// of the answer's text and never fails; it skips everything that it does not understand.
//
// It has its own scanner because encoding/json and its successor need whole tokens in
// memory, stop at the first error, and support neither server-sent events nor truncated
// streams. A hostile server must not be able to fill memory or stop the count.
package usage

import (
	"slices"
	"strconv"

	"aibox/netguard/gateway/failure"
	"aibox/netguard/gateway/schema"
)

// Usage counts the tokens that an answer reports, and records an error that comes after a
// status of success, and whether there is an answer at all.
type Usage struct {
	scanner scanner
	dialect schema.Dialect
	answer  answer
	fields  fieldCounts
	// iterations are the counts of each time that the server has run its model for the answer,
	// as far as it lists them.
	iterations []fieldCounts
	reported   bool // there was a count
	failure    failure.Failure
	id         string // of the answer
	lastType   string // of the event being read
}

type field uint8

const (
	fieldInput      field = iota
	fieldToolInput        // read besides fieldInput
	fieldCacheRead        // besides fieldInput with Anthropic, a part of it elsewhere
	fieldCacheWrite       // the same
	fieldCacheLong        // the part of fieldCacheWrite that is kept for an hour
	fieldOutput
	fieldThoughts // written besides fieldOutput
	fieldTotal    // read and written, from which a server's other counts may lack thinking
	fieldCount
)

// fieldCounts are the counts of all fields.
type fieldCounts [fieldCount]int64

// usageKeys are the keys of counts, of an answer's ID, and of the answer.
var usageKeys = keySet(append(answerKeys, "response", "message", "usage", "usageMetadata",
	"prompt_tokens", "input_tokens", "completion_tokens", "output_tokens", "total_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
	"cache_creation", "ephemeral_1h_input_tokens", "prompt_tokens_details", "input_tokens_details", "cached_tokens", "cache_write_tokens", "prompt_cache_hit_tokens",
	"promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount", "prompt_eval_count", "eval_count",
	"iterations", "error", "type", "code", "status", "id")...)

func keySet(keys ...string) map[string]string {
	set := make(map[string]string, len(keys))
	for _, key := range keys {
		set[key] = key
	}
	return set
}

// countLimit is more tokens than any answer can have; larger counts are nonsense.
const countLimit = 1 << 40

// iterationLimit is more iterations than any answer has.
const iterationLimit = 256

// New follows the answer of an endpoint; 0 is one that does not generate.
func New(dialect schema.Dialect, api schema.Endpoint) *Usage {
	u := &Usage{dialect: dialect, answer: answer{api: api}}
	u.scanner.keys, u.scanner.value, u.scanner.long = usageKeys, u.see, true
	return u
}

// Write reads a piece of the answer.
func (u *Usage) Write(p []byte) (int, error) { return u.scanner.Write(p) }

// Pieces returns how many pieces of an answer have arrived.
func (u *Usage) Pieces() int64 { return u.answer.pieces }

// Ended reports whether the server sent, in the API's form, the reason why the answer ends.
func (u *Usage) Ended() bool { return u.answer.ended }

// Reported reports whether the answer held a token count.
func (u *Usage) Reported() bool { return u.reported }

// Failure returns the error that the answer held; its zero value means none.
func (u *Usage) Failure() failure.Failure { return u.failure }

// ID returns the ID of an OpenAI answer; empty if there was none.
func (u *Usage) ID() string { return u.id }

// Counts are the tokens of an answer.
type Counts struct {
	Input          int64 // all tokens that the model read
	CacheRead      int64 // the part of Input that came from the server's cache
	CacheWrite     int64 // the part of Input that went into the server's cache
	CacheWriteLong int64 // the part of CacheWrite that is kept for an hour
	Output         int64 // all tokens that the model wrote, including thinking
}

// Total returns all tokens, read and written.
func (c Counts) Total() int64 { return c.Input + c.Output }

// Counts returns the counts so far. Streams repeat their counts, each time the total
// so far. The parts of Input never exceed it.
func (u *Usage) Counts() Counts {
	fields := u.total()
	c := Counts{
		Input:  fields[fieldInput] + fields[fieldToolInput],
		Output: fields[fieldOutput] + fields[fieldThoughts],
	}
	if u.answer.api.Embeds() { // some servers report only the total
		c.Input = max(c.Input, fields[fieldTotal]-c.Output)
	} else {
		c.Output = max(c.Output, fields[fieldTotal]-c.Input)
	}
	if u.dialect == schema.Anthropic {
		c.Input += fields[fieldCacheRead] + fields[fieldCacheWrite]
	}
	c.CacheRead = min(fields[fieldCacheRead], c.Input)
	c.CacheWrite = min(fields[fieldCacheWrite], c.Input-c.CacheRead)
	c.CacheWriteLong = min(fields[fieldCacheLong], c.CacheWrite)
	return c
}

// total returns the counts of the whole answer. Those that a server of Anthropic's API reports
// for it lack the iterations in which the server has compacted the conversation.
// https://platform.claude.com/docs/en/build-with-claude/compaction
func (u *Usage) total() fieldCounts {
	var sum fieldCounts
	for _, iteration := range u.iterations {
		for field, n := range iteration {
			sum[field] += n
		}
	}
	for field, n := range u.fields {
		sum[field] = max(sum[field], n)
	}
	return sum
}

func (u *Usage) see(path []string, text []byte, isString bool) {
	if len(path) == 0 {
		return
	}
	if isString {
		u.answer.see(path, text)
	}
	if slices.Contains(path, inList) {
		u.seeIteration(path, text, isString)
		return // no other relevant value is in a list
	}
	u.fail(path, text, isString)
	if isString {
		if u.dialect == schema.OpenAI && (len(path) == 1 || len(path) == 2 && path[0] == "response") && path[len(path)-1] == "id" {
			u.id = failure.Unquote(string(text))
		}
		return
	}
	if field, ok := u.field(path); ok {
		u.count(&u.fields, field, text)
	}
}

// count raises a field to the number in text.
func (u *Usage) count(fields *fieldCounts, field field, text []byte) {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && n >= 0 && n < countLimit {
		fields[field] = max(fields[field], n)
		u.reported = true
	}
}

// seeIteration looks for {"usage":{"iterations":[{"input_tokens":…}]}} of Anthropic.
func (u *Usage) seeIteration(path []string, text []byte, isString bool) {
	if path[0] == "message" {
		path = path[1:]
	}
	if u.dialect != schema.Anthropic || isString || len(path) < 4 || path[0] != "usage" || path[1] != "iterations" || path[2] != inList {
		return
	}
	field, ok := u.field(append([]string{"usage"}, path[3:]...))
	n := u.scanner.element()
	if !ok || n >= iterationLimit {
		return
	}
	for len(u.iterations) <= n {
		u.iterations = append(u.iterations, fieldCounts{})
	}
	u.count(&u.iterations[n], field, text)
}

// fail records the error of a stream, in the forms
//
//	{"error":{"message":…,"type":…,"code":…}}                 most
//	{"response":{"error":{"message":…,"code":…}}}             Responses
//	{"type":"error","message":…,"code":…}                     Responses
//	{"error":"…"}                                             Ollama
//
// Like counts, errors are read only from paths that the model's own text cannot have.
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

// field returns what the value at a path counts. It accepts only paths that the model's own
// text and the arguments of its tool calls cannot have.
func (u *Usage) field(path []string) (field, bool) {
	if len(path) > 2 && (path[0] == "response" || path[0] == "message") {
		path = path[1:] // the wrapping of the Responses and Messages streams
	}
	switch {
	case u.dialect == schema.Ollama && len(path) == 1:
		return ollamaField(path[0])
	case u.dialect == schema.Gemini && len(path) == 2 && path[0] == "usageMetadata":
		return geminiField(path[1])
	case u.dialect == schema.Anthropic && len(path) == 2 && path[0] == "usage":
		return anthropicField(path[1])
	case u.dialect == schema.Anthropic && len(path) == 3 && path[0] == "usage" && path[1] == "cache_creation":
		return fieldCacheLong, path[2] == "ephemeral_1h_input_tokens"
	case u.dialect == schema.OpenAI && len(path) == 2 && path[0] == "usage":
		return openAIField(path[1])
	case u.dialect == schema.OpenAI && len(path) == 3 && path[0] == "usage" && (path[1] == "prompt_tokens_details" || path[1] == "input_tokens_details"):
		return openAIDetail(path[2])
	default:
		return 0, false
	}
}

// ollamaField follows https://docs.ollama.com/api/usage.
func ollamaField(key string) (field, bool) {
	switch key {
	case "prompt_eval_count":
		return fieldInput, true
	case "eval_count":
		return fieldOutput, true
	default:
		return 0, false
	}
}

// geminiField follows https://ai.google.dev/api/generate-content#UsageMetadata.
func geminiField(key string) (field, bool) {
	switch key {
	case "promptTokenCount":
		return fieldInput, true
	case "toolUsePromptTokenCount":
		return fieldToolInput, true
	case "cachedContentTokenCount":
		return fieldCacheRead, true
	case "candidatesTokenCount":
		return fieldOutput, true
	case "thoughtsTokenCount":
		return fieldThoughts, true
	default:
		return 0, false
	}
}

// anthropicField follows https://docs.anthropic.com/en/api/messages. Servers that only
// imitate the API may use OpenAI's names.
func anthropicField(key string) (field, bool) {
	switch key {
	case "cache_creation_input_tokens":
		return fieldCacheWrite, true
	case "cache_read_input_tokens":
		return fieldCacheRead, true
	default:
		return basicField(key)
	}
}

// openAIField follows https://platform.openai.com/docs/api-reference/chat/object and
// …/responses/object. DeepSeek has another name for what it read from its cache. xAI and Gemini
// have thinking in the total, and not in completion_tokens.
// https://docs.x.ai/docs/guides/reasoning
func openAIField(key string) (field, bool) {
	switch key {
	case "prompt_cache_hit_tokens":
		return fieldCacheRead, true
	case "total_tokens":
		return fieldTotal, true
	default:
		return basicField(key)
	}
}

// openAIDetail returns the parts of the input. The last name is OpenRouter's.
func openAIDetail(key string) (field, bool) {
	switch key {
	case "cached_tokens":
		return fieldCacheRead, true
	case "cache_write_tokens":
		return fieldCacheWrite, true
	default:
		return 0, false
	}
}

func basicField(key string) (field, bool) {
	switch key {
	case "prompt_tokens", "input_tokens":
		return fieldInput, true
	case "completion_tokens", "output_tokens":
		return fieldOutput, true
	default:
		return 0, false
	}
}
