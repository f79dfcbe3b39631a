package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The examples of the clients run as they are documented, against the real server.
func TestTheExamplesOfTheClientsRun(t *testing.T) {
	t.Parallel()
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
	examples := []struct{ name, token, argument, want string }{
		{"python/examples/run_code.py", s.token, "", "completed wrote 5 rows\n5 rows read\n"},
		{"typescript/examples/run_code.ts", s.token, "", "completed written\n1 2 3\n"},
		{"python/examples/stream.py", s.token, "", streamed},
		{"typescript/examples/stream.ts", s.token, "", streamed},
		{"python/examples/parallel.py", s.token, "", "['0', '1', '4']\n"},
		{"python/examples/agent.py", agents, "", "done\nmain.py +1 -1\naibox # v2 git bundle\n"},
		{"typescript/examples/agent.ts", agents, m.repo("p", map[string]string{"main.go": greeting}), "done\nmain.go +1 -1\naibox\n"},
	}
	var tested, all []string
	for _, c := range examples {
		tested = append(tested, c.name)
	}
	for _, pattern := range []string{"python/examples/*.py", "typescript/examples/*.ts"} {
		found, err := filepath.Glob(filepath.Join(clients, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %q, %v", pattern, found, err)
		}
		for _, file := range found {
			all = append(all, strings.TrimPrefix(file, clients+"/"))
		}
	}
	if slices.Sort(tested); !slices.Equal(tested, all) {
		t.Errorf("the examples are %q, and these have a row: %q", all, tested)
	}
	for _, c := range examples {
		name, want, program := c.name, c.want, node
		if strings.HasSuffix(name, ".py") {
			program = "python3"
		}
		cmd := m.cmd(program, filepath.Join(clients, name), c.argument)
		cmd.Env = append(cmd.Env, "AIBOX_URL="+s.url, "AIBOX_TOKEN="+c.token, "PYTHONPATH="+filepath.Join(clients, "python"), "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if want == streamed { // one event may have several lines
			out = sequence.ReplaceAll(out, nil)
		}
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// streamed is what the examples of streams print, without the numbers of events.
const streamed = "line 1\nline 2\nline 3\nexit code 4\n"

var sequence = regexp.MustCompile(`(?m)^\d+ `)

// What the programs tests/real.py and test/real.ts of the clients print.
const (
	usedSandbox = `installed small from pip
refused true false no entry of the allow list names this host
opened 200
paused
conflict
running 42
restored small from pip true
forked small from pip 1
['ready']
[]
hold true false
hold true false
drop false true
drop false true
measured true true 0
`
	usedSession = `done true
main.go +1 -1
true
aibox # v2 git bundle
`
)

// Packages are from an index of the test's own. Without its host in the list they are refused.
func TestTheClientsUseRealSandboxesAndAgents(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	node, _ := m.node(strings.TrimSpace(m.aibox(0, "bake", "code").stdout))
	m.aibox(0, "config", "set", "inference", m.script(`
[[step]]
run = "sed s/hello/world/ main.go > new && cat new > main.go; rm new"
`))
	s := m.serve("local")
	t.Cleanup(func() {
		for _, r := range m.stored() {
			if r.State.Phase != "ended" {
				m.exec(aibox, "stop", r.ID)
			}
		}
	})
	token := strings.TrimSpace(m.aibox(0, "token", "create", "--tenant", "local", "--right", "read,sandboxes,execute,network,sessions,accept").stdout)
	index := newOutside(t, m.registries())
	tree := filepath.Join(m.home, "tree.tar")
	if o := m.exec("tar", "-C", m.repo("p", map[string]string{"main.go": greeting}), "-cf", tree, "main.go"); o.code != 0 {
		t.Fatal(o)
	}
	clients, err := filepath.Abs("../../clients")
	if err != nil {
		t.Fatal(err)
	}
	same := strings.NewReplacer("True", "true", "False", "false", "[ ", "[", " ]", "]") // how each language prints
	for _, c := range []struct{ program, name, want string }{
		{"python3", "python/tests/real.py", usedSandbox},
		{node, "typescript/test/real.ts", usedSandbox + usedSession},
	} {
		cmd := m.cmd(c.program, filepath.Join(clients, c.name))
		cmd.Env = append(cmd.Env, "AIBOX_URL="+s.url, "AIBOX_TOKEN="+token, "INDEX_HOST="+index.Name, "INDEX_CA="+index.CA, "TREE="+tree,
			"PYTHONPATH="+filepath.Join(clients, "python"), "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if err != nil || same.Replace(string(out)) != c.want {
			t.Errorf("%s: %v\n%s\nwant:\n%s", c.name, err, out, c.want)
		}
	}
	if !index.requested("/small-1.0-py3-none-any.whl") {
		t.Errorf("the index was asked for %q", index.asked())
	}
}
