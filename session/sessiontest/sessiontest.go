// Package sessiontest has stores with sessions for the tests of the packages below session.
package sessiontest

import (
	"testing"

	"aibox/config"
	"aibox/internal/paths"
	"aibox/netguard"
	"aibox/session"
)

// Store returns an empty store in a folder of the test.
func Store(t *testing.T) session.Store {
	t.Helper()
	dir := t.TempDir()
	return session.NewStore(paths.Dirs{State: dir + "/state", Data: dir + "/data"})
}

// Put stores the record of the session id, whose folder exists, in a state that may be
// invalid.
func Put(t *testing.T, store session.Store, id session.ID, state session.State) {
	t.Helper()
	spec := session.Spec{ID: id, Prompt: "first line\nsecond", Run: config.Run{Network: netguard.None.String()}}
	if err := store.WriteSpec(id, spec); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(id, session.StateFile, state); err != nil {
		t.Fatal(err)
	}
}
