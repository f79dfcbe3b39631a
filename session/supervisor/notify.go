package supervisor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aibox/audit"
	"aibox/session"
	"aibox/session/manager"
)

const (
	// notifyPause is the shortest time between two notifications of a running session, because
	// the sandbox causes them.
	notifyPause = 10 * time.Second
	// waitingSettle is how long an agent must wait for the user before a notification:
	// programs that redraw their prompt appear to wait for a moment.
	waitingSettle = 2 * time.Second
	// notifyDrainTimeout is how long the end of the session waits for its notifications.
	notifyDrainTimeout = 6 * time.Second
)

// notifier notifies the user of the session. It never delays or fails the session. The zero
// value sends no notifications.
type notifier struct {
	session   *run
	followers atomic.Int64 // clients that show the session's output
	sending   sync.WaitGroup

	mu      sync.Mutex
	last    time.Time   // time of the last notification
	held    []note      // delayed until the pause is over, oldest first
	pause   *time.Timer // runs while there are held notifications
	waiting *time.Timer // runs while a new wait of the agent is not confirmed
	waits   bool        // the agent waits
	failed  bool        // the user's command has failed once
}

// note is a notification of a running session.
type note struct {
	event      manager.NotifyEvent
	what, text string
	holds      func() bool // reports whether its cause still exists
}

// isWatched reports whether a client shows the session to a user.
func (n *notifier) isWatched() bool { return n.followers.Load() > 0 || n.session.term.HasViewers() }

// notify notifies the user of an event. Soon after another notification it waits until the
// pause is over; then the newest one whose cause still exists is sent, and older ones are
// dropped. A question counts as newer than a waiting agent, so that the agent cannot
// suppress the notification of a question.
func (n *notifier) notify(next note) {
	if n.session == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	left := notifyPause - time.Since(n.last)
	if n.pause == nil && left <= 0 {
		n.last = time.Now()
		n.send(next.event, next.what, next.text)
		return
	}
	n.held = slices.DeleteFunc(n.held, func(old note) bool { return !old.holds() })
	if next.event == manager.NotifyWaiting {
		n.held = slices.Insert(n.held, 0, next)
	} else {
		n.held = append(n.held, next)
	}
	if n.pause == nil {
		n.pause = time.AfterFunc(left, n.endPause)
	}
}

// endPause sends the newest held notification whose cause still exists.
func (n *notifier) endPause() {
	n.mu.Lock()
	defer n.mu.Unlock()
	held := n.held
	n.held, n.pause = nil, nil
	for _, next := range slices.Backward(held) {
		if next.holds() {
			n.last = time.Now()
			n.send(next.event, next.what, next.text)
			return
		}
	}
}

// send sends a notification in the background.
func (n *notifier) send(event manager.NotifyEvent, what, text string) {
	how := n.session.deps.ReadSettings().Notifications
	message, wanted := how.About(n.session.id, &n.session.launch.Spec, event, what, text)
	if wanted {
		n.sending.Go(func() {
			desktop, command := how.Send(context.Background(), message)
			if desktop != nil {
				fmt.Fprintln(os.Stderr, "notifying the desktop:", desktop)
			}
			n.noteFailure(command)
		})
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
	if first {
		n.session.audit(audit.NoticeGiven, map[string]string{"text": manager.NotifyFailure(err)})
	}
}

// setWaiting records whether the agent waits for the user.
func (n *notifier) setWaiting(waiting bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting != nil {
		n.waiting.Stop()
		n.waiting = nil
	}
	n.waits = waiting
	if waiting && n.session != nil {
		n.waiting = time.AfterFunc(waitingSettle, func() {
			if !n.isWatched() {
				n.notify(note{manager.NotifyWaiting, "waits for you", n.subject(), n.stillWaits})
			}
		})
	}
}

// stillWaits reports whether the agent waits and no client shows that. n.mu is held.
func (n *notifier) stillWaits() bool { return n.waits && !n.isWatched() }

// subject returns a description of the session's work.
func (n *notifier) subject() string {
	spec := &n.session.launch.Spec
	task, _, _ := strings.Cut(strings.TrimSpace(spec.Prompt), "\n")
	if task == "" {
		return spec.Repository
	}
	return task
}

// notifyEnd notifies the user of the session's end unless a client showed it, and waits
// until the notification is sent. It drops the held notifications.
func (n *notifier) notifyEnd(result *session.Result, watched bool) {
	n.setWaiting(false)
	n.mu.Lock()
	n.held = nil
	n.mu.Unlock()
	if event, what, text, ok := manager.NoticeOf(result); ok && !watched {
		n.send(event, what, text)
	}
	sent := make(chan struct{})
	go func() { n.sending.Wait(); close(sent) }()
	select {
	case <-sent:
	case <-time.After(notifyDrainTimeout):
	}
}
