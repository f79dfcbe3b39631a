package auditlog

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/termtext"
	"aibox/internal/usercommand"
	"aibox/session"
)

// Command is the user's command that receives each event of the audit logs. The zero
// value means none.
type Command struct{ usercommand.Command }

// NewCommand returns the command in the setting audit-command.
func NewCommand(text string) Command { return Command{usercommand.New(text)} }

// Run runs the command with the event as a line of JSON on its standard input; see
// usercommand.Command.
func (c Command) Run(ctx context.Context, e Event) error { return c.Command.Run(ctx, e.Line()) }

// CommandFailure describes a failed run in a line that is safe for a terminal.
func CommandFailure(err error) string {
	return "the audit command (setting audit-command) failed: " + termtext.Escape(strings.TrimSpace(err.Error()))
}

// Line is an event as JSON: in `aibox audit --json`, in exports, and for the audit command.
type Line struct {
	ID      string          `json:"id"` // such as "0dq4f/17"
	Session session.ID      `json:"session"`
	Seq     int             `json:"seq"`
	Time    time.Time       `json:"time"`
	Type    audit.Type      `json:"type"`
	Kind    audit.Kind      `json:"kind"`
	Denied  bool            `json:"denied,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	Prev    string          `json:"prev"`
	Hash    string          `json:"hash"`
}

// Line returns the event for JSON.
func (e Event) Line() Line {
	return Line{e.ID().String(), e.Session, e.Seq, e.Time, e.Type, e.Kind(), e.Denied(), e.Data, e.Prev, e.Hash}
}

// Denied reports whether the event is a refusal: by the network, by the model gateway, or
// by the user, with an answer or without one in time.
func (e Event) Denied() bool {
	if e.Type == audit.AccessAnswered {
		var answer audit.AccessAnswer
		return json.Unmarshal(e.Data, &answer) == nil && (answer.Answer == string(session.AnswerDeny) || answer.Answer == string(session.AnswerNo) || answer.Answer == "none")
	}
	access, ok := AccessOf(e.Session, e.Event)
	return ok && !access.Allowed
}
