package app

import (
	"os"
	"sync"

	"aibox/internal/secret"
	"aibox/netguard/gateway/modelserver"
)

// typedKeys are the keys of model servers that the user has typed, by variable. They are
// kept in memory only, until the program ends. The zero value is ready, and safe for
// concurrent use.
type typedKeys struct {
	mu   sync.Mutex
	keys map[string]secret.Value
}

func (t *typedKeys) set(variable string, key secret.Value) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys = map[string]secret.Value{}
	}
	t.keys[variable] = key
}

// isTyped reports whether the user has typed the key for a variable.
func (t *typedKeys) isTyped(variable string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, typed := t.keys[variable]
	return typed
}

// lookup returns a typed key, or otherwise the variable of the environment.
func (t *typedKeys) lookup(variable string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key, typed := t.keys[variable]; typed {
		return key.Reveal(), true
	}
	return os.LookupEnv(variable)
}

// ModelKeys returns the known keys of model servers by variable: those of the environment,
// and those that the user has typed.
func (a *App) ModelKeys() map[string]string {
	found := map[string]string{}
	names := modelserver.KeyNames()
	for _, p := range a.providers() {
		names = append(names, p.KeyNames()...)
	}
	for _, name := range names {
		if value, ok := a.keys.lookup(name); ok {
			found[name] = value
		}
	}
	return found
}
