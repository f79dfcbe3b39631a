package lifeline

import (
	"context"
	"fmt"
)

// ProofSize is the length of a proof in bytes.
const ProofSize = 32

// Freeze asks the init of an idle sandbox to stop every other process and to start none, so
// that the state of the sandbox can be stored. TypeThaw continues them. If the lifeline ends
// first, init is in a sandbox that was restored from the stored state: it connects again, and
// its Hello has the proof.
type Freeze struct {
	// Proof is ProofSize random bytes that only init and the supervisor know. No process of the
	// sandbox can read the memory of init.
	Proof []byte `json:"proof"`
}

// Frozen reports that no other process runs or, with Error, that they could not be stopped and
// continue.
type Frozen struct {
	Error string `json:"error,omitempty"`
}

// Restore gives the init of a restored sandbox its new settings, and asks it to continue
// the processes.
type Restore struct {
	// Env is NAME=VALUE, added to the environment of processes that start from now on. Unset
	// are names that are removed from it first. Running processes keep their environment.
	Env   []string `json:"env,omitempty"`
	Unset []string `json:"unset,omitempty"`
	Files []File   `json:"files,omitempty"` // as in Start
}

// Restored reports that the processes continue.
type Restored struct {
	Home  string   `json:"home,omitempty"` // of the account, if there is one
	Flows []uint32 `json:"flows"`          // of processes that the supervisor had started and that have not ended
	Last  uint32   `json:"last"`           // no flow had a higher ID
}

// maxLastFlow bounds Restored.Last, so that the IDs of later flows do not begin again.
const maxLastFlow = 1 << 31

// Restore makes the init of a restored sandbox continue its processes, and waits until it
// does. flows are those that the processes may have: their data can arrive as soon as it
// returns. It closes the ones that no process has.
func (c *Conn) Restore(ctx context.Context, r Restore, flows []uint32) (Restored, map[uint32]*Flow, error) {
	open := map[uint32]*Flow{}
	for _, id := range flows {
		if flow := c.reopenFlow(id); flow != nil {
			open[id] = flow
		}
	}
	if err := c.request(ctx, TypeRestore, r); err != nil {
		return Restored{}, nil, err
	}
	f, err := c.await(ctx, TypeRestored)
	if err != nil {
		return Restored{}, nil, err
	}
	restored, err := Decode[Restored](f)
	if err != nil {
		return Restored{}, nil, err
	}
	if restored.Last > maxLastFlow {
		return Restored{}, nil, fmt.Errorf("%w: the last flow is %d", ErrProtocol, restored.Last)
	}
	c.mu.Lock()
	c.lastFlow = max(c.lastFlow, restored.Last)
	c.mu.Unlock()
	live := map[uint32]*Flow{}
	for _, id := range restored.Flows {
		if open[id] != nil {
			live[id] = open[id]
		}
	}
	for id, flow := range open {
		c.mu.Lock()
		c.lastFlow = max(c.lastFlow, id)
		c.mu.Unlock()
		if live[id] == nil {
			flow.Close()
		}
	}
	return restored, live, nil
}
