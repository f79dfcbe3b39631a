package summary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/session"
	"aibox/session/client"
	"aibox/session/sessiontest"
)

// withVerification returns two sessions: an ordinary one, and one that verifies its work.
func withVerification(t *testing.T) (s *Lister, id, verifying session.ID) {
	t.Helper()
	store := sessiontest.Store(t)
	s = New(client.New(store), store)
	id, err := s.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sessiontest.Put(t, s.store, id, session.State{Phase: session.Ended})
	if verifying, err = s.store.CreateVerification(time.Now()); err != nil {
		t.Fatal(err)
	}
	err = s.store.Write(verifying, session.SpecFile, session.Spec{ID: verifying, Verifies: &session.Verifies{Session: id}})
	if err != nil {
		t.Fatal(err)
	}
	return s, id, verifying
}

func TestTheListOfVerificationsReadsNoOtherRecord(t *testing.T) {
	s, id, verifying := withVerification(t)
	if err := os.WriteFile(filepath.Join(s.store.Dir(id), session.StateFile), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := s.VerificationSummaries()
	if err != nil {
		t.Errorf("it reports a damaged record that it need not read: %v", err)
	}
	if len(all) != 1 || all[0].ID != verifying || all[0].Task != "(verifies "+string(id)+")" {
		t.Errorf("%+v", all)
	}
	if err := os.WriteFile(filepath.Join(s.store.Dir(verifying), session.StateFile), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err = s.VerificationSummaries(); err == nil || !strings.Contains(err.Error(), string(verifying)) || len(all) != 0 {
		t.Errorf("a damaged verification: %+v, %v", all, err)
	}
}
