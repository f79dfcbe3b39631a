package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Dialect is an API that agents speak to models. The zero value is none.
type Dialect uint8

// The dialects.
const (
	OpenAI    Dialect = iota + 1 // chat completions, responses: /v1/…
	Anthropic                    // messages: /v1/messages
	Gemini                       // generateContent: /v1beta/…
	Ollama                       // Ollama's own: /api/…
)

// String is the dialect's name, which is also its URL prefix on the gateway.
func (d Dialect) String() string {
	switch d {
	case OpenAI:
		return "openai"
	case Anthropic:
		return "anthropic"
	case Gemini:
		return "gemini"
	case Ollama:
		return "ollama"
	default:
		return ""
	}
}

// MarshalText writes the name; no dialect is empty.
func (d Dialect) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a name; empty means no dialect.
func (d *Dialect) UnmarshalText(text []byte) error {
	for dialect := range Ollama + 1 {
		if dialect.String() == string(text) {
			*d = dialect
			return nil
		}
	}
	return fmt.Errorf("unknown dialect %q", text)
}

// problem is an answer of the gateway itself.
type problem struct {
	status  int
	message string // one sentence, with what to do
}

// write sends p in the shape that clients of dialect understand. Clients are told
// not to retry what will not get better: some would for minutes (the header is
// what the SDKs of OpenAI and Anthropic look at).
func (p problem) write(w http.ResponseWriter, dialect Dialect) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	if p.status == http.StatusTooManyRequests {
		header.Set("Retry-After", "1")
	} else {
		header.Set("X-Should-Retry", "false")
	}
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(p.body(dialect))
}

func (p problem) body(dialect Dialect) any {
	kind, status := p.words()
	switch dialect {
	case Anthropic:
		return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": p.message}}
	case Gemini:
		return map[string]any{"error": map[string]any{"code": p.status, "message": p.message, "status": status}}
	case Ollama:
		return map[string]any{"error": p.message}
	default:
		return map[string]any{"error": map[string]any{"message": p.message, "type": kind, "param": nil, "code": nil}}
	}
}

// words are what Anthropic (and OpenAI) and Gemini call an HTTP status.
func (p problem) words() (kind, status string) {
	switch p.status {
	case http.StatusUnauthorized:
		return "authentication_error", "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "permission_error", "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "not_found_error", "NOT_FOUND"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large", "INVALID_ARGUMENT"
	case http.StatusTooManyRequests:
		return "rate_limit_error", "RESOURCE_EXHAUSTED"
	case http.StatusBadRequest:
		return "invalid_request_error", "INVALID_ARGUMENT"
	default:
		return "api_error", "UNAVAILABLE"
	}
}
