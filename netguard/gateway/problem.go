package gateway

import (
	"encoding/json"
	"net/http"

	"aibox/netguard/gateway/schema"
)

// problem is an error of the gateway itself.
type problem struct {
	status  int
	message string // one sentence, with what to do about it
}

// write sends p in the format that clients of dialect understand. For permanent errors, a
// header that the SDKs of OpenAI and Anthropic obey turns off retries: some clients would
// retry for minutes.
func (p problem) write(w http.ResponseWriter, dialect schema.Dialect) {
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

func (p problem) body(dialect schema.Dialect) any {
	kind, status := p.errorNames()
	switch dialect {
	case schema.Anthropic:
		return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": p.message}}
	case schema.Gemini:
		return map[string]any{"error": map[string]any{"code": p.status, "message": p.message, "status": status}}
	case schema.Ollama:
		return map[string]any{"error": p.message}
	default:
		return map[string]any{"error": map[string]any{"message": p.message, "type": kind, "param": nil, "code": nil}}
	}
}

// errorNames returns the names of Anthropic (and OpenAI) and Gemini for an HTTP status.
func (p problem) errorNames() (kind, status string) {
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
