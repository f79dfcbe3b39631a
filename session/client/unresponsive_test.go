package client

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/control"
	"aibox/session/output"
	"aibox/session/process"
	"aibox/session/sessiontest"
)

// hanging is a running session whose supervisor accepts connections and does not answer,
// like one that hangs.
func hanging(t *testing.T) (*Client, session.ID) {
	t.Helper()
	s, id, listener := supervised(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	return s, id
}

// supervised is a running session and the control socket of its supervisor, which has 20 ms
// to answer.
func supervised(t *testing.T) (*Client, session.ID, net.Listener) {
	t.Helper()
	s := New(sessiontest.Store(t))
	s.timeout = 20 * time.Millisecond
	id, err := s.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sessiontest.Put(t, s.store, id, session.State{Phase: session.Running})
	mine, err := s.store.Lock(id)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := control.Listen(s.store.Dir(id))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(listener.Close(), mine.Close()) })
	return s, id, listener
}

// A snapshot takes a long time to store, and a process, a pause and the rest wait for its end.
func TestASupervisorIsResponsiveWhileACallHasToWait(t *testing.T) {
	s, id, listener := supervised(t)
	s.timeout = 300 * time.Millisecond // a ping counts as lost after three times this long
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/state", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /v1/processes", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Second) // longer than that, and than the time to the first ping
		_, _ = w.Write([]byte(`{"id":7}`))
	})
	late := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(400 * time.Millisecond) // longer than the client waits without pings
			_, _ = w.Write([]byte(answer))
		}
	}
	mux.HandleFunc("POST /v1/sandbox", late(""))
	mux.HandleFunc("POST /v1/sandbox/", late(""))
	mux.HandleFunc("GET /v1/ports", late("[]"))
	mux.HandleFunc("POST /v1/processes/7/stdin", late("")) // a process that reads nothing meanwhile
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	if info, err := s.StartProcess(t.Context(), id, process.Request{}); err != nil || info.ID != 7 {
		t.Errorf("started is %+v, %v", info, err)
	}
	ran := errors.New("it runs")
	if _, err := s.RunProcess(t.Context(), id, process.Request{}, func(process.Info) error { return ran }, nil); !errors.Is(err, ran) {
		t.Errorf("run: %v", err)
	}
	for name, wait := range map[string]func() error{
		"snapshot": func() error { return s.SnapshotSandbox(t.Context(), id, struct{}{}) },
		"pause":    func() error { return s.PauseSandbox(t.Context(), id) },
		"resume":   func() error { return s.ResumeSandbox(t.Context(), id) },
		"update":   func() error { return s.UpdateSandbox(t.Context(), id, session.SandboxChange{}) },
		"ports":    func() error { _, err := s.Ports(t.Context(), id); return err },
		"input":    func() error { return s.ProcessInput(t.Context(), id, 7, strings.NewReader("input"), true) },
	} {
		if err := wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCommandsDoNotWaitForASupervisorThatHangs(t *testing.T) {
	for name, ask := range map[string]func(*Client, session.ID) error{
		"stop":   func(s *Client, id session.ID) error { _, err := s.Stop(t.Context(), id, "x"); return err },
		"extend": func(s *Client, id session.ID) error { return s.Extend(t.Context(), id, time.Minute) },
		"answer": func(s *Client, id session.ID) error { return s.Answer(t.Context(), id, 1, session.AnswerYes) },
		"screen": func(s *Client, id session.ID) error { _, err := s.Screen(t.Context(), id); return err },
		"follow": func(s *Client, id session.ID) error {
			_, err := s.Follow(t.Context(), id, 0, func(output.Chunk) error { return nil })
			return err
		},
		"start": func(s *Client, id session.ID) error {
			_, err := s.StartProcess(t.Context(), id, process.Request{})
			return err
		},
		"run": func(s *Client, id session.ID) error {
			_, err := s.RunProcess(t.Context(), id, process.Request{}, nil, nil)
			return err
		},
		"files": func(s *Client, id session.ID) error {
			_, err := s.Files(id, "").Stat(t.Context(), "/f", true)
			return err
		},
		"input": func(s *Client, id session.ID) error {
			return s.ProcessInput(t.Context(), id, 1, strings.NewReader("input"), true)
		},
		"verification": func(s *Client, id session.ID) error {
			if err := s.store.WriteSpec(id, session.Spec{ID: id, Run: config.Run{Verify: "make test"}}); err != nil {
				return err
			}
			_, err := s.VerificationStart(t.Context(), id)
			return err
		},
		"snapshot": func(s *Client, id session.ID) error { return s.SnapshotSandbox(t.Context(), id, struct{}{}) },
		"dial":     func(s *Client, id session.ID) error { _, err := s.DialPort(t.Context(), id, 80); return err },
		"attach": func(s *Client, id session.ID) error {
			_, err := s.Attach(t.Context(), id, screen.Size{}, screen.Colors(0))
			return err
		},
	} {
		s, id := hanging(t)
		err := ask(s, id)
		hints := strings.Join(fault.Hints(err), "\n")
		if err == nil || fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "does not answer") ||
			!strings.Contains(hints, "aibox stop --force "+string(id)) {
			t.Errorf("%s says %v, %q", name, err, hints)
		}
	}
}

func TestARefusalHasNoHintAtTheStatus(t *testing.T) {
	s, id, _ := supervised(t)
	for status, hints := range map[int]int{http.StatusForbidden: 0, http.StatusConflict: 1} {
		err := s.send(id, func(control.Client) error { return &control.RefusedError{Status: status, Message: "no"} })
		if len(fault.Hints(err)) != hints {
			t.Errorf("%v of the kind %s has the hints %q", err, fault.KindOf(err), fault.Hints(err))
		}
	}
}
