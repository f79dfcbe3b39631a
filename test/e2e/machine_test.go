package e2e

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/runtime"
)

// machine is the environment of one user: a home folder with sessions, workspaces and
// repositories. Tests share only the container daemon.
type machine struct {
	t    testing.TB
	home string
	env  []string

	cleansImages bool // its clean-ups need not wait for each other; see cleaning
}

// newMachine makes a machine and checks at the end of the test that nothing still runs.
func newMachine(t testing.TB) *machine {
	t.Helper()
	// The folder is not t.TempDir, whose name is long and whose removal would
	// come before the check.
	home, err := os.MkdirTemp("", "aibox-home-")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, home: home, env: []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color",
		"XDG_RUNTIME_DIR=" + os.Getenv("XDG_RUNTIME_DIR"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(home, ".gitconfig"),
	}}
	// What an image's recipe depends on has to be what TestMain baked with.
	for _, name := range []string{
		"DOCKER_HOST", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "npm_config_registry",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	} {
		if value, ok := os.LookupEnv(name); ok {
			m.env = append(m.env, name+"="+value)
		}
	}
	real, _ := os.UserHomeDir()
	if npmrc, err := os.ReadFile(filepath.Join(real, ".npmrc")); err == nil {
		m.write(filepath.Join(home, ".npmrc"), string(npmrc))
	}
	m.write(filepath.Join(home, ".gitconfig"), "[user]\n\tname = A Person\n\temail = person@example.com\n[init]\n\tdefaultBranch = main\n")
	t.Cleanup(m.close)
	return m
}

// close ends what a failed test has left running, reports it, and removes the home.
func (m *machine) close() {
	m.tidied()
	for _, s := range m.stored() {
		if s.State.Supervisor.Alive() {
			m.t.Errorf("the supervisor of %s still runs", s.ID)
			_ = runtime.KillProcess(s.State.Supervisor)
		}
		if s.State.Sandbox.PID > 0 && s.State.Sandbox.Alive() {
			m.t.Errorf("the sandbox of %s still runs", s.ID)
			_ = runtime.KillProcess(s.State.Sandbox)
		}
	}
	for _, pid := range m.leftWatchdogs() {
		m.t.Errorf("the watchdog %d is left", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, id := range m.leftContainers() {
		m.t.Errorf("container %s is left", id)
		m.exec("docker", "rm", "-f", id)
	}
	// Tests make folders that may not be read.
	_ = filepath.WalkDir(m.home, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder of the test's own
		}
		return nil
	})
	err := os.RemoveAll(m.home)
	for deadline := time.Now().Add(hung); errors.Is(err, syscall.ENOTEMPTY) && time.Now().Before(deadline); err = os.RemoveAll(m.home) {
		time.Sleep(10 * time.Millisecond) // a command of the user, such as for the audit, still writes
	}
	if err != nil {
		m.t.Error(err)
	}
}

// leftWatchdogs returns the watchdogs that have not ended with their sessions. Their program is in
// this home.
func (m *machine) leftWatchdogs() []int {
	deadline, tick := time.Now().Add(hung), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		left := mentioning(m.home + "/.cache/aibox/init/")
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(50 * time.Millisecond)
		<-tick.C
	}
}

// tidied waits for supervisors that clean up after their sessions: a run returns before the
// daemon has removed the dead sandbox.
func (m *machine) tidied() {
	for _, s := range m.stored() {
		if s.State.Phase == "ended" {
			_ = s.State.Supervisor.AwaitEnd(hung)
		}
	}
}

// containers are the ids of containers that mount something of this home.
func (m *machine) containers() []string {
	var ids []string
	containers := m.exec("docker", "ps", "-a", "--no-trunc", "--filter", "label=aibox.session", "--format", "{{.ID}} {{.Mounts}}").stdout
	for container := range strings.Lines(containers) {
		if id, mounts, _ := strings.Cut(container, " "); strings.Contains(mounts, m.home+"/") {
			ids = append(ids, id)
		}
	}
	return ids
}

// leftContainers are those that the daemon does not clear away by itself, which
// it does a moment after a session's end.
func (m *machine) leftContainers() []string {
	deadline := time.Now().Add(hung)
	for {
		asked := time.Now()
		left := m.containers()
		if len(left) == 0 || asked.After(deadline) {
			return left
		}
		pause(asked)
	}
}

// write makes a file with its folders.
func (m *machine) write(path, content string) {
	m.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// read is the content of a file.
func (m *machine) read(path ...string) string {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}

// repo makes a repository with files in a first commit.
func (m *machine) repo(name string, files map[string]string) string {
	m.t.Helper()
	dir := filepath.Join(m.home, "src", name)
	if len(files) == 0 {
		files = map[string]string{"README": "a project\n"}
	}
	for file, content := range files {
		m.write(filepath.Join(dir, file), content)
	}
	m.git(dir, "init", "-q")
	m.git(dir, "add", "-A")
	m.git(dir, "commit", "-q", "-m", "First")
	return dir
}

// git runs git in dir and returns what it printed.
func (m *machine) git(dir string, args ...string) string {
	m.t.Helper()
	o := m.exec("git", append([]string{"-C", dir}, args...)...)
	if o.code != 0 {
		m.t.Fatalf("git %q: %s", args, o)
	}
	return o.stdout
}

// script writes a script for the built-in inference server and returns the value
// of --inference that plays it.
func (m *machine) script(toml string) string {
	m.t.Helper()
	file, err := os.CreateTemp(m.home, "script-*.toml")
	if err != nil {
		m.t.Fatal(err)
	}
	_, err = io.WriteString(file, toml)
	if err := errors.Join(err, file.Close()); err != nil {
		m.t.Fatal(err)
	}
	return "scripted:" + file.Name()
}
