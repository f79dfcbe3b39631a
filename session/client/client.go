package client

import (
	"time"

	"aibox/session/control"
)

// supervisorClient talks to the supervisors of running sessions.
type supervisorClient struct {
	*reader
	store   Store
	timeout time.Duration // the maximum time until a supervisor starts to answer
}

// reconnectPause is the time between two attempts to reach a supervisor.
const reconnectPause = 50 * time.Millisecond

// newClient returns a client of the supervisors of the sessions in store.
func newClient(store Store) *supervisorClient {
	return &supervisorClient{reader: newReader(store), store: store, timeout: control.AnswerTimeout}
}

// dial returns a client of the session's supervisor.
func (s *supervisorClient) dial(id ID) control.Client {
	return control.Dial(s.store.Dir(id), s.timeout)
}
