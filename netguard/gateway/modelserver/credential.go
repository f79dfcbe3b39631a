package modelserver

import (
	"context"
	"sync"
	"time"

	"aibox/internal/secret"
)

// Credential is what a client presents to a server to authenticate.
type Credential struct {
	Key secret.Value // a key, a token, or the secret key of an AWS account

	AccessKeyID  string       // of an AWS account; empty for every other credential
	SessionToken secret.Value // of temporary keys of an AWS account

	Expires time.Time // zero if unknown
}

// secrets returns the secret parts.
func (c Credential) secrets() []secret.Value {
	return []secret.Value{c.Key, c.SessionToken, secret.New(c.AccessKeyID)}
}

// expiryMargin is how long before its expiry a credential is no longer used.
const expiryMargin = time.Minute

// renewalPause is the minimum time between two renewals after a server has refused a
// credential.
const renewalPause = 30 * time.Second

// keySource gets a credential when it is first needed, keeps it for the session, and gets
// another one when it has expired or was refused. It is safe for concurrent use.
type keySource struct {
	load func(context.Context) (Credential, error)

	mu      sync.Mutex
	loaded  bool
	current Credential
	renewed time.Time
	seen    []secret.Value // all secrets so far: answers may still hold an old one
	version int            // of seen
}

func newKeySource(load func(context.Context) (Credential, error)) *keySource {
	return &keySource{load: load}
}

// fixed returns the load of a credential that does not change.
func fixed(c Credential) func(context.Context) (Credential, error) {
	return func(context.Context) (Credential, error) { return c, nil }
}

// credential returns the current credential.
func (k *keySource) credential(ctx context.Context) (Credential, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.loaded && (k.current.Expires.IsZero() || time.Until(k.current.Expires) > expiryMargin) {
		return k.current, nil
	}
	return k.reload(ctx)
}

// renew returns a credential other than refused, which the server did not accept; false if
// there is none.
func (k *keySource) renew(ctx context.Context, refused Credential) (Credential, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current != refused {
		return k.current, true // another request has renewed it
	}
	if time.Since(k.renewed) < renewalPause {
		return Credential{}, false
	}
	k.renewed = time.Now()
	fresh, err := k.reload(ctx)
	fresh.Expires, refused.Expires = time.Time{}, time.Time{}
	return k.current, err == nil && fresh != refused
}

// reload gets a credential for the session. It does not end with the request that needs it first: an
// agent that gives up would cancel the question of a password manager, and its next request would ask
// again.
func (k *keySource) reload(ctx context.Context) (Credential, error) {
	c, err := k.load(context.WithoutCancel(ctx))
	if err != nil {
		return Credential{}, err
	}
	k.loaded, k.current = true, c
	k.seen = append(k.seen, c.secrets()...)
	k.version++
	return c, nil
}

// secrets returns all secrets so far, and their version.
func (k *keySource) secrets() ([]secret.Value, int) {
	if k == nil {
		return nil, 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seen[:len(k.seen):len(k.seen)], k.version
}
