// Package creation makes calls that create something repeatable by their idempotency keys. It
// never creates anything itself.
//
// The server can be killed at any moment of a creation. So a creation is recorded before it
// begins, and the id of its result before that exists. The next call with the key, or the
// next server, settles the creation of a dead process.
package creation

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

	"aibox/api/store"
	"aibox/internal/fault"
	"aibox/internal/namedlock"
	"aibox/runtime"
	"aibox/session"
)

// maxKey is the maximum length of an idempotency key in bytes.
const maxKey = 128

// recordTimeout is how long the end of a creation may take to be recorded.
const recordTimeout = 10 * time.Second

// Store remembers creations; see store.Store.
type Store interface {
	BeginCreation(ctx context.Context, tenant session.Tenant, key, request, owner string, isAlive func(owner string) bool) (store.Creation, error)
	AddCreation(ctx context.Context, tenant session.Tenant, key, owner string, sandbox session.ID) (store.Creation, error)
	RecordSandbox(ctx context.Context, c store.Creation, sandbox session.ID) error
	EndCreation(ctx context.Context, c store.Creation, keep bool) error
	AbandonCreation(ctx context.Context, c store.Creation) (store.Creation, error)
	AbandonedCreations(ctx context.Context, isAlive func(owner string) bool) ([]store.Creation, error)
}

// Recorder records creations and makes them repeatable. It is safe for concurrent use.
type Recorder struct {
	Store Store
	// Settle returns once the creation of id by a dead process is settled. It reports
	// whether the result is complete and stays; otherwise nothing of it is left.
	Settle func(ctx context.Context, id session.ID) (stays bool, err error)

	running namedlock.Set // creations of this process, by tenant and key
}

// Record stores the id of a creation's result, before that exists. An error must end the
// creation.
type Record = func(ctx context.Context, id session.ID) error

// Check checks the form of an idempotency key.
func Check(key string) error {
	if len(key) > maxKey {
		return fault.New(fault.Usage, "an idempotency key has up to %d bytes", maxKey)
	}
	return nil
}

// Do handles the request message by calling create, or returns the id that an earlier call
// with the key created; otherwise the id is empty. After a success, the key returns the result
// from now on; after an error or a panic, it is free. A call with the key of a creation that runs in this process waits for its end:
// its caller may have lost the connection of the first call. Another message with the key is a Conflict, and so is one whose creation
// runs in another process.
func (r *Recorder) Do(ctx context.Context, tenant session.Tenant, key string, message proto.Message, create func(Record) error) (session.ID, error) {
	if err := Check(key); err != nil {
		return "", err
	}
	unlock, err := r.running.Lock(ctx, string(tenant)+"\x00"+key)
	if err != nil {
		return "", err
	}
	defer unlock()
	c, err := r.begin(ctx, tenant, key, message)
	if err != nil {
		return "", err
	}
	if c.Done {
		return c.Sandbox, nil
	}
	recorded := &c
	err = r.attempt(ctx, &recorded, func() error {
		return create(func(ctx context.Context, id session.ID) error {
			c.Sandbox = id
			return r.Store.RecordSandbox(ctx, c, id)
		})
	})
	return "", errors.Join(err, r.finish(ctx, c, err == nil))
}

// DoOnce is Do for a call without a key. The creation is recorded, too, so that a caller
// who gets no answer does not own something unknown; but only once there is something to
// find.
func (r *Recorder) DoOnce(ctx context.Context, tenant session.Tenant, create func(Record) error) error {
	self, err := selfName()
	if err != nil {
		return err
	}
	key := "none:" + rand.Text()
	var c *store.Creation // nil until it is recorded
	err = r.attempt(ctx, &c, func() error {
		return create(func(ctx context.Context, id session.ID) error {
			if c != nil {
				c.Sandbox = id
				return r.Store.RecordSandbox(ctx, *c, id)
			}
			added, err := r.Store.AddCreation(ctx, tenant, key, self, id)
			c = &added // it may be stored despite the error
			return err
		})
	})
	if c == nil {
		return err
	}
	return errors.Join(err, r.finish(ctx, *c, false))
}

// finish records the end of a creation. If that fails, the caller gets an error, so the creation is
// abandoned: otherwise the result would stay without an owner, and the key would be in use.
func (r *Recorder) finish(ctx context.Context, c store.Creation, keep bool) error {
	err := r.end(ctx, c, keep)
	if err != nil {
		r.abandon(ctx, c)
	}
	return err
}

// end records the end of a creation, even if ctx is done.
func (r *Recorder) end(ctx context.Context, c store.Creation, keep bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return r.Store.EndCreation(ctx, c, keep)
}

// attempt calls create, and abandons the creation at c, nil if it is not recorded yet, if create
// panics.
func (r *Recorder) attempt(ctx context.Context, c **store.Creation, create func() error) error {
	returned := false
	defer func() {
		if !returned && *c != nil {
			r.abandon(ctx, **c)
		}
	}()
	err := create()
	returned = true
	return err
}

// abandon settles a creation that has panicked, or whose end could not be recorded, as if its
// process had died. If that fails, the next call with the key or the next server settles it.
func (r *Recorder) abandon(ctx context.Context, c store.Creation) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if c, err := r.Store.AbandonCreation(ctx, c); err == nil {
		_ = r.settle(ctx, c)
	}
}

// begin records a creation, and settles an earlier one with the key whose process has died.
func (r *Recorder) begin(ctx context.Context, tenant session.Tenant, key string, message proto.Message) (store.Creation, error) {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return store.Creation{}, err
	}
	digest := sha256.Sum256(encoded)
	self, err := selfName()
	if err != nil {
		return store.Creation{}, err
	}
	for {
		c, err := r.Store.BeginCreation(ctx, tenant, key, hex.EncodeToString(digest[:]), self, isAlive)
		if err != nil || !c.Abandoned {
			return c, err
		}
		if err := r.settle(ctx, c); err != nil {
			return c, err
		}
	}
}

// settle ends a creation that was abandoned.
func (r *Recorder) settle(ctx context.Context, c store.Creation) error {
	stays := false
	if c.Sandbox != "" {
		var err error
		if stays, err = r.Settle(ctx, c.Sandbox); err != nil {
			return err
		}
	}
	return r.Store.EndCreation(ctx, c, stays)
}

// SettleAll settles the creations whose process was killed.
func (r *Recorder) SettleAll(ctx context.Context) error {
	abandoned, err := r.Store.AbandonedCreations(ctx, isAlive)
	for _, c := range abandoned {
		err = errors.Join(err, r.settle(ctx, c))
	}
	return err
}

// selfName identifies this process, even after another process has its pid.
func selfName() (string, error) {
	self, err := runtime.FindProcess(os.Getpid())
	if err != nil {
		return "", err
	}
	name, err := json.Marshal(self)
	return string(name), err
}

// isAlive reports whether the process that selfName named still runs.
func isAlive(name string) bool {
	var p runtime.Process
	return json.Unmarshal([]byte(name), &p) == nil && p.Alive()
}
