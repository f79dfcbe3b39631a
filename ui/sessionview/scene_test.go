package sessionview

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"aibox/audit"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/manager"
	"aibox/session/output"
	"aibox/ui/uitest"

	tea "charm.land/bubbletea/v2"
)

const id = session.ID("0abcd-codex")

// scene is one session with the record and log of a test.
type scene struct {
	session    session.Session
	record     []output.Chunk
	events     []audit.Event
	screenRows string
	screenErr  error
	followErr  error
	done       []string
	usage      session.Usage
	measured   int
	fails      error
	endsItself bool // before Repair
}

func (s *scene) Find(string) (session.Session, error) { return s.session, nil }

func (s *scene) Recorded(session.ID) (int64, error) { return s.size(), nil }

func (s *scene) size() int64 {
	if len(s.record) == 0 {
		return 0
	}
	last := s.record[len(s.record)-1]
	return last.Offset + int64(len(last.Data))
}

func (s *scene) Output(_ session.ID, from int64, visit func(output.Chunk) error) (int64, error) {
	for _, c := range s.record {
		end := c.Offset + int64(len(c.Data))
		if end <= from {
			continue
		}
		if c.Offset < from {
			c.Data, c.Offset = c.Data[from-c.Offset:], from
		}
		if err := visit(c); err != nil {
			return from, err
		}
		from = end
	}
	return from, nil
}

func (s *scene) Follow(_ context.Context, id session.ID, from int64, visit func(output.Chunk) error) (session.Session, error) {
	_, err := s.Output(id, from, visit)
	return s.session, cmp.Or(err, s.followErr)
}

func (s *scene) Watch(_ context.Context, _ session.ID, _ int, visit func(audit.Event) error) error {
	for _, e := range s.events {
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) Screen(context.Context, session.ID) ([]byte, error) {
	if s.screenErr != nil {
		return nil, s.screenErr
	}
	if s.screenRows == "" {
		return nil, session.ErrNoScreen
	}
	return []byte(s.screenRows), nil
}

func (s *scene) WatchOutput(context.Context, session.ID) (<-chan struct{}, error) {
	output := make(chan struct{})
	close(output)
	return output, nil
}

func (s *scene) Stop(_ context.Context, _ session.ID, reason string) (session.Session, error) {
	s.done = append(s.done, "stop")
	return s.session, s.fails
}

func (s *scene) Signal(_ context.Context, _ session.ID, number int) error {
	s.done = append(s.done, fmt.Sprint("signal ", number))
	return s.fails
}

func (s *scene) Extend(_ context.Context, _ session.ID, by time.Duration) error {
	s.done = append(s.done, "extend "+by.String())
	return s.fails
}

func (s *scene) Measure(_ context.Context, ids ...session.ID) map[session.ID]session.Usage {
	return map[session.ID]session.Usage{ids[0]: s.usage}
}

func (s *scene) Repair(context.Context) ([]manager.Repaired, error) {
	s.done = append(s.done, "repair")
	var repaired []manager.Repaired
	if s.fails == nil {
		s.session = ended().session
		if !s.endsItself {
			repaired = append(repaired, manager.Repaired{ID: s.session.ID})
		}
	}
	return repaired, s.fails
}

// noon is the time of the events.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

// event adds an event, a second after the last one.
func (s *scene) event(kind audit.Type, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	s.events = append(s.events, audit.Event{Seq: len(s.events), Time: noon.Add(time.Duration(len(s.events)) * time.Second), Type: kind, Data: raw})
}

// describe adds to the record.
func (s *scene) describe(stream output.Stream, text string) {
	s.record = append(s.record, output.Chunk{Offset: s.size(), Stream: stream, Data: []byte(text)})
}

// running is a session of codex that runs and has done a few things.
func running() *scene {
	s := &scene{session: session.Session{
		Spec:  session.Spec{ID: id, Created: noon, Agent: "codex", Repository: "/home/ann/shop", Prompt: "fix the failing test\nand more", Run: config.Run{Timeout: amount.Duration(time.Hour)}},
		State: session.State{Phase: session.Running, Started: noon}, Alive: true,
	}}
	s.usage = session.Usage{Memory: 312 << 20, MemoryLimit: 4 << 30, CPU: 45, Measured: noon}
	s.event(audit.SessionStarted, nil)
	s.event(audit.AgentStarted, map[string]string{"agent": "codex"})
	s.event(audit.ModelAnswered, auditlog.ModelCall{Method: "POST", Path: "/v1/responses", Model: "qwen3-coder", Status: 200, Input: 12_345, Output: 678, Millis: 4321})
	s.event(audit.AccessRefused, session.Refusal{What: "name", Target: "registry.example", Reason: "outside names are not resolved", Times: 1})
	s.event(audit.NoticeGiven, map[string]string{"text": "the model server answered 500: try again"})
	s.event(audit.AccessRefused, session.Refusal{What: "tcp", Target: "192.0.2.1:443", Reason: "the sandbox has no route out", Times: 1})
	s.event(session.LiveChanged, session.Live{
		Tokens: session.Tokens{Requests: 1, Input: 12_345, Output: 678}, Calls: 1, Deadline: noon.Add(time.Hour),
		Refused: []session.Refusal{{What: "name", Target: "registry.example", Reason: "outside names are not resolved", Times: 3}, {What: "tcp", Target: "192.0.2.1:443", Reason: "the sandbox has no route out", Times: 1}},
	})
	s.events[len(s.events)-1].Seq = -1
	s.describe(output.Stdout, "I will look at the \x1b[32mtests\x1b[m first.\n\x1b]52;c;ZXZpbA==\x07")
	s.describe(output.Stderr, "a warning\n")
	s.describe(output.Notice, "the model server answered 500: try again\n")
	for i := range 60 {
		s.describe(output.Stdout, fmt.Sprintf("step %d of many: running the checks, which takes its time and says a good deal about what it does\n", i))
	}
	return s
}

// ended is the same session afterwards.
func ended() *scene {
	s := running()
	s.session.Alive = false
	s.session.State.Phase, s.session.State.Ended = session.Ended, noon.Add(time.Minute)
	s.session.State.Result = &session.Result{Changed: true, Changes: session.Changes{Files: 3, Added: 4, Deleted: 1}}
	return s
}

// user is a user of the screen.
type user struct {
	*uitest.User
	m *Model
}

// newUser opens the screen.
func newUser(t testing.TB, s *scene, width, height int) *user {
	m := New(t.Context(), s, id)
	m.usage.after = func(time.Duration, tea.Msg) tea.Cmd { s.measured++; return nil }
	p := &user{uitest.New(t, m, width, height), m}
	p.Run(m.Init())
	return p
}

// open opens it at a size at which both panes are shown.
func open(t testing.TB, s *scene) *user { return newUser(t, s, 120, 40) }
