// Package client calls the supervisors of running sessions through their control sockets: it
// follows and stops sessions, answers their questions, and reaches their terminals, processes,
// files and ports. It changes no record: a supervisor does, or, once that has ended, package
// manager.
package client

import (
	"time"

	"aibox/session"
	"aibox/session/control"
)

// Client talks to the supervisors of running sessions.
type Client struct {
	*session.Reader
	store   session.Store
	timeout time.Duration // the maximum time until a supervisor starts to answer
}

// reconnectPause is the time between two attempts to reach a supervisor.
const reconnectPause = 50 * time.Millisecond

// New returns a client of the supervisors of the sessions in store.
func New(store session.Store) *Client {
	return &Client{Reader: session.NewReader(store), store: store, timeout: control.AnswerTimeout}
}

// mayReach returns a function that reports before each attempt to reach a session's supervisor whether
// it can succeed. A process that holds the lock may be the supervisor, which has not opened its socket
// yet, or another command that changes the ended session, perhaps for minutes. A supervisor opens no
// socket after it has stored the end. So if a session has ended before an attempt that fails, there is no
// supervisor to wait for.
func (s *Client) mayReach(id session.ID) func() bool {
	dir, ended := s.store.Dir(id), false
	return func() bool {
		if ended || !session.IsLocked(dir) {
			return false
		}
		ended = s.store.Ended(id)
		return true
	}
}

// dial returns a client of the session's supervisor.
func (s *Client) dial(id session.ID) control.Client {
	return control.Dial(s.store.Dir(id), s.timeout)
}
