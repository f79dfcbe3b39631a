package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/store"
	"aibox/app/sandbox"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

// A server can be killed in each moment of a creation. So the creation is recorded before it
// begins, and its sandbox before anything of that exists. Whoever finds the creation of a dead
// process ends its sandbox: the next call with the key, or the next server. A caller without
// an answer then has no sandbox that it does not know of.

// maxKey is the maximum length of an idempotency key in bytes.
const maxKey = 128

// recordTimeout is how long the end of a creation may take to be recorded.
const recordTimeout = 10 * time.Second

// create creates a sandbox, or returns the one that an earlier call with the key created.
func (s *sandboxes) create(ctx context.Context, request sandbox.Request, m *aiboxv1.CreateSandboxRequest) (sandbox.Sandbox, error) {
	key, keep := m.GetIdempotencyKey(), true
	switch {
	case len(key) > maxKey:
		return sandbox.Sandbox{}, fault.New(fault.Usage, "an idempotency key has up to %d bytes", maxKey)
	case s.creations == nil:
		return s.cases.Create(ctx, request, nil)
	case key == "":
		key, keep = "none:"+rand.Text(), false
	}
	creation, err := s.begin(ctx, request.Tenant, key, m)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	if creation.Done {
		return s.cases.Get(ctx, request.Tenant, string(creation.Sandbox))
	}
	request.RecordID = func(ctx context.Context, id session.ID) error { return s.creations.RecordSandbox(ctx, creation, id) }
	made, err := s.cases.Create(ctx, request, nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return made, errors.Join(err, s.creations.EndCreation(ctx, creation, keep && err == nil))
}

// begin records a creation, and ends what an earlier one with the key has left.
func (s *sandboxes) begin(ctx context.Context, tenant session.Tenant, key string, m *aiboxv1.CreateSandboxRequest) (store.Creation, error) {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return store.Creation{}, err
	}
	digest := sha256.Sum256(encoded)
	self, err := runtime.FindProcess(os.Getpid())
	if err != nil {
		return store.Creation{}, err
	}
	for {
		creation, err := s.creations.BeginCreation(ctx, tenant, key, hex.EncodeToString(digest[:]), processName(self), isAlive)
		if err != nil || !creation.Abandoned {
			return creation, err
		}
		if err := s.endAbandoned(ctx, creation); err != nil {
			return creation, err
		}
	}
}

// endAbandoned ends the sandbox of a creation whose process has died, and then the creation.
func (s *sandboxes) endAbandoned(ctx context.Context, c store.Creation) error {
	if c.Sandbox != "" {
		if err := s.cases.Abandon(ctx, c.Sandbox); err != nil {
			return err
		}
	}
	return s.creations.EndCreation(ctx, c, false)
}

// EndAbandoned ends the sandboxes of creations whose process was killed, and which no caller
// knows of.
func (s *Server) EndAbandoned(ctx context.Context) error {
	o := sandboxes{s.options.Services.Sandboxes, s.options.Services.Creations}
	if o.creations == nil {
		return nil
	}
	abandoned, err := o.creations.AbandonedCreations(ctx, isAlive)
	for _, creation := range abandoned {
		err = errors.Join(err, o.endAbandoned(ctx, creation))
	}
	return err
}

// processName names a process of this machine, also after its pid belongs to another.
func processName(p runtime.Process) string {
	name, _ := json.Marshal(p) // numbers and text
	return string(name)
}

// isAlive reports whether the process that processName named still runs.
func isAlive(name string) bool {
	var p runtime.Process
	return json.Unmarshal([]byte(name), &p) == nil && p.Alive()
}
