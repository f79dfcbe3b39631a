package client

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"aibox/session"
	"aibox/session/control"
)

// Usage measures what a running session's sandbox uses.
func (s *Client) Usage(ctx context.Context, id session.ID) (used session.Usage, err error) {
	err = s.send(id, func(c control.Client) error {
		data, err := c.Usage(ctx)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &used)
	})
	return used, err
}

// usageTimeout bounds how long a supervisor may take to measure its sandbox.
const usageTimeout = 3 * time.Second

// Measure measures the resource usage of the sandboxes of sessions, concurrently. A session
// that cannot be measured, such as one that has ended, is not in the result. It reads no
// record, so that a screen can call it often.
func (s *Client) Measure(ctx context.Context, ids ...session.ID) map[session.ID]session.Usage {
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	used := make([]session.Usage, len(ids))
	failed := make([]error, len(ids))
	var measuring sync.WaitGroup
	for i, id := range ids {
		measuring.Go(func() { used[i], failed[i] = s.Usage(ctx, id) })
	}
	measuring.Wait()
	measured := make(map[session.ID]session.Usage, len(ids))
	for i, id := range ids {
		if failed[i] == nil {
			measured[id] = used[i]
		}
	}
	return measured
}
