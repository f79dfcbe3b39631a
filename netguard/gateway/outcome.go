package gateway

import (
	"net/http"
	"strings"

	"aibox/netguard/gateway/failure"
)

// Outcome is how a request ended, as far as that predicts whether another one will succeed.
// The zero value is Answered.
type Outcome uint8

// The outcomes.
const (
	Answered Outcome = iota // the model answered
	Busy                    // the server asks to try again later
	Refused                 // the same request will be refused again: because of its key, money, model, path or form
	Broken                  // the server failed, cut off its answer or is unreachable; it may recover
	GivenUp                 // the agent disconnected before there was an answer
	NoAnswer                // the server reported success and sent no answer
	Blank                   // the model ended its answer without any text or call
)

// String returns the outcome's name; empty for Answered.
func (o Outcome) String() string {
	switch o {
	case Busy:
		return "busy"
	case Refused:
		return "refused"
	case Broken:
		return "broken"
	case GivenUp:
		return "given-up"
	case NoAnswer:
		return "no-answer"
	case Blank:
		return "blank"
	default:
		return ""
	}
}

// MarshalText writes the name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// outcomeOf determines the outcome of an upstream's answer. For some failures only the
// server's own name helps: OpenAI also answers 429 for an empty account, and a stream that
// failed halfway has the status 200.
func outcomeOf(status int, header http.Header, failed failure.Failure) Outcome {
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(failed.Kind, word) {
				return true
			}
		}
		return false
	}
	switch {
	case has("insufficient_quota", "billing"):
		return Refused
	case status == http.StatusTooManyRequests, status == 529, status == http.StatusServiceUnavailable && header.Get("Retry-After") != "",
		failure.IsLoading(status, failed.Message):
		return Busy
	case status < 300 && has("overloaded", "rate_limit", "429"):
		return Busy
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return Broken // failures with these names are temporary
	case status >= 400 && status < 500:
		return Refused
	default:
		return Broken
	}
}

// generates reports whether a request asks the model for an answer. Only these show whether
// an agent makes progress.
func generates(method, path string) bool {
	if method != http.MethodPost {
		return false
	}
	for _, ending := range []string{
		"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/responses/compact", "/v1/messages",
		"enerateContent", "/api/chat", "/api/generate",
	} {
		if strings.HasSuffix(path, ending) {
			return true
		}
	}
	return false
}
