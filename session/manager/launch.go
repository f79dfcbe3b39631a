package manager

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/session"
)

// Launcher is a supervisor that waits for its request. It connects to the daemon in the
// meantime.
type Launcher struct {
	cmd       *exec.Cmd
	stdin     io.WriteCloser
	report    io.ReadCloser
	stderr    io.Closer
	lastWords <-chan string // its error output before it had a log
}

// maxStderr bounds the stored error output of a supervisor.
const maxStderr = 4 << 10

// launches starts supervisors.
type launches struct {
	store session.Store
	deps  *Deps
}

// Spawn starts a supervisor in its own process session. The supervisor waits for Launch,
// and ends if the Launcher is closed instead.
func (s *launches) Spawn() (*Launcher, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding aibox itself: %w", err)
	}
	cmd := exec.Command(exe, s.deps.ReadSettings().Supervise...) //nolint:noctx // it outlives this process
	cmd.Dir = "/"
	cmd.Env = supervisorEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	report, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	// Until the supervisor has its own log, its error output is read here, because this
	// process's terminal may show a screen.
	words, errOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, report.Close(), out.Close())
	}
	cmd.Stdout, cmd.Stderr = out, errOut
	err = cmd.Start()
	_, _ = out.Close(), errOut.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the supervisor: %w", err), report.Close(), words.Close())
	}
	// The supervisor outlives this process; reaping it matters only while both run.
	go func() { _ = cmd.Wait() }()
	lastWords := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(words, maxStderr))
		_, _ = io.Copy(io.Discard, words)
		lastWords <- strings.TrimSpace(string(text))
	}()
	return &Launcher{cmd: cmd, stdin: stdin, report: report, stderr: words, lastWords: lastWords}, nil
}

// Launch sends the supervisor its request and waits until the agent runs. It calls step for
// each stage, from one goroutine. If the start fails or ctx ends, the session is removed,
// and the error is the reason. It can be called once.
func (l *Launcher) Launch(ctx context.Context, launch session.Launch, step func(session.Step)) (session.ID, error) {
	input, err := json.Marshal(launch)
	if err != nil {
		return "", err
	}
	go func() { _, _ = l.stdin.Write(input); _ = l.stdin.Close() }()
	cancel := context.AfterFunc(ctx, func() { _ = l.cmd.Process.Signal(syscall.SIGTERM) })
	defer cancel()
	return readReport(l.report, step, l.lastWords)
}

// Close closes the connection to the supervisor. A supervisor without a request ends;
// otherwise it keeps running.
func (l *Launcher) Close() error {
	return errors.Join(l.stdin.Close(), l.report.Close(), l.stderr.Close())
}

// ChooseID chooses the id of the session and passes it to launch.RecordID, if that is set.
func (s *launches) ChooseID(ctx context.Context, launch *session.Launch) error {
	if launch.RecordID == nil {
		return nil
	}
	id, err := s.store.ChooseID(ctx, launch.Spec.Agent, time.Now())
	if err != nil {
		return err
	}
	launch.Spec.ID = id
	return launch.RecordID(ctx, id)
}

// Launch calls Spawn, ChooseID, then Launcher.Launch.
func (s *launches) Launch(ctx context.Context, launch session.Launch, step func(session.Step)) (session.ID, error) {
	l, err := s.Spawn() // called first, so that it starts while the id is stored on the disk
	if err != nil {
		return "", err
	}
	defer l.Close()
	if err := s.ChooseID(ctx, &launch); err != nil {
		return "", err
	}
	return l.Launch(ctx, launch, step)
}

// readReport reads the supervisor's report up to the result of the start. If the
// supervisor ends without a result, the error includes lastWords.
func readReport(in io.Reader, step func(session.Step), lastWords <-chan string) (session.ID, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m session.LaunchMessage
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return "", fmt.Errorf("reading the supervisor's report: %w", err)
		}
		switch {
		case m.Failure != nil:
			return "", m.Failure.Err()
		case m.Started != "":
			return m.Started, nil
		case m.Step != nil:
			step(*m.Step)
		}
	}
	failure := fault.New(fault.Internal, "the supervisor ended before the agent started").
		Hint("the next command repairs what it left; `aibox doctor` checks the machine")
	if words := <-lastWords; words != "" {
		words, _, _ = strings.Cut(words, "\n") // the message, if it is a panic
		failure = failure.Hint("its last message: %s", words)
	}
	return "", errors.Join(lines.Err(), failure)
}

// supervisorVariables are the variables of a supervisor besides the user's own: those for the
// daemon, and the settings that the supervisor reads itself. A word that ends with _ is the beginning
// of all names of a group.
var supervisorVariables = []string{
	"DOCKER_HOST", "AIBOX_AUDIT_COMMAND", "AIBOX_NOTIFY", "AIBOX_NOTIFY_ON", "AIBOX_NOTIFY_COMMAND", "AIBOX_OWN_ADDRESSES", "AIBOX_PROVIDERS_",
}

// supervisorEnv returns the environment of a supervisor: the supervisorVariables and the user's
// folders, and variables for commands that print a key. It has no keys of model servers, because
// any process of the user can read /proc/PID/environ: the settings only say where a key is.
func supervisorEnv() []string {
	env := []string{"LC_ALL=C.UTF-8"}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if slices.ContainsFunc(supervisorVariables, func(word string) bool {
			return name == word || strings.HasSuffix(word, "_") && strings.HasPrefix(name, word)
		}) {
			env = append(env, pair)
		}
	}
	return append(env, command.User()...)
}

// NewBatch returns the id of a new batch. It is unique.
func (s *launches) NewBatch(ctx context.Context) (session.BatchID, error) {
	return s.store.ChooseBatchID(ctx, time.Now())
}
