package session

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/session/control"
)

// withVerification returns two sessions: an ordinary one, and one that verifies its work.
func withVerification(t *testing.T) (s *Sessions, id, verifying ID) {
	t.Helper()
	s = newSessions(Deps{}, testStore(t))
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

func TestMeasuringAsksSupervisorsAndReadsNoRecord(t *testing.T) {
	s, ended, _ := withVerification(t)
	id, err := s.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{specFile, stateFile} {
		if err := os.WriteFile(filepath.Join(s.store.Dir(id), file), []byte("{torn"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := lock(s.store.Dir(id))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := control.Listen(s.store.Dir(id))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/usage" {
			t.Errorf("asks %s", r.URL.Path)
		}
		_, _ = w.Write([]byte(`{"memory": 7}`))
	}))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(func() { server.Close(); _ = held.Close() })
	measured := s.Measure(t.Context(), id, ended)
	if len(measured) != 1 || measured[id].Memory != 7 {
		t.Errorf("%+v", measured)
	}
}
