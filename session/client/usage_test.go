package client

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aibox/session"
	"aibox/session/control"
	"aibox/session/sessiontest"
)

func TestMeasuringAsksSupervisorsAndReadsNoRecord(t *testing.T) {
	s := New(sessiontest.Store(t))
	ended, err := s.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sessiontest.Put(t, s.store, ended, session.State{Phase: session.Ended})
	id, err := s.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{session.SpecFile, session.StateFile} {
		if err := os.WriteFile(filepath.Join(s.store.Dir(id), file), []byte("{torn"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := s.store.Lock(id)
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
