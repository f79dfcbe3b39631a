package supervisor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
)

const (
	// notifyPause is the shortest time between two notifications of a running session. The
	// sandbox causes them, so that others are left out.
	notifyPause = 10 * time.Second
	// waitingSettle is how long an agent must wait for the user before a notification:
	// programs that redraw their prompt seem to wait for a moment.
	waitingSettle = 2 * time.Second
	// notifyDrainTimeout is how long the end of the session waits for its notifications.
	notifyDrainTimeout = 6 * time.Second
)

// notifier notifies the user of the session. It never delays or fails the session. The zero
// value notifies of nothing.
type notifier struct {
	session   *run
	followers atomic.Int64 // clients that show the session's output
	sending   sync.WaitGroup

	mu      sync.Mutex
	last    time.Time   // of the last notification
	waiting *time.Timer // runs while the agent has begun to wait
	failed  bool        // the user's command has failed once
}

// isWatched reports whether a client shows the session to a user.
func (n *notifier) isWatched() bool { return n.followers.Load() > 0 || n.session.term.HasViewers() }

// notify notifies the user of an event, unless another notification has just been sent.
func (n *notifier) notify(event session.NotifyEvent, what, text string) {
	if n.session == nil {
		return
	}
	now := time.Now()
	n.mu.Lock()
	tooSoon := now.Sub(n.last) < notifyPause
	if !tooSoon {
		n.last = now
	}
	n.mu.Unlock()
	if !tooSoon {
		n.send(event, what, text)
	}
}

// send sends a notification in the background.
func (n *notifier) send(event session.NotifyEvent, what, text string) {
	spec, how := &n.session.launch.Spec, n.session.deps.ReadSettings().Notifications
	if !how.Has(event) || spec.Verifies != nil || spec.IsSandbox() {
		return
	}
	message := session.Notification{
		Event: event, Session: n.session.id, Agent: spec.Agent, Repository: spec.Repository, Time: time.Now().UTC(),
		Title: string(n.session.id) + " " + what, Text: termtext.Escape(text),
	}
	if how.Desktop != nil {
		n.sending.Go(func() {
			if err := how.Desktop(context.Background(), message.Title, message.Text); err != nil {
				fmt.Fprintln(os.Stderr, "notifying the desktop:", err)
			}
		})
	}
	if how.Command.IsSet() {
		n.sending.Go(func() { n.noteFailure(how.Command.Run(context.Background(), message)) })
	}
}

// noteFailure records the first failure of the user's command.
func (n *notifier) noteFailure(err error) {
	if err == nil {
		return
	}
	n.mu.Lock()
	first := !n.failed
	n.failed = true
	n.mu.Unlock()
	if text := "the notify command (setting notify-command) failed: " + termtext.Escape(strings.TrimSpace(err.Error())); first {
		n.session.audit(audit.NoticeGiven, map[string]string{"text": text})
	}
}

// setWaiting notes that the agent waits for the user, or no longer does.
func (n *notifier) setWaiting(waiting bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting != nil {
		n.waiting.Stop()
		n.waiting = nil
	}
	if waiting && n.session != nil {
		n.waiting = time.AfterFunc(waitingSettle, func() {
			if !n.isWatched() {
				n.notify(session.NotifyWaiting, "waits for you", n.subject())
			}
		})
	}
}

// subject returns what the session works on.
func (n *notifier) subject() string {
	spec := &n.session.launch.Spec
	task, _, _ := strings.Cut(strings.TrimSpace(spec.Prompt), "\n")
	if task == "" {
		return spec.Repository
	}
	return task
}

// notifyEnd notifies the user of the session's end unless a client showed it, and waits
// until the notification is sent. Who has stopped a session knows that it ended.
func (n *notifier) notifyEnd(result *session.Result, watched bool) {
	n.setWaiting(false)
	switch f := result.Fault; {
	case watched, f != nil && f.Kind == fault.Interrupted.String():
	case f != nil:
		n.send(session.NotifyFailed, "failed", f.Message)
	case result.Changes.Unknown != "":
		n.send(session.NotifyEnded, "has ended", "what it changed is not known yet")
	case !result.Changed:
		n.send(session.NotifyEnded, "has ended", "nothing was changed")
	default:
		n.send(session.NotifyEnded, "has ended", fmt.Sprintf("%s to review: +%d -%d", amount.Of(result.Changes.Files, "file"), result.Changes.Added, result.Changes.Deleted))
	}
	sent := make(chan struct{})
	go func() { n.sending.Wait(); close(sent) }()
	select {
	case <-sent:
	case <-time.After(notifyDrainTimeout):
	}
}
