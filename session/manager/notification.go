package manager

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/internal/usercommand"
	"aibox/session"
)

// NotifyEvent is an event about which a user can be notified.
type NotifyEvent string

// The events.
const (
	NotifyAsks    NotifyEvent = "asks"    // a session has a question
	NotifyWaiting NotifyEvent = "waiting" // an agent waits for the user
	NotifyEnded   NotifyEvent = "ended"   // a session has ended without a failure
	NotifyFailed  NotifyEvent = "failed"  // a session has failed, or reached a limit
)

// Notification is a message about a session to its user. Its title and text are escaped.
type Notification struct {
	Event      NotifyEvent `json:"event"`
	Session    session.ID  `json:"session"`
	Agent      string      `json:"agent"`
	Repository string      `json:"repository"`
	Time       time.Time   `json:"time"`
	Title      string      `json:"title"`
	Text       string      `json:"text"`
}

// Notifications define how the user is notified about sessions. The zero value sends no
// notifications.
type Notifications struct {
	On []string // the events, of type NotifyEvent
	// Desktop shows a notification on the desktop; nil shows none.
	Desktop func(ctx context.Context, title, text string) error
	Command NotifyCommand
}

// Has reports whether the user wants to be notified about the event.
func (n *Notifications) Has(event NotifyEvent) bool { return slices.Contains(n.On, string(event)) }

// About returns the notification of an event of the session id, and whether the user wants it.
// text is untrusted.
func (n *Notifications) About(id session.ID, spec *session.Spec, event NotifyEvent, what, text string) (Notification, bool) {
	return Notification{
		Event: event, Session: id, Agent: spec.Agent, Repository: spec.Repository, Time: session.Now(),
		Title: string(id) + " " + what, Text: termtext.Escape(text),
	}, n.Has(event) && spec.Verifies == nil && !spec.IsSandbox()
}

// Send shows a notification on the desktop and runs the user's command, and waits for both,
// a few seconds at most.
func (n *Notifications) Send(ctx context.Context, message Notification) (desktop, command error) {
	var sending sync.WaitGroup
	if n.Desktop != nil {
		sending.Go(func() { desktop = n.Desktop(ctx, message.Title, message.Text) })
	}
	command = n.Command.Run(ctx, message)
	sending.Wait()
	return desktop, command
}

// NotifyFailure describes a failure of the user's command, for the log.
func NotifyFailure(err error) string {
	return "the notify command (setting notify-command) failed: " + termtext.Escape(strings.TrimSpace(err.Error()))
}

// NoticeOf returns the notification for the end of a session: the event, and the title's text
// after the session's id. ok is false for a session that the user has stopped.
func NoticeOf(r *session.Result) (event NotifyEvent, what, text string, ok bool) {
	const ended = "has ended"
	switch f := r.Fault; {
	case f != nil:
		return NotifyFailed, "failed", f.Message, f.Kind != fault.Interrupted.String()
	case r.Changes.Unknown != "":
		return NotifyEnded, ended, "what it changed is not known yet", true
	case !r.Changed:
		return NotifyEnded, ended, "nothing was changed", true
	default:
		text := fmt.Sprintf("%s to review: +%d -%d", amount.Of(r.Changes.Files, "file"), r.Changes.Added, r.Changes.Deleted)
		return NotifyEnded, ended, text, true
	}
}

// NotifyCommand is the user's command that receives each notification. The zero value means
// none.
type NotifyCommand struct{ usercommand.Command }

// NewNotifyCommand returns the command in the setting notify-command.
func NewNotifyCommand(text string) NotifyCommand { return NotifyCommand{usercommand.New(text)} }

// Run runs the command with the notification as a line of JSON on its standard input; see
// usercommand.Command.
func (c NotifyCommand) Run(ctx context.Context, n Notification) error { return c.Command.Run(ctx, n) }
