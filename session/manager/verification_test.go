package manager

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/agents"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session"
	"aibox/session/output"
)

func TestTheEndOfVerificationOutputIsKept(t *testing.T) {
	var e outputTail
	for range 50 {
		e.add(output.Chunk{Stream: output.Stdout, Data: []byte(strings.Repeat("x", 99_999) + "\n")})
	}
	e.add(output.Chunk{Stream: output.Notice, Data: []byte("of aibox's own\n")})
	e.add(output.Chunk{Stream: output.Stderr, Data: []byte("the \x1b[31mlast\x1b]0;t\a line\n\n")})
	if tail := e.tail(); len(tail) != maxVerified || !strings.HasSuffix(string(tail), "line\n\n") {
		t.Errorf("%d bytes are kept, which end with %q", len(tail), tail[len(tail)-20:])
	}
	if e.total != 5_000_000+int64(len("the \x1b[31mlast\x1b]0;t\a line\n\n")) || len(e.kept) > 2*maxVerified {
		t.Errorf("it counts %d bytes and holds %d", e.total, len(e.kept))
	}
	lines := e.lines()
	if len(lines) > shownLines || strings.ContainsAny(lines[len(lines)-1], "\x1b\a") || !strings.Contains(lines[len(lines)-1], "line") {
		t.Errorf("the last lines are %q", lines)
	}
	for _, line := range lines {
		if len(line) > shownLine+len("…") {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
}

func TestAVerificationInheritsUnsetOptionsFromItsSession(t *testing.T) {
	for _, c := range []struct {
		name    string
		request VerifyRequest
		spec    session.Spec
		command string
		timeout time.Duration
	}{
		{"all from the session", VerifyRequest{}, session.Spec{Run: config.Run{Verify: "make", VerifyTimeout: amount.Duration(time.Minute)}}, "make", time.Minute},
		{"a session without a limit", VerifyRequest{}, session.Spec{Run: config.Run{Verify: "make"}}, "make", 0},
		{"a session without a command", VerifyRequest{Command: "make"}, session.Spec{}, "make", DefaultVerifyTimeout},
		{"all from the request", VerifyRequest{Command: "a", Timeout: time.Second}, session.Spec{Run: config.Run{Verify: "b", VerifyTimeout: 5}}, "a", time.Second},
		{"no limit", VerifyRequest{Timeout: -1}, session.Spec{Run: config.Run{Verify: "b", VerifyTimeout: 5}}, "b", 0},
	} {
		c.request.applyDefaults(c.spec)
		if c.request.Command != c.command || c.request.Timeout != c.timeout {
			t.Errorf("%s: %q for %v", c.name, c.request.Command, c.request.Timeout)
		}
	}
}

func TestAVerificationResultExplainsItsFailure(t *testing.T) {
	failure := func(kind fault.Kind) *session.Failure { return session.FailureOf(fault.New(kind, "shell did not")) }
	for _, c := range []struct {
		result session.Result
		kind   fault.Kind
		says   string
	}{
		{session.Result{ExitCode: 2, Fault: failure(fault.AgentFailed)}, fault.AgentFailed, `"make test" ended with exit code 2`},
		{session.Result{ExitCode: -1, Signal: 9, Fault: failure(fault.AgentFailed)}, fault.AgentFailed, "signal 9"},
		{session.Result{ExitCode: -1, Fault: session.FailureOf(session.TimeLimitFault(time.Minute))}, fault.Limit, "was ended after 1m"},
		{session.Result{ExitCode: -1, Fault: failure(fault.Limit)}, fault.Limit, "was aborted: shell did not"},
		{session.Result{ExitCode: -1, Fault: failure(fault.Interrupted)}, fault.Interrupted, "was stopped"},
		{session.Result{ExitCode: -1, Fault: failure(fault.Environment)}, fault.Environment, "was aborted: shell did not"},
	} {
		v := &VerificationRun{Verification: session.Verification{Command: "make test"}}
		v.applyResult(session.Session{Spec: session.Spec{Run: config.Run{Timeout: amount.Duration(time.Minute)}}, State: session.State{Result: &c.result}})
		if v.Passed() || v.Fault.Kind != c.kind.String() || !strings.HasSuffix(v.Fault.Message, c.says) {
			t.Errorf("%+v says %+v", c.result, v.Fault)
		}
	}
	v := &VerificationRun{Verification: session.Verification{Command: "make test"}}
	v.applyResult(session.Session{State: session.State{Result: &session.Result{}}})
	if !v.Passed() {
		t.Errorf("what ended well has not passed: %+v", v.Fault)
	}
}

// kept is an ended session in a separate store.
func kept(t *testing.T) (*Manager, session.ID) {
	t.Helper()
	dirs := paths.Dirs{Home: t.TempDir()}
	dirs.State, dirs.Data = dirs.Home+"/state", dirs.Home+"/data"
	if err := os.MkdirAll(dirs.State, 0o700); err != nil {
		t.Fatal(err)
	}
	s := New(Deps{Dirs: dirs, Agents: agents.Set{}})
	id, err := s.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s, id
}

func TestTheNumberOfKeptVerificationsIsLimited(t *testing.T) {
	s, id := kept(t)
	for range maxVerifications + 5 {
		v := &VerificationRun{Verification: session.Verification{Command: "make", Tree: "t"}}
		v.output.add(output.Chunk{Stream: output.Stdout, Data: []byte("said\n")})
		if err := s.KeepVerification(id, v); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Verifications(id)
	if err != nil || len(all) != maxVerifications || all[0].Number != 6 || all[len(all)-1].Number != maxVerifications+5 {
		t.Errorf("%d are kept, from %d (%v)", len(all), all[0].Number, err)
	}
	if _, err := s.VerificationOutput(id, 5); fault.KindOf(err) != fault.Usage {
		t.Errorf("the output of one that is gone: %v", err)
	}
	if output, err := s.VerificationOutput(id, 6); err != nil || string(output) != "said\n" {
		t.Errorf("the output of one that is kept: %q, %v", output, err)
	}
}

// A delivered tree must have passed: a tree that passed the same command is not verified
// again, and a tree that failed the last time is.
func TestATreePassesOnlyWithTheSameCommand(t *testing.T) {
	s, id := kept(t)
	keep := func(command, tree string, code int) {
		t.Helper()
		v := &VerificationRun{Verification: session.Verification{Command: command, Tree: tree, ExitCode: code}}
		if code != 0 {
			v.Fault = session.FailureOf(fault.New(fault.AgentFailed, "no"))
		}
		if err := s.KeepVerification(id, v); err != nil {
			t.Fatal(err)
		}
	}
	keep("make", "one", 0)
	keep("make", "two", 0)
	keep("make", "two", 1)
	for _, c := range []struct {
		command, tree string
		want          bool
	}{{"make", "one", true}, {"make", "two", false}, {"make", "three", false}, {"true", "one", false}} {
		if got := s.passedBefore(id, VerifyRequest{Command: c.command, Tree: c.tree}); got != c.want {
			t.Errorf("%s on %s: %v", c.command, c.tree, got)
		}
	}
}

func TestVerificationNeedsACommand(t *testing.T) {
	s, id := kept(t)
	if s.Verifier(session.Session{Spec: session.Spec{ID: id}}, VerifyRequest{}) != nil {
		t.Error("there is a verifier")
	}
	verify := s.Verifier(session.Session{Spec: session.Spec{ID: id, Run: config.Run{Verify: "make"}}}, VerifyRequest{})
	if err := verify(context.Background(), "tree"); err == nil {
		t.Error("a session without a record of its changes is verified")
	}
}

func TestAFailedVerificationKeepsHints(t *testing.T) {
	v := &VerificationRun{Verification: session.Verification{Command: "make"}}
	cause := fault.New(fault.Environment, "Docker stopped").Hint("start Docker")
	v.applyResult(session.Session{State: session.State{Result: &session.Result{ExitCode: -1, Fault: session.FailureOf(cause)}}})
	if v.Fault == nil || !slices.Contains(v.Fault.Hints, "start Docker") {
		t.Errorf("the fault is %+v", v.Fault)
	}
}
