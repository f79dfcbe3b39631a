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
	loading *keyLoad // nil while no credential is being loaded
	loaded  bool
	current Credential
	renewed time.Time
	seen    []secret.Value // all secrets so far: answers may still hold an old one
	version int            // of seen
}

// keyLoad is one call of load, for which several requests can wait.
type keyLoad struct {
	done       chan struct{} // closed when the following fields are set
	credential Credential
	err        error
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
	if k.loaded && (k.current.Expires.IsZero() || time.Until(k.current.Expires) > expiryMargin) {
		defer k.mu.Unlock()
		return k.current, nil
	}
	l := k.reload(ctx)
	k.mu.Unlock()
	return l.wait(ctx)
}

// renew returns a credential other than refused, which the server did not accept; false if
// there is none.
func (k *keySource) renew(ctx context.Context, refused Credential) (Credential, bool) {
	k.mu.Lock()
	if k.current != refused {
		defer k.mu.Unlock()
		return k.current, true // another request has renewed it
	}
	if k.loading == nil {
		if time.Since(k.renewed) < renewalPause {
			k.mu.Unlock()
			return Credential{}, false
		}
		k.renewed = time.Now()
	}
	l := k.reload(ctx)
	k.mu.Unlock()
	fresh, err := l.wait(ctx)
	other := fresh
	other.Expires, refused.Expires = time.Time{}, time.Time{}
	return fresh, err == nil && other != refused
}

// reload begins to load a credential for the session, unless one is being loaded. That does not end
// with the request that needs it: an agent that gives up would cancel the question of a password
// manager, and its next request would ask again. The caller holds k.mu.
func (k *keySource) reload(ctx context.Context) *keyLoad {
	if k.loading != nil {
		return k.loading
	}
	l := &keyLoad{done: make(chan struct{})}
	k.loading = l
	go func() {
		defer close(l.done)
		l.credential, l.err = k.load(context.WithoutCancel(ctx))
		k.mu.Lock()
		defer k.mu.Unlock()
		k.loading = nil
		if l.err != nil {
			l.credential = Credential{}
			return
		}
		k.loaded, k.current = true, l.credential
		k.seen = append(k.seen, l.credential.secrets()...)
		k.version++
	}()
	return l
}

// wait returns the credential once it is loaded, unless ctx ends before.
func (l *keyLoad) wait(ctx context.Context) (Credential, error) {
	if ctx.Err() != nil {
		return Credential{}, ctx.Err()
	}
	select {
	case <-l.done:
		return l.credential, l.err
	case <-ctx.Done():
		return Credential{}, ctx.Err()
	}
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
