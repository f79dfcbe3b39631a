package attend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"aibox/audit"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/page"
	"aibox/ui/stream"
	"aibox/ui/theme"
	"aibox/ui/uitest"

	tea "charm.land/bubbletea/v2"
)

const id = session.ID("0abcd-codex")

// scene is one session whose record and log are what a test says.
type scene struct {
	session session.Session
	record  []session.Chunk
	events  []audit.Event
	picture string
	done    []string
	fails   error
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

func (s *scene) Output(_ session.ID, from int64, visit func(session.Chunk) error) (int64, error) {
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

func (s *scene) Follow(_ context.Context, id session.ID, from int64, visit func(session.Chunk) error) (session.Session, error) {
	_, err := s.Output(id, from, visit)
	return s.session, err
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
	if s.picture == "" {
		return nil, session.ErrNoScreen
	}
	return []byte(s.picture), nil
}

func (s *scene) Heard(context.Context, session.ID) (<-chan struct{}, error) {
	heard := make(chan struct{})
	close(heard)
	return heard, nil
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

// noon is when things happen.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

// event adds what happened, a second after what was before.
func (s *scene) event(kind audit.Type, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	s.events = append(s.events, audit.Event{Seq: len(s.events), Time: noon.Add(time.Duration(len(s.events)) * time.Second), Type: kind, Data: raw})
}

// say adds to the record.
func (s *scene) say(stream session.Stream, text string) {
	s.record = append(s.record, session.Chunk{Offset: s.size(), Stream: stream, Data: []byte(text)})
}

// running is a session of codex that runs and has done a few things.
func running() *scene {
	s := &scene{session: session.Session{
		Spec: session.Spec{
			ID: id, Created: noon, Agent: "codex", Repository: "/home/ann/shop", Prompt: "fix the failing test\nand more", Timeout: session.Duration(time.Hour),
		},
		State: session.State{Phase: session.Running, Started: noon}, Alive: true,
	}}
	s.event(audit.SessionStarted, nil)
	s.event(audit.AgentStarted, map[string]string{"agent": "codex"})
	s.event(audit.ModelAnswered, session.ModelCall{Method: "POST", Path: "/v1/responses", Model: "qwen3-coder", Status: 200, Input: 12_345, Output: 678, Millis: 4321})
	s.event(audit.AccessRefused, session.Refusal{What: "name", Target: "registry.example", Reason: "no name is resolved outside (A)", Times: 1})
	s.event(audit.NoticeGiven, map[string]string{"text": "the model server answered 500: try again"})
	s.event(audit.AccessRefused, session.Refusal{What: "tcp", Target: "192.0.2.1:443", Reason: "the box has no route out", Times: 1})
	s.event(session.LiveChanged, session.Live{
		Tokens: session.Tokens{Requests: 1, Input: 12_345, Output: 678}, Calls: 1, Deadline: noon.Add(time.Hour),
		Refused: []session.Refusal{{What: "name", Target: "registry.example", Reason: "no name is resolved outside (A)", Times: 3}, {What: "tcp", Target: "192.0.2.1:443", Reason: "the box has no route out", Times: 1}},
	})
	s.events[len(s.events)-1].Seq = -1
	s.say(session.Stdout, "I will look at the \x1b[32mtests\x1b[m first.\n\x1b]52;c;ZXZpbA==\x07")
	s.say(session.Stderr, "a warning\n")
	s.say(session.Notice, "the model server answered 500: try again\n")
	for i := range 60 {
		s.say(session.Stdout, fmt.Sprintf("step %d of many: running the checks, which takes its time and says a good deal about what it does\n", i))
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

// sit opens the screen.
func sit(t testing.TB, s *scene, width, height int) *uitest.Person {
	m := New(t.Context(), s, id)
	p := uitest.New(t, m, width, height)
	p.Run(m.Init())
	return p
}

func TestWhatTheAgentSaysAndWhatTheNetworkDidAreShownBesideEachOther(t *testing.T) {
	p := sit(t, running(), 120, 40)
	for _, want := range []string{
		"0abcd-codex", "● running", "13k tokens", "4 refused", "until 13:00:00", "step 59 of many",
		"✓ model qwen3-coder", "200 4.3s 12k in 678 out", "✗ name registry.example ×3", "no name is resolved outside (A)", "✗ tcp 192.0.2.1:443",
		"! the model server answered 500", "the agent started", "fix the failing test",
	} {
		p.Sees(want)
	}
	p.Press("g")
	p.Sees("I will look at the tests first.")
	p.Sees("a warning")
	p.Sees("end follows")
	p.DoesNotSee("step 59 of many")
	p.Press("G")
	p.Sees("step 59 of many")
}

func TestWordsAreFoundFromEveryPlaceInTheRecord(t *testing.T) {
	p := sit(t, running(), 120, 40)
	m := p.Page.(*Model)
	p.Press("/")
	if !m.Typing() {
		t.Error("keys are not text")
	}
	p.Type("STEP 1")
	p.Press("enter")
	at := func(want string) {
		t.Helper()
		for _, l := range m.window.all() {
			if l.at == m.hit {
				if !strings.HasPrefix(l.text, want+" ") {
					t.Errorf("found %q, not %q", l.text, want)
				}
				return
			}
		}
		t.Errorf("nothing is found where %q stands", want)
	}
	at("step 1")
	p.Press("n")
	at("step 10")
	p.Press("n", "n")
	at("step 12")
	p.Press("N")
	at("step 11")
	p.Press("N", "N", "N")
	at("step 19")
	p.Sees("from the other end")
	p.Press("n")
	at("step 1")
	p.Press("/")
	p.Type("nowhere")
	p.Press("enter")
	p.Sees("the record does not say nowhere")
	p.Press("/")
	p.Type("q")
	p.Press("esc")
	if m.Typing() || len(p.Asked) != 0 {
		t.Errorf("left with %v", p.Asked)
	}
}

func TestALongRecordIsReadInParts(t *testing.T) {
	s := ended()
	s.record = nil
	for i := range 40_000 {
		s.say(session.Stdout, fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", 40)))
	}
	p := sit(t, s, 120, 40)
	m := p.Page.(*Model)
	p.Sees("line 39999 ")
	if len(m.window.lines) > 3*maxLines/2 || m.window.lo == 0 {
		t.Fatalf("%d lines from %d are in memory", len(m.window.lines), m.window.lo)
	}
	p.Press("g")
	p.Sees("line 0 ")
	p.Press("/")
	p.Type("line 20000 ")
	p.Press("enter")
	p.Sees("line 20000 ")
	for range 400 {
		p.Press("pgup")
	}
	p.Press("/")
	p.Type("line 39998 ")
	p.Press("enter")
	p.Sees("line 39998 ")
	for range 3 {
		p.Press("pgdown")
	}
	p.Sees("line 39999 ")
	if !m.window.follow {
		t.Error("the end is not followed")
	}
	for range 700 {
		p.Press("pgup")
	}
	if len(m.window.lines) > 3*maxLines/2 {
		t.Errorf("%d lines are in memory", len(m.window.lines))
	}
}

func TestWhatIsDoneToTheAgentIsAskedFirst(t *testing.T) {
	for key, want := range map[string]string{"s": "stop", "i": "signal 2", "e": "extend 1h0m0s"} {
		s := running()
		p := sit(t, s, 120, 40)
		m := p.Page.(*Model)
		now := noon
		m.now = func() time.Time { return now }
		p.Press(key, "y")
		if s.done != nil {
			t.Errorf("%s: done within the moment of grace: %v", key, s.done)
		}
		now = now.Add(dialog.Grace)
		p.Press("enter")
		if s.done != nil {
			t.Errorf("%s: cancel has not the focus: %v", key, s.done)
		}
		p.Press(key)
		now = now.Add(dialog.Grace)
		p.Press("y")
		if len(s.done) != 1 || s.done[0] != want {
			t.Errorf("%s: done %v", key, s.done)
		}
	}
	s := running()
	s.fails = errors.New("it would not")
	p := sit(t, s, 120, 40)
	m := p.Page.(*Model)
	p.Send(m.stop()())
	p.Sees("it would not")
}

func TestEveryWayOutLeadsWhereItSays(t *testing.T) {
	interactive := running()
	interactive.session.Interactive, interactive.picture = true, "a prompt\n> \n"
	for _, test := range []struct {
		scene *scene
		key   string
		want  page.Request
	}{
		{interactive, "a", page.Command{Args: []string{"attach", string(id)}}},
		{interactive, "enter", page.Command{Args: []string{"attach", string(id)}}},
		{running(), "a", nil},
		{running(), "r", nil},
		{running(), "w", page.Network{ID: id}},
		{ended(), "r", page.Review{ID: id}},
		{ended(), "R", page.NewRun{Again: id}},
		{ended(), "s", nil},
		{ended(), "esc", page.Close{}},
		{ended(), "q", page.Close{}},
	} {
		p := sit(t, test.scene, 120, 40)
		p.Press(test.key)
		if test.want == nil {
			if len(p.Asked) != 0 || p.Page.Typing() {
				t.Errorf("%s asks for %+v", test.key, p.Asked)
			}
			continue
		}
		if len(p.Asked) != 1 || fmt.Sprintf("%#v", p.Asked[0]) != fmt.Sprintf("%#v", test.want) {
			t.Errorf("%s asks for %#v", test.key, p.Asked)
		}
	}
}

func TestTheScreenOfAnInteractiveAgentIsShownAndItsRecordWhenThereIsNone(t *testing.T) {
	s := running()
	s.session.Interactive, s.picture = true, "codex \x1b[31mwaits\x1b[m\x1b]0;evil\x07\n> \n"
	p := sit(t, s, 120, 40)
	p.Sees("codex waits")
	p.DoesNotSee("step 59")
	s = ended()
	s.session.Interactive = true
	p = sit(t, s, 120, 40)
	p.Sees("step 59")
}

func TestAnswersToAnotherScreenAreNotTaken(t *testing.T) {
	p := sit(t, running(), 120, 40)
	other := New(t.Context(), running(), "0other-codex")
	p.Send(answer{other, acted{said: "done elsewhere"}})
	p.DoesNotSee("done elsewhere")
	m := p.Page.(*Model)
	n := len(m.window.lines)
	_ = m.Update(answer{m, loaded{number: m.asked - 1, place: around}})
	_ = m.Update(answer{m, searched{number: m.asked - 1, at: 0}})
	if len(m.window.lines) != n || m.hit >= 0 {
		t.Error("an answer to what was asked before is taken")
	}
	p.Sees("step 59 of many")
}

func TestNothingOfTheAgentsReachesTheTerminalRaw(t *testing.T) {
	s := running()
	s.say(session.Stdout, "\x1b]0;CANARY\x07\x1b[2J\x1b[5;5H\u202eevil\n")
	s.event(audit.AccessRefused, session.Refusal{What: "na\x1bme", Target: "x\x1b]52;c;CANARY\x07", Reason: "\u202e", Times: 1})
	s.event(audit.StopRequested, map[string]string{"reason": "\x1b]0;CANARY\x07"})
	s.session.Prompt = "\x1b]0;CANARY\x07"
	s.session.State.Result = &session.Result{Fault: &session.Failure{Message: "\x1b]0;CANARY\x07"}}
	p := sit(t, s, 120, 40)
	for _, bad := range []string{"\x1b]", "\x1b[2J", "\x1b[5;5H", "\u202e", "\x07"} {
		if view := p.Page.View(); strings.Contains(view, bad) {
			t.Errorf("%q is in the view", bad)
		}
	}
}

func TestTheScreenLooksAsItDid(t *testing.T) {
	for _, size := range uitest.Sizes {
		p := sit(t, running(), size[0], size[1])
		p.Show("running")
		p.Press("g")
		p.Show("at the beginning")
		p.Press("tab", "up", "up")
		p.Show("in the other pane")
		p.Press("v")
		p.Show("without the network")
		p.Press("/")
		p.Type("many")
		p.Show("words")
		p.Press("enter")
		p.Show("found")
		p.Press("s")
		p.Show("a question")
		p.Golden("running-")
		p = sit(t, ended(), size[0], size[1])
		p.Show("ended")
		p.Golden("ended-")
	}
}

func TestItWorksAtTheSmallestSize(t *testing.T) {
	p := sit(t, running(), 40, 12)
	p.Fits("the record")
	p.Sees("step 59")
	p.Press("tab")
	p.Fits("the network")
	p.Sees("192.0.2.1")
}

func TestBothThemesShowTheSameText(t *testing.T) {
	p := sit(t, running(), 120, 40)
	dark := p.View()
	p.Page.SetTheme(theme.New(false))
	if p.View() != dark {
		t.Error("the text differs")
	}
}

var mashed = []string{
	"up", "down", "pgup", "pgdown", "home", "end", "g", "G", "j", "k", "f", "tab", "v", "/", "n", "N", "a", "enter", "esc", "q", "s", "y", "i", "e", "r", "R", "w", "x", "space", "backspace",
}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1), false)
	f.Add(uint64(2), true)
	f.Fuzz(func(t *testing.T, seed uint64, over bool) {
		s := running()
		if over {
			s = ended()
		}
		p := sit(t, s, 80, 24)
		m := p.Page.(*Model)
		m.now = func() time.Time { return noon } // no time passes: no question is ever answered
		p.Mash(rand.New(rand.NewPCG(seed, 1)), 60, mashed)
		if s.done != nil {
			t.Errorf("done without an answer: %v", s.done)
		}
	})
}

func TestAStreamOfTheRecordIsTakenAsItComes(t *testing.T) {
	s := running()
	m := New(t.Context(), s, id)
	p := uitest.New(t, m, 120, 40)
	p.Run(m.find())
	said := make(chan session.Chunk)
	m.said = stream.Start(t.Context(), func(_ context.Context, put func(session.Chunk) error) error {
		return put(<-said)
	})
	text := "and now for something else\n"
	go func() { said <- session.Chunk{Offset: s.size(), Stream: session.Stdout, Data: []byte(text)} }()
	p.Send(m.takeSaid()())
	p.Sees("and now for something else")
}

var _ tea.Msg = answer{}
