package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// alive returns the sandboxes that have not ended.
func (m *machine) alive() (ids []string) {
	for _, r := range m.stored() {
		if r.State.Phase != "ended" {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func TestAServerThatIsKilledInACallOfMCPOrE2BLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	own := s.e2b(`{"timeout":3600}`)
	id := own.SandboxID
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", id) })
	one := func(what string) {
		t.Helper()
		eventually(t, 2*hung, "nothing of "+what+" is left", func() bool { return slices.Equal(m.alive(), []string{id}) })
	}
	tool := func(name string, in map[string]any) func(context.Context) {
		c := s.mcp()
		return func(ctx context.Context) { _, _ = c.CallTool(ctx, toolCall(name, in)) }
	}
	s.killIn("create_sandbox", id, tool("create_sandbox", map[string]any{"name": "half"}), func() bool { return len(m.alive()) > 1 })
	one("create_sandbox")
	s.killIn("run_command", id, tool("run_command", map[string]any{"sandbox": id, "command": "echo begun; exec sleep 3333", "seconds": 600}), func() bool { return s.running(id, "sleep 3333").GetOutputBytes() > 0 })
	command := s.stillRuns(id, "sleep 3333")
	if ran := s.mcp().done("run_command", map[string]any{"sandbox": id, "command": "echo again"}); ran.data != "again\n" {
		t.Errorf("the next client gets %+v", ran)
	}

	post := func(path, body string) func(context.Context) {
		return func(context.Context) {
			_ = m.cmd("curl", "-sS", "-H", "X-API-KEY: "+s.token, "-H", "Content-Type: application/json", "-d", body, s.url+"/e2b"+path).Run()
		}
	}
	s.killIn("creating a sandbox over E2B", id, post("/sandboxes", `{}`), func() bool { return len(m.alive()) > 1 })
	one("a sandbox of E2B")
	snapshots := func() string { return s.must("the snapshots", s.url+"/v1/snapshots") }
	s.killIn("a fork", id, post("/sandboxes/"+id+"/fork", `{"count":2}`), func() bool { return strings.Contains(snapshots(), "fork-") || len(m.alive()) > 1 })
	one("a fork")
	eventually(t, 2*hung, "the snapshot of the fork is gone", func() bool {
		out := m.exec("curl", "-sS", "-H", "X-API-KEY: "+s.token, s.url+"/e2b/snapshots")
		return strings.TrimSpace(out.stdout) == "[]" && !strings.Contains(snapshots(), "fork-") && len(m.drafts()) == 0
	})
	own.processOutlives(s)
	s.sh(id, "mkdir -p ~/w")
	s.killIn("an upload over E2B", id, func(ctx context.Context) {
		cmd := m.cmd("curl", append(own.curl(), "-T", "-", "-X", "POST", "-H", "Content-Type: application/octet-stream", s.url+"/e2b/files?path=w/file")...)
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = in.Write(make([]byte, 1<<20))
		<-ctx.Done()
		_ = in.Close()
		_ = cmd.Wait()
	}, func() bool { return s.sh(id, "ls -A ~/w") != "" })
	eventually(t, hung, "the part of the upload is gone", func() bool { return s.sh(id, "ls -A ~/w") == "" })
	s.ended(id, command.GetPid())
}

// e2bSandbox is a sandbox with what a program needs that uses the package e2b.
type e2bSandbox struct {
	SandboxID string `json:"sandboxID"`
	Token     string `json:"envdAccessToken"`
}

// e2b creates a sandbox as the package e2b does.
func (s *apiServer) e2b(request string) (made e2bSandbox) {
	s.m.t.Helper()
	out := s.m.exec("curl", "-sS", "-H", "X-API-KEY: "+s.token, "-H", "Content-Type: application/json", "-d", request, s.url+"/e2b/sandboxes")
	if err := json.Unmarshal([]byte(out.stdout), &made); err != nil || made.SandboxID == "" {
		s.m.t.Fatalf("creating a sandbox over E2B: %v %s", err, out)
	}
	return made
}

// curl returns the arguments of curl for a call inside the sandbox.
func (e e2bSandbox) curl() []string {
	return []string{"-sS", "-H", "E2b-Sandbox-Id: " + e.SandboxID, "-H", "X-Access-Token: " + e.Token}
}
