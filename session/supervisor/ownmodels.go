package supervisor

import (
	"context"
	"sync"
	"time"

	"aibox/agents"
)

// modelRetry is how long a failure to find the session's models is remembered.
const modelRetry = 10 * time.Second

// ownModels are the models that a session may use. The gateway asks for them with each request
// of the sandbox, which must not become a request to the server each time. It is safe for
// concurrent use.
type ownModels struct {
	find func() ([]string, error)

	mu     sync.Mutex
	found  []string
	failed time.Time // when find last failed; zero if it did not
}

// list returns the models, or nil if they cannot be found. It may wait for the server's answer.
func (m *ownModels) list() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found != nil || !m.failed.IsZero() && time.Since(m.failed) < modelRetry {
		return m.found
	}
	found, err := m.find()
	if err != nil || found == nil {
		m.failed = time.Now()
		return nil
	}
	m.found = found
	return found
}

// sessionModels returns the models that the session may use. An agent that can work
// without a model did not wait for the server's answer; if the user chose no model, it
// gets the server's only one.
func sessionModels(ctx context.Context, server Inference, agent agents.Agent, chosen func() (Model, error)) ([]string, error) {
	model, err := chosen()
	if err == nil && model.ID == "" {
		model, err = server.Model(ctx, "")
	}
	if err != nil {
		return nil, err
	}
	return agents.Models(agent, model.ID)
}
