// Package failure reads the failure's description in a failed answer of a model server, and
// prepares it for display: one bounded line, escaped, without the key. It does no I/O of
// its own.
package failure

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"aibox/internal/lazyregexp"
	"aibox/internal/redact"
	"aibox/internal/termtext"
)

const (
	lineLimit  = 300     // bytes of a reason
	Limit      = 8 << 10 // bytes of an answer that are searched for a reason
	errorDepth = 4       // levels of JSON that are searched
)

// Failure is what a failed answer reports.
type Failure struct {
	Message string // raw
	Kind    string // the server's own name for the kind of failure, raw
}

// Reason returns the reason in the body of a failed answer: one line of at most lineLimit
// bytes that is safe for a terminal, without the key; "" if it has no readable reason.
func Reason(body io.Reader, secrets *redact.Set) string {
	data, _ := io.ReadAll(io.LimitReader(body, Limit))
	return Line(Read(data).Message, secrets)
}

// Read finds the message in the body of a failed answer:
//
//	{"error":{"message":…}}       OpenAI, Anthropic, Gemini, OpenRouter, vLLM, llama.cpp
//	[{"error":{"message":…}}]     Gemini, when it was to stream
//	{"error":"…"}                 Ollama, LM Studio
//	{"message":…}, {"detail":…}   older vLLM, FastAPI and others
//	data: {…}                     any of these as a server-sent event
//
// For a body that is not JSON, it returns the title of a page or the text itself.
func Read(data []byte) Failure {
	text := strings.TrimSpace(string(data))
	if event, ok := strings.CutPrefix(text, "event:"); ok {
		_, text, _ = strings.Cut(event, "\n")
	}
	text = strings.TrimSpace(strings.TrimPrefix(text, "data:"))
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return Failure{Message: Page(text)}
	}
	var value any
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&value); err != nil {
		return Failure{Message: cutOffMessage(text)}
	}
	return Failure{find(value, errorDepth, "error", "message", "detail", "msg", "errors", "title"), kindIn(value)}
}

// find returns the first text in value under one of keys, at most depth levels down.
func find(value any, depth int, keys ...string) string {
	if depth == 0 {
		return ""
	}
	switch value := value.(type) {
	case string:
		return value
	case []any:
		if len(value) > 0 {
			return find(value[0], depth-1, keys...)
		}
	case map[string]any:
		for _, key := range keys {
			if text := find(value[key], depth-1, keys...); text != "" {
				return text
			}
		}
	}
	return ""
}

// kindIn collects the words that servers use for the kind of a failure.
func kindIn(value any) string {
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	top, _ := value.(map[string]any)
	inner, _ := top["error"].(map[string]any)
	var words []string
	for _, fields := range []map[string]any{inner, top} {
		for _, key := range []string{"type", "code", "status"} {
			switch value := fields[key].(type) {
			case string, float64:
				words = append(words, fmt.Sprint(value))
			}
		}
	}
	return strings.Join(words, " ")
}

var pageTitle = lazyregexp.New(`(?is)<title[^>]*>([^<]*)`)

func Page(text string) string {
	if !strings.HasPrefix(text, "<") {
		return text
	}
	if title := pageTitle.FindStringSubmatch(text); title != nil {
		return title[1]
	}
	return ""
}

var firstMessage = lazyregexp.New(`"(?:message|detail|error)"\s*:\s*"((?:[^"\\]|\\.)*)`)

// cutOffMessage finds the message in JSON that is invalid or was not read completely.
func cutOffMessage(text string) string {
	if found := firstMessage.FindStringSubmatch(text); found != nil {
		return Unquote(found[1])
	}
	return ""
}

// Unquote returns the text of a JSON string without its quotes. The end of the string may
// be missing.
func Unquote(raw string) string {
	var text string
	if json.Unmarshal([]byte(`"`+raw+`"`), &text) == nil {
		return text
	}
	if i := strings.LastIndexByte(raw, '\\'); i >= 0 && json.Unmarshal([]byte(`"`+raw[:i]+`"`), &text) == nil {
		return text
	}
	return ""
}

// Line makes text safe to display: it removes the key (servers repeat the one they
// refuse), collapses white space, escapes the rest and truncates it.
func Line(text string, secrets *redact.Set) string {
	text = secrets.Text(text)
	text = termtext.Escape(strings.Join(strings.Fields(strings.ToValidUTF8(text, "�")), " "))
	if len(text) <= lineLimit {
		return text
	}
	text = text[:lineLimit-len("…")]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// IsLoading reports whether an answer is that of a server that loads its model: llama.cpp
// answers 503 with "Loading model", and Ollama 503 while it starts.
func IsLoading(status int, text string) bool {
	return status == 503 && strings.Contains(strings.ToLower(text), "loading")
}
