package supervisor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aibox/agents"
	"aibox/audit"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/session"
)

// starting is the error of a server that is not ready.
type starting struct{ loads bool }

func (s starting) Error() string { return "the server is not ready" }

func (s starting) Loads() bool { return s.loads }

// unclosed adds a Close to a writer, which does nothing.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

func TestTheStartWaitsForAServerThatIsNotReady(t *testing.T) {
	gone := errors.New("gone")
	for name, test := range map[string]struct {
		loads   bool
		ready   time.Duration   // time after the first request; 0 for never
		after   error           // its error afterwards
		timeout amount.Duration // time limit of the model
		want    error
		took    time.Duration
		notice  string
	}{
		"one that is ready at once":     {ready: time.Nanosecond},
		"one that starts":               {ready: 12 * time.Second, took: 12 * time.Second, notice: "the server is not ready; waiting for it, 30 s at most"},
		"one that never answers":        {want: starting{}, took: 30 * time.Second, notice: "30 s at most"},
		"one that loads its model":      {loads: true, timeout: amount.Duration(10 * time.Minute), ready: 5 * time.Minute, took: 5 * time.Minute, notice: "10 min at most"},
		"one that loads for too long":   {loads: true, timeout: amount.Duration(time.Minute), want: starting{true}, took: time.Minute, notice: "60 s at most"},
		"one that is waited for":        {loads: true, ready: time.Hour, took: time.Hour, notice: "waiting for it\""},
		"one that ends while it starts": {ready: 3 * time.Second, after: gone, want: gone, took: 3 * time.Second, notice: "not ready"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				s := newSupervisor(&run{report: reporter{unclosed{&out}}, launch: session.Launch{Spec: session.Spec{Run: config.Run{ModelTimeout: test.timeout}}}})
				begin, asked := time.Now(), 0
				err := s.awaitServer(context.Background(), func() error {
					if asked++; test.ready == time.Nanosecond || test.ready > 0 && time.Since(begin) >= test.ready {
						return test.after
					}
					return starting{test.loads}
				})
				if !errors.Is(err, test.want) || time.Since(begin) != test.took {
					t.Errorf("%v after %v", err, time.Since(begin))
				}
				if !strings.Contains(out.String(), test.notice) || (out.Len() > 0) != (test.notice != "") || strings.Count(out.String(), "not ready") > 1 {
					t.Errorf("the output is %s", out.String())
				}
			})
		})
	}
}

// leavingServer is a server that receives code from this machine without the user's choice.
// At its first request it sends the reports so far to asked.
type leavingServer struct {
	Inference
	reported *lockedBuffer
	asked    chan string
}

func (leavingServer) Name() string                   { return "hosted" }
func (leavingServer) Leaves([]string) string         { return "your code goes to hosted.example" }
func (leavingServer) Notices([]string) []string      { return nil }
func (leavingServer) KeyVariable() string            { return "" }
func (leavingServer) Searches(string) bool           { return false }
func (leavingServer) Speaks(string) []agents.Dialect { return nil }

func (s leavingServer) Model(context.Context, string) (Model, error) {
	s.asked <- s.reported.String()
	return Model{ID: "m"}, nil
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

func TestCodeLeavingTheMachineIsReportedBeforeTheFirstRequest(t *testing.T) {
	s := limited(t, time.Hour)
	server := leavingServer{reported: &lockedBuffer{}, asked: make(chan string, 1)}
	s.report = reporter{unclosed{server.reported}}
	s.launch.Spec.Run.Network, s.launch.Spec.Inference = "local", "auto"
	s.deps.Inference = func(context.Context, string, func(string) (string, bool)) (Inference, error) { return server, nil }
	agent, err := agents.Builtin().Find("codex")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.inference(t.Context(), t.Context(), agent)
	if err != nil {
		t.Fatal(err)
	}
	if reported := <-server.asked; !strings.Contains(reported, "your code goes to hosted.example") {
		t.Errorf("before the first request, only this was reported: %s", reported)
	}
	if _, err := m.chosen(); err != nil {
		t.Error(err)
	}
	if types := logged(t, s); !slices.Contains(types, audit.NoticeGiven) {
		t.Errorf("the log has %v", types)
	}
}
