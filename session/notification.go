package session

import (
	"context"
	"slices"
	"time"
)

// NotifyEvent is an event that a user can be notified of.
type NotifyEvent string

// The events.
const (
	NotifyAsks    NotifyEvent = "asks"    // a session has a question
	NotifyWaiting NotifyEvent = "waiting" // an agent waits for the user
	NotifyEnded   NotifyEvent = "ended"   // a session has ended as it should
	NotifyFailed  NotifyEvent = "failed"  // a session has failed, or reached a limit
)

// Notification is a message about a session to its user. Its title and text are escaped.
type Notification struct {
	Event      NotifyEvent `json:"event"`
	Session    ID          `json:"session"`
	Agent      string      `json:"agent"`
	Repository string      `json:"repository"`
	Time       time.Time   `json:"time"`
	Title      string      `json:"title"`
	Text       string      `json:"text"`
}

// Notifications is how the user is notified of sessions. The zero value notifies of nothing.
type Notifications struct {
	On []string // the events, of type NotifyEvent
	// Desktop shows a notification on the desktop; nil shows none.
	Desktop func(ctx context.Context, title, text string) error
	Command NotifyCommand
}

// Has reports whether the user wants to be notified of the event.
func (n *Notifications) Has(event NotifyEvent) bool { return slices.Contains(n.On, string(event)) }

// NotifyCommand is the user's command that receives each notification. The zero value is
// none.
type NotifyCommand struct{ userCommand }

// NewNotifyCommand returns the command in the setting notify-command.
func NewNotifyCommand(text string) NotifyCommand { return NotifyCommand{newUserCommand(text)} }

// Run runs the command with the notification as a line of JSON on its standard input; see
// userCommand.
func (c NotifyCommand) Run(ctx context.Context, n Notification) error { return c.run(ctx, n) }
