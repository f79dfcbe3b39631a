package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/runtime"
)

// machine is one user's world: a home folder of its own, with sessions,
// workspaces and repositories in it. Only the container daemon is shared.
type machine struct {
	t    testing.TB
	home string
	env  []string
}

// newMachine makes a machine and checks at the test's end that nothing runs on.
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

// close ends what a failed test has left running, tells it, and removes the home.
func (m *machine) close() {
	m.tidied()
	for _, s := range m.stored() {
		if s.State.Phase == "ended" {
			_ = s.State.Supervisor.AwaitEnd(5 * time.Second) // it says good-bye to its clients
		}
		if s.State.Supervisor.Alive() {
			m.t.Errorf("the supervisor of %s still runs", s.ID)
			_ = runtime.KillProcess(s.State.Supervisor)
		}
		if s.State.Sandbox.PID > 0 && s.State.Sandbox.Alive() {
			m.t.Errorf("the sandbox of %s still runs", s.ID)
			_ = runtime.KillProcess(s.State.Sandbox)
		}
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
	if err := os.RemoveAll(m.home); err != nil {
		m.t.Error(err)
	}
}

// tidied waits for supervisors that clear up behind sessions that have ended: a
// run comes back before the daemon has removed the dead box.
func (m *machine) tidied() {
	for _, s := range m.stored() {
		if s.State.Phase == "ended" {
			_ = s.State.Supervisor.AwaitEnd(10 * time.Second)
		}
	}
}

// containers are the ids of containers that mount something of this home.
func (m *machine) containers() []string {
	ids := strings.Fields(m.exec("docker", "ps", "-aq", "--no-trunc", "--filter", "label=aibox.session").stdout)
	return slices.DeleteFunc(ids, func(id string) bool {
		return !strings.Contains(m.exec("docker", "inspect", id).stdout, m.home+"/")
	})
}

// leftContainers are those that the daemon does not clear away by itself, which
// it does a moment after a session's end.
func (m *machine) leftContainers() []string {
	deadline := time.Now().Add(10 * time.Second)
	for {
		left := m.containers()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// record is a session as its files hold it.
type record struct {
	ID    string
	State struct {
		Phase      string          `json:"phase"`
		Supervisor runtime.Process `json:"supervisor"`
		Sandbox    runtime.Process `json:"sandbox"`
		Box        string          `json:"box"`
		Network    runtime.Network `json:"network"`
		Workspace  struct {
			Path   string `json:"path"`
			GitDir string `json:"git_dir"`
		} `json:"workspace"`
		Result *result `json:"result"`
		Review string  `json:"review"`
		Branch string  `json:"branch"`
	}
}

// result is how a session ended, as the contract with scripts has it.
type result struct {
	ExitCode int  `json:"exit_code"`
	Signal   int  `json:"signal"`
	Changed  bool `json:"changed"`
	Fault    *struct {
		Kind     string   `json:"kind"`
		Message  string   `json:"message"`
		Hints    []string `json:"hints"`
		ExitCode int      `json:"exit_code"`
	} `json:"fault"`
	Changes struct {
		Tree    string   `json:"tree"`
		Files   int      `json:"files"`
		Added   int      `json:"added"`
		Deleted int      `json:"deleted"`
		Refused int      `json:"refused"`
		Notes   []string `json:"notes"`
	} `json:"changes"`
	Refused []refusal `json:"refused"`
	Tokens  struct {
		Requests int `json:"requests"`
		Input    int `json:"input"`
		Output   int `json:"output"`
	} `json:"tokens"`
	Seconds float64  `json:"seconds"`
	Commits []string `json:"commits"`
	Dropped int64    `json:"dropped"`
	Left    bool     `json:"left"`
	Notes   []string `json:"notes"`

	Verification *verification `json:"verification"`

	ModelFailures *struct {
		Count   int    `json:"count"`
		Status  int    `json:"status"`
		Message string `json:"message"`
	} `json:"model_failures"`
}

type refusal struct {
	What   string `json:"what"`
	Target string `json:"target"`
	Reason string `json:"reason"`
	Times  int    `json:"times"`
}

// refused reports whether something was refused to what target contains.
func (r *result) refusedTarget(target string) bool {
	return slices.ContainsFunc(r.Refused, func(one refusal) bool { return strings.Contains(one.Target, target) })
}

func (m *machine) sessions() string { return filepath.Join(m.home, ".local/state/aibox/sessions") }

// stored reads the sessions from their files, without the program's help.
func (m *machine) stored() []record {
	entries, _ := os.ReadDir(m.sessions())
	var all []record
	for _, entry := range entries {
		all = append(all, m.record(entry.Name()))
	}
	return all
}

// record reads one session's state from its file.
func (m *machine) record(id string) record {
	r := record{ID: id}
	data, err := os.ReadFile(filepath.Join(m.sessions(), id, "state.json"))
	if err == nil {
		err = json.Unmarshal(data, &r.State)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Errorf("the state of %s: %v", id, err)
	}
	return r
}

// outcome is a program that has ended.
type outcome struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// String is for failures.
func (o outcome) String() string {
	return fmt.Sprintf("exit %d after %v\n--- stdout\n%.4000s\n--- stderr\n%.4000s", o.code, o.took.Round(time.Millisecond), o.stdout, o.stderr)
}

// limit is how long any program may take before the test gives it up.
const limit = 4 * time.Minute

// cmd is a program in this world; its working directory is the home.
func (m *machine) cmd(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	cmd := exec.CommandContext(ctx, name, args...)
	m.t.Cleanup(cancel)
	cmd.Dir, cmd.Env, cmd.WaitDelay = m.home, slices.Clone(m.env), time.Second
	return cmd
}

// finish runs cmd to its end.
func (m *machine) finish(cmd *exec.Cmd) outcome {
	m.t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	begin := time.Now()
	err := cmd.Run()
	o := outcome{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(begin)}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		o.code = exit.ExitCode()
	case err != nil:
		m.t.Fatalf("%v: %v\n%s", cmd.Args, err, o)
	}
	return o
}

// exec runs any program.
func (m *machine) exec(name string, args ...string) outcome {
	m.t.Helper()
	return m.finish(m.cmd(name, args...))
}

// aibox runs aibox and expects this exit code.
func (m *machine) aibox(code int, args ...string) outcome {
	m.t.Helper()
	o := m.exec(aibox, args...)
	if o.code != code {
		m.t.Fatalf("aibox %q must exit with %d:\n%s", args, code, o)
	}
	return o
}

// ended is the result of the JSON that `aibox run --json` printed.
func (m *machine) ended(o outcome) report {
	m.t.Helper()
	var r report
	decoder := json.NewDecoder(strings.NewReader(o.stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		m.t.Fatalf("the JSON of run is not what scripts rely on: %v\n%s", err, o)
	}
	if r.State.Result == nil {
		m.t.Fatalf("the JSON has no result:\n%s", o)
	}
	return r
}

// detached starts a session in the background and returns its id.
func (m *machine) detached(args ...string) string {
	m.t.Helper()
	return strings.TrimSpace(m.aibox(0, append([]string{"run", "-d"}, args...)...).stdout)
}

// background is a program that runs beside the test.
type background struct {
	*exec.Cmd
	t              testing.TB
	stdout, stderr *watched
	done           chan struct{}
	code           int
}

// start runs aibox in the background.
func (m *machine) start(args ...string) *background {
	m.t.Helper()
	b := &background{Cmd: m.cmd(aibox, args...), t: m.t, stdout: newWatched(), stderr: newWatched(), done: make(chan struct{})}
	b.Stdout, b.Stderr = b.stdout, b.stderr
	if err := b.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() {
		defer close(b.done)
		_ = b.Wait()
		b.code = b.ProcessState.ExitCode()
	}()
	m.t.Cleanup(func() { _ = b.Process.Kill(); <-b.done })
	return b
}

// wait waits for the end and returns the exit code, -1 for a signal.
func (b *background) wait() int {
	b.t.Helper()
	select {
	case <-b.done:
	case <-time.After(limit):
		b.t.Fatalf("%v does not end\n%s\n%s", b.Args, b.stdout.String(), b.stderr.String())
	}
	return b.code
}

// kill ends the program without giving it a say.
func (b *background) kill() {
	_ = b.Process.Signal(syscall.SIGKILL)
	<-b.done
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
