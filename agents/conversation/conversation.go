// Package conversation defines the conversation of a user and an agent as events, decodes
// it from the events that agents print in their headless JSON modes, and renders it as
// text and as Markdown. It does no I/O.
//
// Everything in an event was written by the agent, so it is hostile: a caller must escape
// it before it shows it. Decoders bound the length of lines, the depth of values and the
// number of events. They never lose a line: an unknown one becomes an event of kind Other
// or Text.
//
// The decoders are written by hand, since no library reads the formats of several agents.
package conversation

import (
	"encoding/json"
	"time"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Start     Kind = "start"     // the agent began: Model
	Message   Kind = "message"   // Role and Text, in Markdown
	Reasoning Kind = "reasoning" // Text: the model's thinking, a summary of it, or what the agent or a model wrote for a model
	Plan      Kind = "plan"      // Tasks: the whole to-do list, which replaces an earlier one
	Call      Kind = "call"      // a tool was called: ID, Tool, Input, and Command or Edits if it has them
	Result    Kind = "result"    // of the call with the same ID: Text, ExitCode if known, Failed
	Failure   Kind = "error"     // Text
	Warning   Kind = "warning"   // Text: something failed, and the agent continues
	Used      Kind = "usage"     // Usage
	End       Kind = "end"       // the agent reports its end: Failed; Text is its last answer if it repeats that
	Text      Kind = "text"      // a line that is not an event: Text, Stderr
	Other     Kind = "other"     // an event that no decoder knows: Name, Raw

	// Of the session's log, not of the agent. No decoder returns them.
	ModelCall Kind = "model"   // a request to the model: Model, Status, Usage, Text
	Allowed   Kind = "allowed" // another network access: Name, Target, Text
	Refused   Kind = "refused" // a refused access: Name, Target, Text; of a model call that a server refused Usage, too
)

// Role is the author of a message.
type Role string

// The authors.
const (
	User  Role = "user"
	Agent Role = "agent"
)

// Event is one event of a conversation. The zero values of fields mean that they do not
// apply or are unknown.
type Event struct {
	Kind   Kind      `json:"kind"`
	Time   time.Time `json:"time,omitzero"` // when its line was printed
	Offset int64     `json:"offset"`        // of its line in the record
	Role   Role      `json:"role,omitempty"`
	Text   string    `json:"text,omitempty"`
	// Delta reports that Text continues the text of the previous event of this kind and role.
	Delta bool `json:"delta,omitempty"`

	ID      string          `json:"id,omitempty"`      // of a tool call; unique in the conversation
	Tool    string          `json:"tool,omitempty"`    // its name for the agent
	Input   json.RawMessage `json:"input,omitempty"`   // its arguments
	Command string          `json:"command,omitempty"` // the command of a shell
	Edits   []Edit          `json:"edits,omitempty"`   // of a call; for some agents known only from its result

	ExitCode *int `json:"exit_code,omitempty"`
	Failed   bool `json:"failed,omitempty"`

	Tasks  []Task          `json:"tasks,omitempty"`
	Usage  *Usage          `json:"usage,omitempty"`
	Model  string          `json:"model,omitempty"`
	Stderr bool            `json:"stderr,omitempty"` // it was printed on standard error
	Name   string          `json:"name,omitempty"`   // the agent's name of an event of kind Other; the kind of a network access
	Raw    json.RawMessage `json:"raw,omitempty"`    // the whole event, if it is JSON
	Cut    int             `json:"cut,omitempty"`    // bytes of the line that were dropped

	Target string `json:"target,omitempty"` // of a network access
	Status int    `json:"status,omitempty"` // the HTTP status of a model call
}

// Edit is the change of one file.
type Edit struct {
	Path   string `json:"path"`
	Change Change `json:"change"`
	// Diff is the changed lines with some around them: each begins with a space, a minus, a
	// plus or @@. It is empty if the agent does not report the lines.
	Diff string `json:"diff,omitempty"`
}

// Change is what happens to a file.
type Change string

// The changes.
const (
	Add    Change = "add"
	Update Change = "update"
	Delete Change = "delete"
	Write  Change = "write" // Add, or Update with the whole content
)

// Task is a task of a plan.
type Task struct {
	Text   string `json:"text"`
	Status Status `json:"status"`
}

// Status is the progress of a task.
type Status string

// The progress.
const (
	Pending Status = "pending"
	Active  Status = "active"
	Done    Status = "done"
)

// Usage is the use of the model. In the events of an agent it is the agent's own word; in
// those of the session's log aibox has counted it.
type Usage struct {
	Input  int     `json:"input_tokens"`
	Output int     `json:"output_tokens"`
	Cached int     `json:"cached_tokens,omitempty"`
	Cost   float64 `json:"cost_usd,omitempty"`
	Millis int64   `json:"millis,omitempty"`
}
