package session

// Outcome is how a request to the model ended. The zero value is Answered.
type Outcome string

// The outcomes.
const (
	Answered Outcome = ""          // the model answered
	Busy     Outcome = "busy"      // the server asks to come again later
	Refused  Outcome = "refused"   // the same request will be refused again
	Broken   Outcome = "broken"    // the server failed or is not there; it may recover
	GivenUp  Outcome = "given-up"  // the agent hung up before there was an answer
	Silent   Outcome = "silent"    // the session does not wait any longer for an answer
	NoAnswer Outcome = "no-answer" // the server said that all is well and sent no answer
	Blank    Outcome = "blank"     // the model ended its answer without having said or called anything
)

// ModelCall is one request to a model, for the record.
type ModelCall struct {
	Method    string  `json:"method"`
	Path      string  `json:"path"`
	Model     string  `json:"model,omitempty"`
	Status    int     `json:"status"`
	Input     int     `json:"input_tokens"`
	Output    int     `json:"output_tokens"`
	Uncounted bool    `json:"uncounted,omitempty"` // there was an answer, and the server did not report its tokens: they are unknown, not 0
	Millis    int64   `json:"millis"`
	Sent      int64   `json:"sent_bytes,omitempty"` // of the request's body, as far as they went to the server
	Error     string  `json:"error,omitempty"`      // why the gateway refused or failed, or what a server sent instead of an answer
	Reason    string  `json:"reason,omitempty"`     // what the server says of its failure: one line, escaped
	Outcome   Outcome `json:"outcome,omitempty"`
	// RetryAfter is how long a busy server asks to wait, in milliseconds; 0 when it does
	// not say.
	RetryAfter int64 `json:"retry_after_millis,omitempty"`
	// LeftOut are parts of the request that did not go to the server because no list
	// names them, each once in a session: raw.
	LeftOut []string `json:"left_out,omitempty"`
	// Limit is the limit of the session that the request was refused for: "upload" or
	// "tokens", empty for none.
	Limit string `json:"limit,omitempty"`
	// Generates says that an answer was requested, and not something about models.
	Generates bool `json:"-"`
}

// Passed reports whether the gateway let the request through, whatever came of it.
func (c ModelCall) Passed() bool {
	return c.Error == "" || c.Outcome == Broken || c.Outcome == NoAnswer || c.Outcome == GivenUp
}

// Target is what was asked of the gateway.
func (c ModelCall) Target() string { return c.Method + " " + c.Path }
