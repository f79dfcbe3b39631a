package auditlog

// Outcome is the result of a request to the model. The zero value is Answered.
type Outcome string

// The outcomes.
const (
	Answered Outcome = ""          // the model answered
	Busy     Outcome = "busy"      // the server asked to retry later
	Refused  Outcome = "refused"   // the same request will be rejected again
	Broken   Outcome = "broken"    // the server failed or is unreachable; it may recover
	GivenUp  Outcome = "given-up"  // the agent closed the connection before the answer
	Silent   Outcome = "silent"    // the session stopped waiting for an answer
	NoAnswer Outcome = "no-answer" // the server reported success and sent no answer
	Blank    Outcome = "blank"     // the answer has no text and no tool call
)

// ModelCall is one request to a model, as recorded.
type ModelCall struct {
	Method    string  `json:"method"`
	Path      string  `json:"path"`
	Model     string  `json:"model,omitempty"`
	Status    int     `json:"status"`
	Input     int     `json:"input_tokens"`
	Output    int     `json:"output_tokens"`
	Cached    int     `json:"cached_tokens,omitempty"` // the part of Input that came from the server's cache
	Cost      float64 `json:"cost_usd,omitempty"`
	Unpriced  bool    `json:"unpriced,omitempty"`  // the price of the model is unknown, and so is the cost
	Uncounted bool    `json:"uncounted,omitempty"` // the server did not report the tokens of its answer: they are unknown, not 0
	Millis    int64   `json:"millis"`
	Sent      int64   `json:"sent_bytes,omitempty"` // bytes of the request that were sent
	Error     string  `json:"error,omitempty"`      // why the gateway refused or failed, or what a server sent in place of an answer
	Reason    string  `json:"reason,omitempty"`     // the server's message about its failure: one line, escaped
	Outcome   Outcome `json:"outcome,omitempty"`
	// RetryAfter is the time that a busy server asks to wait, in milliseconds; 0 if unknown.
	RetryAfter int64 `json:"retry_after_millis,omitempty"`
	// LeftOut are parts of the request that were not sent because no list names them or they are
	// too long, each once per session: raw.
	LeftOut []string `json:"left_out,omitempty"`
	// Limit is the session's limit that refused the request: "upload", "tokens", "cost" or empty.
	Limit string `json:"limit,omitempty"`
	// Generates reports whether the request asks for an answer, not for a list of models.
	Generates bool `json:"-"`
	// Spends reports whether the request uses the session's budgets: it asks for an answer or
	// for vectors.
	Spends bool `json:"-"`
}

// Passed reports whether the gateway let the request through, successful or not.
func (c ModelCall) Passed() bool {
	return c.Error == "" || c.Outcome == Broken || c.Outcome == NoAnswer || c.Outcome == GivenUp
}

// Target returns the method and path of the request.
func (c ModelCall) Target() string { return c.Method + " " + c.Path }
