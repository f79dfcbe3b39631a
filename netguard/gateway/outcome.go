package gateway

import (
	"net/http"
	"strings"

	"aibox/netguard/gateway/failure"
)

// Outcome is how a request ended, as far as it matters for whether another one
// will fare better. The zero value is Answered.
type Outcome uint8

// The outcomes.
const (
	Answered Outcome = iota // the model answered
	Busy                    // the server asks to come again later
	Refused                 // the same request will be refused again: key, money, model, path, form
	Broken                  // the server failed, broke off or is not there; it may recover
	GivenUp                 // the agent hung up before there was an answer
	NoAnswer                // the server said that all is well and sent no answer
	Blank                   // the model ended its answer without having said or called anything
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

// outcomeOf judges an answer of the upstream. What the server calls the failure is for
// some all there is: OpenAI's 429 is also what an empty account gets, and a stream that
// failed on the way has the status 200.
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
		return Broken // what servers mean by these passes
	case status >= 400 && status < 500:
		return Refused
	default:
		return Broken
	}
}

// generates reports whether a request asks the model for an answer, and not about
// it: only these say whether an agent gets on.
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
