// Package gateway is the inference gateway of one session: a streaming reverse
// proxy between an agent that holds a placeholder key and a model server that
// wants the real one. It passes the inference paths of four dialects and nothing
// else, counts tokens, and answers its own errors in the dialect's shape. It never
// translates between dialects, never follows a redirect for the agent, and never
// lets the real key reach the agent, an event or an error.
package gateway

import (
	"net/http"
	"time"

	"aibox/internal/secret"
)

// Config describes a gateway.
type Config struct {
	Upstream    Upstream
	Placeholder secret.Value // what the agent must present; required
	Log         func(Event)  // called once per request when it has ended, from any goroutine; may be nil
	MaxBody     int64        // bytes of one request's body; 0 means 64 MiB
	Concurrent  int          // requests at a time; 0 means 32; more get 429
}

// Event is one finished request, without a header, body or key in it. Model and
// Path come from the agent: bounded, and escaped before printing.
type Event struct {
	Time         time.Time `json:"time"`
	Dialect      Dialect   `json:"dialect"`
	Method       string    `json:"method"`
	Path         string    `json:"path"` // below the dialect's prefix, without the query, at most 256 bytes
	Model        string    `json:"model,omitempty"`
	Status       int       `json:"status"`
	InputTokens  int64     `json:"input_tokens"`
	OutputTokens int64     `json:"output_tokens"`
	Millis       int64     `json:"millis"`
	Error        string    `json:"error,omitempty"` // why the gateway itself refused or failed, a short sentence
}

// New makes the handler that agents reach on netguard.Address:PortGateway:
//
//	/openai/v1/…  /anthropic/v1/…  /gemini/v1beta/…  /ollama/api/…
//	/v1/…  /v1beta/…  /api/…        the same without a prefix, by path
//	/                              200, as Ollama answers
//
// GET /aibox/health answers 200 without a key, for the probes. The server that
// runs it should be made by NewServer.
func New(c Config) (http.Handler, error) { return newGateway(c) }

// NewServer wraps handler in a server bounded against slow and hostile clients:
// header size and time, idle connections; no limit on how long an answer streams.
func NewServer(handler http.Handler) *http.Server { return newServer(handler) }

// NewPlaceholder makes a random placeholder key in the shape that agents accept
// ("sk-aibox-…"), worthless outside its session.
func NewPlaceholder() secret.Value { return newPlaceholder() }
