package session

import (
	"context"
	"fmt"
	"time"

	"aibox/internal/fault"
)

// abandonPoll is how often Abandon looks at a sandbox that is being started.
const abandonPoll = 20 * time.Millisecond

// Abandon ends the sandbox of a Launch whose Client has died, and returns when it has ended.
// A start that is under way ends by itself. A sandbox that does not exist is not an error.
func (s *repairs) Abandon(ctx context.Context, id ID) error {
	if id.Agent() != SandboxAgent {
		return fmt.Errorf("%s is not a sandbox", id)
	}
	tick := time.NewTicker(abandonPoll)
	defer tick.Stop()
	for isLocked(s.store.Dir(id)) {
		if found, err := s.store.Load(id); err == nil && found.State.Phase == Running {
			_, err := s.verifications.Stop(ctx, id, abandoned)
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, err := s.endDead(ctx, id, fault.New(fault.Interrupted, abandoned))
	return err
}

// abandoned is why a sandbox ends that Abandon stops.
const abandoned = "the process that created it has died"
