package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/command"
	"aibox/internal/shellquote"
	"aibox/internal/termtext"
)

// AuditCommand is the user's command that receives each event of the audit logs. The zero
// value is none.
type AuditCommand struct {
	words []string
	limit time.Duration // of one run
}

// auditCommandTimeout is how long the command may take for one event.
const auditCommandTimeout = 5 * time.Second

// NewAuditCommand returns the command in the setting audit-command: a program and its
// arguments, quoted as for a shell. Settings are checked when they are read, so a text that
// cannot be split is the name of a program, which will not be found.
func NewAuditCommand(text string) AuditCommand {
	words, err := shellquote.Split(text)
	if err != nil {
		words = []string{text}
	}
	return AuditCommand{words: words, limit: auditCommandTimeout}
}

// IsSet reports whether there is a command.
func (c AuditCommand) IsSet() bool { return len(c.words) > 0 }

// Run runs the command with the event as a line of JSON on its standard input, and waits
// for its end, a few seconds at most. Its output is discarded. It runs with the variables of
// command.User and with the user's rights.
func (c AuditCommand) Run(ctx context.Context, e Logged) error {
	if !c.IsSet() {
		return nil
	}
	line, err := json.Marshal(e.Line())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return command.Cmd{
		Name: c.words[0], Args: c.words[1:], Dir: "/", Env: command.User(), Stdin: bytes.NewReader(append(line, '\n')), Stdout: io.Discard, Group: true,
	}.Run(ctx)
}

// AuditCommandFailure describes a failed run in a line that is safe for a terminal.
func AuditCommandFailure(err error) string {
	return "the audit command (setting audit-command) failed: " + termtext.Escape(strings.TrimSpace(err.Error()))
}

// LogLine is an event as JSON: in `aibox audit --json`, in exports, and for the audit command.
type LogLine struct {
	ID      string          `json:"id"` // such as "0dq4f/17"
	Session ID              `json:"session"`
	Seq     int             `json:"seq"`
	Time    time.Time       `json:"time"`
	Type    audit.Type      `json:"type"`
	Kind    audit.Kind      `json:"kind"`
	Denied  bool            `json:"denied,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	Prev    string          `json:"prev"`
	Hash    string          `json:"hash"`
}

// Line returns the event as JSON has it.
func (e Logged) Line() LogLine {
	return LogLine{e.ID().String(), e.Session, e.Seq, e.Time, e.Type, e.Kind(), e.Denied(), e.Data, e.Prev, e.Hash}
}

// Denied reports whether the event is a refusal: by the network, by the model gateway, or
// by the user's answer or silence.
func (e Logged) Denied() bool {
	if e.Type == audit.AccessAnswered {
		var answer audit.AccessAnswer
		return json.Unmarshal(e.Data, &answer) == nil && (answer.Answer == "no" || answer.Answer == "none")
	}
	access, ok := AccessOf(e.Session, e.Event)
	return ok && !access.Allowed
}

// logTo appends an event to a log that this process opens for it, and passes it to the
// user's command. A failure of the command becomes an event, not an error.
func (c AuditCommand) logTo(log *audit.Log, id ID, kind audit.Type, data any) error {
	e, err := log.Append(kind, data)
	if err != nil {
		return err
	}
	if err := c.Run(context.Background(), Logged{id, e}); err != nil {
		_, err := log.Append(audit.NoticeGiven, map[string]string{"text": AuditCommandFailure(fmt.Errorf("event %d: %w", e.Seq, err))})
		return err
	}
	return nil
}
