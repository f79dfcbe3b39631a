package summary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// withVerification returns two sessions: an ordinary one, and one that verifies its work.
func withVerification(t *testing.T) (s *lister, id, verifying ID) {
	t.Helper()
	store := testStore(t)
	s = newLister(newClient(store), store)
	id, err := s.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	storeSession(t, s.store, id, State{Phase: Ended})
	if verifying, err = s.store.CreateVerification(time.Now()); err != nil {
		t.Fatal(err)
	}
	err = s.store.write(verifying, specFile, Spec{ID: verifying, Verifies: &Verifies{Session: id}})
	if err != nil {
		t.Fatal(err)
	}
	return s, id, verifying
}

func TestTheListOfVerificationsReadsNoOtherRecord(t *testing.T) {
	s, id, verifying := withVerification(t)
	if err := os.WriteFile(filepath.Join(s.store.Dir(id), stateFile), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := s.VerificationSummaries()
	if err != nil {
		t.Errorf("it reports a damaged record that it need not read: %v", err)
	}
	if len(all) != 1 || all[0].ID != verifying || all[0].Task != "(verifies "+string(id)+")" {
		t.Errorf("%+v", all)
	}
	if err := os.WriteFile(filepath.Join(s.store.Dir(verifying), stateFile), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err = s.VerificationSummaries(); err == nil || !strings.Contains(err.Error(), string(verifying)) || len(all) != 0 {
		t.Errorf("a damaged verification: %+v, %v", all, err)
	}
}
