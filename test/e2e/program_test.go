package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

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

// limit is how long any program may take before the test gives it up, random keys aside. An agent
// needs minutes to start beside other programs that keep all processors busy.
const limit = 20 * time.Minute

// longest is how long a program may run: the flags of a test can make it long.
func longest() time.Duration {
	if *walkEmpty || *walkBare {
		return longestWalk
	}
	if *creationsAll > creationsInCI {
		return limit + *creationsTime
	}
	return limit + *monkeyTime
}

// cmd is a program in this world; its working directory is the home.
func (m *machine) cmd(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), longest())
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
	defer m.cleanUp(args)()
	return m.finish(m.cmd(name, args...))
}

// cleaning keeps the clean-ups of all tests from the images of the one that is about
// them: images belong to the daemon, and not to one test.
var cleaning sync.RWMutex

// cleanUp waits until the command of aibox may be run, and over ends it.
func (m *machine) cleanUp(args []string) (over func()) {
	if len(args) == 0 || args[0] != "gc" || m.cleansImages {
		return func() {}
	}
	cleaning.RLock()
	return cleaning.RUnlock
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
	if (r.Error == nil) != (o.code == 0) || r.Error != nil && (r.Error.ExitCode != o.code || r.Error.Session != r.ID) {
		m.t.Errorf("the error in the JSON is not that of the command:\n%s", o)
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

// background is aibox, not yet started.
func (m *machine) background(args ...string) *background {
	b := &background{Cmd: m.cmd(aibox, args...), t: m.t, stdout: newWatched(), stderr: newWatched(), done: make(chan struct{})}
	b.stdout.of, b.stderr.of = b, b
	return b
}

// start runs aibox in the background.
func (m *machine) start(args ...string) *background {
	m.t.Helper()
	b := m.background(args...)
	b.Stdout, b.Stderr = b.stdout, b.stderr
	over := m.cleanUp(args)
	if err := b.Start(); err != nil {
		over()
		m.t.Fatal(err)
	}
	go func() {
		defer close(b.done)
		defer over()
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

// ends waits for the end, which has to come with this exit code, and returns what was
// printed on standard output.
func (b *background) ends(code int) string {
	b.t.Helper()
	if got := b.wait(); got != code {
		b.t.Fatalf("%v must exit with %d, not with %d:\n%s\n%s", b.Args, code, got, b.stdout.String(), b.stderr.String())
	}
	return b.stdout.String()
}

// kill kills the program with SIGKILL.
func (b *background) kill() {
	_ = b.Process.Signal(syscall.SIGKILL)
	<-b.done
}
