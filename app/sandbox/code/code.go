// Package code runs source text in sandboxes, on its own or in a context that keeps its
// variables. An interpreter of the sandbox runs it; the scripts that drive the interpreters
// are sent to their input, so nothing is installed.
//
// The scripts run in the same interpreter as the code. So the code can forge every
// part of a result: a result is data for the caller, and decides nothing. The findings of
// Check are advice.
package code

import (
	"slices"
	"time"

	"aibox/internal/fault"
)

// Language is a language that sandboxes can run.
type Language string

// The languages.
const (
	Python     Language = "python"
	JavaScript Language = "javascript"
	Ruby       Language = "ruby"
	Bash       Language = "bash"
)

// Languages returns all languages.
func Languages() []Language { return []Language{Python, JavaScript, Ruby, Bash} }

// ParseLanguage returns the language of a name.
func ParseLanguage(name string) (Language, error) {
	if slices.Contains(Languages(), Language(name)) {
		return Language(name), nil
	}
	return "", fault.New(fault.Usage, "code is in python, javascript, ruby or bash, not in %q", name)
}

// Status is the way in which code ended.
type Status string

// The statuses.
const (
	Completed Status = "COMPLETED" // ended without an error
	Failed    Status = "FAILED"    // ended with an error or an exit code other than 0
	TimedOut  Status = "TIMEOUT"   // it was ended at its time limit
)

// Validation defines how findings of Check are treated before code runs.
type Validation string

// The validations.
const (
	NoValidation Validation = ""       // there are no findings
	Advise       Validation = "advise" // the findings are in the result
	Refuse       Validation = "refuse" // code with findings is refused
)

// Limits of requests.
const (
	MaxCode        = 1 << 20 // bytes
	MaxInput       = 1 << 20 // bytes
	DefaultOutput  = 1 << 20 // bytes of each stream
	MaxOutput      = 16 << 20
	DefaultTimeout = time.Minute
)

// Place describes where and as which user code runs in its sandbox.
type Place struct {
	Env  []string // NAME=VALUE, added to the environment of the sandbox
	Dir  string   // empty means the sandbox's
	User string   // USER or USER:GROUP; empty means the sandbox's
}

// Request is a request to run code.
type Request struct {
	Language Language // may be empty with a Context
	Code     string
	// Context is the ID of a context, or empty for code that runs on its own. With a context,
	// Place and Input are not allowed.
	Context    string
	Place      Place
	Input      []byte        // standard input
	Timeout    time.Duration // 0 means DefaultTimeout
	MaxOutput  int64         // bytes of each stream in the result; 0 means DefaultOutput
	Validation Validation
}

// validate checks and completes a request.
func (r *Request) validate() error {
	switch {
	case r.Context == "" && !slices.Contains(Languages(), r.Language):
		_, err := ParseLanguage(string(r.Language))
		return err
	case len(r.Code) > MaxCode:
		return fault.New(fault.Usage, "code has at most %d bytes", MaxCode)
	case len(r.Input) > MaxInput:
		return fault.New(fault.Usage, "the input of code has at most %d bytes", MaxInput)
	case r.Context != "" && (len(r.Place.Env) > 0 || r.Place.Dir != "" || r.Place.User != "" || len(r.Input) > 0):
		return fault.New(fault.Usage, "code in a context has the environment, folder and user of the context, and no input")
	case r.Timeout < 0 || r.MaxOutput < 0 || r.MaxOutput > MaxOutput:
		return fault.New(fault.Usage, "a limit is negative or too large; output is at most %d bytes", MaxOutput)
	}
	if r.Timeout == 0 {
		r.Timeout = DefaultTimeout
	}
	if r.MaxOutput == 0 {
		r.MaxOutput = DefaultOutput
	}
	return nil
}

// Result describes the end of code. Everything except Status and Took comes from the
// sandbox: escape.
type Result struct {
	Status Status
	Stdout Output
	Stderr Output
	// Exit is the exit code, or 128 and the signal. It is nil in a context whose code did not
	// exit, so that the interpreter still runs.
	Exit *int
	// Value is the value of the last expression, as the language prints it; "" if there is
	// none. Python and JavaScript have values; JavaScript with await outside of functions
	// only if it is a single expression.
	Value string
	Error string // the error with its traceback, as on Stderr; "" if there was none
	// Ended reports that the context has ended, with its variables.
	Ended    bool
	Findings []Finding // set with Advise
	Took     time.Duration
}

// Output is the beginning of the output of code.
type Output struct {
	Bytes   []byte
	Dropped int64 // number of bytes after Bytes
}

// keep adds output up to a limit.
func (o *Output) keep(p []byte, limit int64) {
	n := min(int64(len(p)), max(limit-int64(len(o.Bytes)), 0))
	o.Bytes = append(o.Bytes, p[:n]...)
	o.Dropped += int64(len(p)) - n
}
