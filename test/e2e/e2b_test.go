package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var updateE2B = flag.Bool("update.e2b", false, "write the table of docs/e2b.md")

// node takes Node and npm out of an image into a folder, and returns their paths.
func (m *machine) node(image string) (node, npm string) {
	m.t.Helper()
	folder := filepath.Join(m.home, "node")
	if err := os.Mkdir(folder, 0o700); err != nil {
		m.t.Fatal(err)
	}
	made := m.exec("docker", "create", image)
	if made.code != 0 {
		m.t.Fatal(made)
	}
	container := strings.TrimSpace(made.stdout)
	m.t.Cleanup(func() { m.exec("docker", "rm", container) })
	for _, path := range []string{"/usr/local/bin/node", "/usr/local/lib/node_modules/npm"} {
		if out := m.exec("docker", "cp", container+":"+path, folder); out.code != 0 {
			m.t.Fatal(out)
		}
	}
	return filepath.Join(folder, "node"), filepath.Join(folder, "npm", "bin", "npm-cli.js")
}

// install installs the npm packages that a folder of testdata locks, and returns a function
// that makes commands in it.
func (m *machine) install(name, image string) (in func(args ...string) *exec.Cmd) {
	m.t.Helper()
	node, npm := m.node(image)
	files, err := filepath.Glob(filepath.Join("testdata", name, "*"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			m.t.Fatal(err)
		}
		m.write(filepath.Join(m.home, name, filepath.Base(file)), string(content))
	}
	in = func(args ...string) *exec.Cmd {
		cmd := m.cmd(node, args...)
		cmd.Dir = filepath.Join(m.home, name)
		return cmd
	}
	if out, err := in("--use-system-ca", npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		m.t.Fatalf("installing the packages: %v %s", err, out)
	}
	return in
}

// The table of docs/e2b.md is what the package itself reports.
func TestTheUnchangedPackageE2BWorks(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	in := m.install("e2b", strings.TrimSpace(m.aibox(0, "bake", "code").stdout))
	s := m.serve("acme")
	t.Cleanup(func() {
		for _, r := range m.stored() {
			if r.State.Phase != "ended" {
				m.exec(aibox, "stop", r.ID)
			}
		}
	})
	url := s.url + "/e2b"
	index := newOutside(t, m.registries())

	run := in("check.mjs")
	run.Env = append(run.Env, "INDEX_HOST="+index.Name, "INDEX_CA="+index.CA, "E2B_API_URL="+url, "E2B_SANDBOX_URL="+url, "E2B_VALIDATE_API_KEY=false", "E2B_API_KEY="+s.token)
	out, err := run.Output()
	if err != nil {
		t.Fatalf("the checks: %v %s", err, out)
	}
	checkE2BTable(t, string(out))
	if !index.requested("/small-1.0-py3-none-any.whl") {
		t.Errorf("the index was asked for %q", index.asked())
	}
}

// checkE2BTable compares what the package reported with the table of docs/e2b.md.
func checkE2BTable(t *testing.T, reported string) {
	t.Helper()
	const page, head = "../../docs/e2b.md", "| what | the package's answer |\n| --- | --- |\n"
	table := ""
	for line := range strings.Lines(reported) {
		var row struct{ What, Error string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		answer := "works"
		if row.Error != "" {
			answer = row.Error
		}
		if row.Error != "" && !strings.HasPrefix(row.Error, "`") {
			t.Errorf("%s: %s", row.What, row.Error)
		}
		table += fmt.Sprintf("| %s | %s |\n", row.What, strings.ReplaceAll(answer, "|", `\|`))
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, hasTable := strings.Cut(string(content), head)
	written, after, hasEnd := strings.Cut(rest, "\n\n")
	written += "\n"
	switch {
	case !hasTable || !hasEnd:
		t.Fatal("docs/e2b.md has no table")
	case *updateE2B && !t.Failed():
		if err := os.WriteFile(page, []byte(before+head+table+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case written != table:
		t.Errorf("docs/e2b.md has another table: run this test with -update.e2b; it should have\n%s", table)
	}
}
