package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// The examples of the clients run as they are documented, against the real server.
func TestTheExamplesOfTheClientsRun(t *testing.T) {
	m := newMachine(t)
	node, _ := m.node(strings.TrimSpace(m.aibox(0, "bake", "code").stdout))
	s := m.serve("local")
	t.Cleanup(func() {
		for _, r := range m.stored() {
			if r.State.Phase != "ended" {
				m.exec(aibox, "stop", r.ID)
			}
		}
	})
	clients, err := filepath.Abs("../../clients")
	if err != nil {
		t.Fatal(err)
	}
	m.aibox(0, "config", "set", "inference", m.script(`
[[step]]
run = "for f in main.*; do sed s/hello/world/ $f > new && cat new > $f; done; rm new"
`))
	agents := strings.TrimSpace(m.aibox(0, "token", "create", "--tenant", "local", "--right", "read,sessions,accept").stdout)
	for _, c := range []struct{ name, token, argument, want string }{
		{"python/examples/run_code.py", s.token, "", "completed wrote 5 rows\n5 rows read\n"},
		{"typescript/examples/run_code.ts", s.token, "", "completed written\n1 2 3\n"},
		{"python/examples/agent.py", agents, "", "done\nmain.py +1 -1\naibox # v2 git bundle\n"},
		{"typescript/examples/agent.ts", agents, m.repo("p", map[string]string{"main.go": greeting}), "done\nmain.go +1 -1\naibox\n"},
	} {
		name, want, program := c.name, c.want, node
		if strings.HasSuffix(name, ".py") {
			program = "python3"
		}
		cmd := m.cmd(program, filepath.Join(clients, name), c.argument)
		cmd.Env = append(cmd.Env, "AIBOX_URL="+s.url, "AIBOX_TOKEN="+c.token, "PYTHONPATH="+filepath.Join(clients, "python"), "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
