package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
)

// sessionsServer is a server, with clients of the service Sessions.
type sessionsServer struct {
	*apiServer

	t     *testing.T
	right string // the token
}

func (m *machine) serveSessions(t *testing.T) *sessionsServer {
	t.Helper()
	s := &sessionsServer{apiServer: m.serve("local"), t: t}
	s.right = strings.TrimSpace(m.aibox(0, "token", "create", "--tenant", "local", "--right", "read,sessions,accept").stdout)
	return s
}

func (s *sessionsServer) sessions() aiboxv1connect.SessionsClient {
	return aiboxv1connect.NewSessionsClient(&http.Client{Transport: authorized{http.DefaultTransport, s.right}}, s.url)
}

// killWhile kills the server in a call, once begun is true, and starts another one.
func (s *sessionsServer) killWhile(what string, call func(ctx context.Context) error, begun func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest())
	defer cancel()
	lost := make(chan error, 1)
	go func() { lost <- call(ctx) }()
	deadline := time.Now().Add(hung)
	for !begun() { // without a pause: it may be true for a moment only
		if time.Now().After(deadline) {
			s.t.Fatalf("it never happened: %s", what)
		}
	}
	_ = s.Process.Kill()
	s.ends(-1)
	s.t.Logf("%s: %v", what, <-lost)
	s.start()
}

func (s *sessionsServer) stopSession(ctx context.Context, id string, grace time.Duration) (*aiboxv1.Session, error) {
	r := &aiboxv1.StopSessionRequest{SessionId: id}
	if grace > 0 {
		r.Grace = durationpb.New(grace)
	}
	stopped, err := s.sessions().Stop(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	return stopped.Msg, nil
}

func (s *sessionsServer) deleteSession(ctx context.Context, id string) error {
	_, err := s.sessions().Delete(ctx, connect.NewRequest(&aiboxv1.DeleteSessionRequest{SessionId: id}))
	return err
}

// An agent that was asked to end has its time, although the server that asked is dead.
func TestAStopEndsTheSessionAlthoughItsServerIsKilled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serveSessions(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c",
		`trap 'echo asked >asked.txt; until test -e go; do sleep 0.1; done; echo saved >saved.txt; exit 0' TERM; echo ready >ready.txt; while :; do sleep 0.1; done`)
	workspace := m.record(id).State.Workspace.Path
	has := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(workspace, name)); return err == nil }
	}
	eventually(t, hung, "the agent is ready", has("ready.txt"))
	s.killWhile("a stop", func(ctx context.Context) error {
		_, err := s.stopSession(ctx, id, 5*time.Minute)
		return err
	}, has("asked.txt"))
	if r := m.record(id); !r.State.Sandbox.Alive() {
		t.Error("the agent did not get its time")
	}
	m.write(filepath.Join(workspace, "go"), "")
	for range 2 {
		stopped, err := s.stopSession(t.Context(), id, 5*time.Minute)
		if err != nil || stopped.GetState() != aiboxv1.SessionState_SESSION_STATE_STOPPED || stopped.GetChangedFiles() == 0 {
			t.Errorf("the next stop answers %v, %v", stopped, err)
		}
	}
	if got := m.read(workspace, "saved.txt"); got != "saved\n" {
		t.Errorf("the agent has saved %q", got)
	}
	if r := m.record(id); r.State.Result == nil || !r.State.Result.Changed {
		t.Errorf("the result is %+v", r.State.Result)
	}
}

// A server that is killed while it deletes a session leaves the session, or nothing of it. The
// work can be recovered in either case.
func TestADeletionThatIsKilledIsCompletedByTheNextOne(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serveSessions(t)
	repo := m.repo("p", nil)
	exists := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	for _, point := range []struct {
		name  string
		begun func(id string, r *record) bool
	}{
		{"the work is saved", func(id string, _ *record) bool {
			return len(glob(t, filepath.Join(m.home, ".local/share/aibox/repos/*/refs/aibox", id, "1"))) > 0
		}},
		{"the workspace is going", func(_ string, r *record) bool { return !exists(r.State.Workspace.Path) }},
		{"the log is in the archive", func(id string, _ *record) bool {
			return len(glob(t, filepath.Join(m.home, ".local/state/aibox/audit", id+".jsonl"))) > 0
		}},
		{"the record is going", func(id string, _ *record) bool { return !exists(filepath.Join(m.sessions(), id, "state.json")) }},
	} {
		o := m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
			"for i in $(seq 50); do mkdir d$i; for j in $(seq 60); do echo $i $j >d$i/$j; done; done")
		id := m.ended(o).ID
		r := m.record(id)
		s.killWhile("a deletion when "+point.name, func(ctx context.Context) error { return s.deleteSession(ctx, id) }, func() bool { return point.begun(id, &r) })
		left := exists(filepath.Join(m.sessions(), id, "state.json"))
		_, err := s.sessions().Get(t.Context(), connect.NewRequest(&aiboxv1.GetSessionRequest{SessionId: id}))
		if got := connect.CodeOf(err); left != (err == nil) || err != nil && got != connect.CodeNotFound {
			t.Errorf("%s: a record is left: %v, and it is found with %v", point.name, left, err)
		}
		if err := s.deleteSession(t.Context(), id); left != (err == nil) || err != nil && connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("%s: the next deletion answers %v", point.name, err)
		}
		if err := s.deleteSession(t.Context(), id); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("%s: the third deletion answers %v", point.name, err)
		}
		eventually(t, 2*hung, point.name+": nothing of the session is left", func() bool {
			rest := glob(t, filepath.Join(m.home, "agent_workspace/*"))
			return len(rest) == 0 && len(glob(t, filepath.Join(m.sessions(), "*"+id+"*"))) == 0
		})
		if log := m.aibox(0, "audit", id).stdout; !strings.Contains(log, "agent.ended") {
			t.Errorf("%s: the log is lost:\n%s", point.name, log)
		}
		var saved []struct{ Session, Ref string }
		decode(t, m.aibox(0, "recover", "--json").stdout, &saved)
		states := 0
		for _, one := range saved {
			if one.Session != id {
				continue
			}
			states++
			branch := strings.TrimSpace(m.aibox(0, "recover", id, "--ref", one.Ref, "--branch", fmt.Sprintf("back/%s-%d", id, states)).stdout)
			if got := m.git(repo, "show", branch+":d50/60"); got != "50 60\n" {
				t.Errorf("%s: %s has %q", point.name, branch, got)
			}
		}
		if states == 0 {
			t.Errorf("%s: the work is lost", point.name)
		}
	}
}
