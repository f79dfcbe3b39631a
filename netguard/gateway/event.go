package gateway

import (
	"time"

	"aibox/netguard/gateway/schema"
	"aibox/netguard/gateway/usage"
)

// Event is one finished request, without a header, body or key in it. Model and
// Path come from the agent: bounded, and to be escaped before printing.
type Event struct {
	Time         time.Time      `json:"time"`
	Dialect      schema.Dialect `json:"dialect"`
	Method       string         `json:"method"`
	Path         string         `json:"path"` // below the dialect's prefix, without the query, at most 256 bytes
	Model        string         `json:"model,omitempty"`
	Status       int            `json:"status"`
	InputTokens  int64          `json:"input_tokens"`
	OutputTokens int64          `json:"output_tokens"`
	CachedTokens int64          `json:"cached_tokens,omitempty"` // the part of InputTokens that came from the server's cache
	StoredTokens int64          `json:"stored_tokens,omitempty"` // the part of InputTokens that went into the server's cache
	Cost         float64        `json:"cost_usd,omitempty"`
	Unpriced     bool           `json:"unpriced,omitempty"`  // the price of the answer's model is unknown, so its cost is, too
	Uncounted    bool           `json:"uncounted,omitempty"` // there was an answer, and the server did not report its tokens: they are unknown, not 0
	Millis       int64          `json:"millis"`
	Error        string         `json:"error,omitempty"` // why the gateway itself refused or failed, a short sentence
	// Reason is the model server's own message about its failure: one escaped line of at
	// most 300 bytes, without the key.
	Reason  string  `json:"reason,omitempty"`
	Outcome Outcome `json:"outcome,omitempty"`
	// RetryAfter is how long a busy server asks to wait; 0 if it does not report that.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// Generates reports whether the request asks the model for an answer; OnRequest was
	// called for it. Other requests ask about models or are invalid.
	Generates bool `json:"-"`
	// Spends reports whether the request uses the session's budgets: it asks for an answer or
	// for vectors.
	Spends bool `json:"-"`
	// LeftOut names the fields, tool kinds, headers and parameters of the request that did not
	// go upstream because no list names them or they are too long, each once per session and at most 32 in
	// one event. They come from the agent: bounded, and to be escaped before printing.
	LeftOut []string `json:"left_out,omitempty"`
	// Sent is how many bytes of the request went upstream, of those that the agent has chosen.
	Sent int64 `json:"sent,omitempty"`
	// Retries is how many times the gateway sent the request again.
	Retries int `json:"retries,omitempty"`
	// Limit is the limit of the session because of which the request was refused.
	Limit Limit `json:"limit,omitempty"`
}

// count records the tokens of the answer.
func (e *Event) count(c usage.Counts) {
	e.InputTokens, e.OutputTokens = c.Input, c.Output
	e.CachedTokens, e.StoredTokens = c.CacheRead, c.CacheWrite
}
