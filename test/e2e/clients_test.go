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
	for name, want := range map[string]string{
		"python/examples/run_code.py":     "completed wrote 5 rows\n5 rows read\n",
		"typescript/examples/run_code.ts": "completed written\n1 2 3\n",
	} {
		program := node
		if strings.HasSuffix(name, ".py") {
			program = "python3"
		}
		cmd := m.cmd(program, filepath.Join(clients, name))
		cmd.Env = append(cmd.Env, "AIBOX_URL="+s.url, "AIBOX_TOKEN="+s.token, "PYTHONPATH="+filepath.Join(clients, "python"), "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
