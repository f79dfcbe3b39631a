package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
	"aibox/internal/probe"
)

func TestAgentExitCodeArrives(t *testing.T) {
	for _, c := range []struct {
		script       string
		code, signal int
	}{
		{"exit 0", 0, 0},
		{"exit 3", 3, 0},
		{"exit 143", 143, 0},
		{"kill -TERM $$", 143, 15},
		{"kill -KILL $$", 137, 9},
	} {
		t.Run(c.script, func(t *testing.T) {
			p := newPeer(t)
			p.start(shell(c.script))
			o := p.finish(nil)
			if o.exit.Code != c.code || o.exit.Signal != c.signal {
				t.Errorf("got %+v, want code %d signal %d", o.exit, c.code, c.signal)
			}
			p.Close()
			_ = p.init.Wait()
			if got := p.init.ProcessState.ExitCode(); got != c.code {
				t.Errorf("init itself exits with %d, want %d", got, c.code)
			}
		})
	}
}

func TestProgramThatCannotRunHasAShellsExitCode(t *testing.T) {
	for _, c := range []struct {
		argv []string
		code int
		text string
	}{
		{[]string{"no-such-program"}, 127, `there is no "no-such-program"`},
		{[]string{"/etc/passwd"}, 126, "cannot be run"},
		{nil, 125, "no command"},
	} {
		p := newPeer(t)
		p.start(lifeline.Start{Argv: c.argv, Dir: "/"})
		o := p.finish(nil)
		if o.exit.Code != c.code || !strings.Contains(strings.Join(o.errors, ";"), c.text) {
			t.Errorf("%v: got code %d, errors %q", c.argv, o.exit.Code, o.errors)
		}
	}
}

func TestEnvironmentMergesImageAndStart(t *testing.T) {
	p := newPeer(t)
	s := shell("env; cat ~/conf/a; stat -c %a ~/conf/a; pwd; ulimit -c; ulimit -n; ls /proc/self/fd | wc -l")
	s.Env = []string{"KEY=value", "FROM_IMAGE=changed"}
	s.Files = []lifeline.File{{Path: "~/conf/a", Mode: 0o640, Data: []byte("content\n")}}
	s.Dir, s.NoFile = "/usr", 1000
	p.start(s)
	o := p.finish(nil)
	out := o.stdout.String()
	// ls itself opens one descriptor besides the three standard ones.
	for _, want := range []string{"KEY=value\n", "FROM_IMAGE=changed\n", "content\n640\n/usr\n0\n1000\n4\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q (stderr %q)", want, out, o.stderr.String())
		}
	}
	if strings.Contains(out, "FROM_IMAGE=yes") || strings.Contains(out, asInit) {
		t.Errorf("too much in the environment: %q", out)
	}
}

func TestProcessLimitIsEnforced(t *testing.T) {
	p := newPeer(t)
	s := shell("ulimit -u; ulimit -Hu")
	s.Argv[0] = "bash"
	s.Nproc = 77
	p.start(s)
	if got := p.finish(nil).stdout.String(); got != "77\n77\n" {
		t.Errorf("limits are %q", got)
	}
}

func TestInputReachesTheAgentAndEnds(t *testing.T) {
	p := newPeer(t)
	s := lifeline.Start{Argv: []string{"cat"}, Dir: "/", Stdin: true}
	p.start(s)
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB: more than the window
	go func() {
		_ = p.Stdin(context.Background(), text)
		_ = p.CloseStdin()
	}()
	if o := p.finish(nil); !bytes.Equal(o.stdout.Bytes(), text) {
		t.Errorf("%d bytes came back of %d", o.stdout.Len(), len(text))
	}
}

func TestAgentThatNeverReadsItsInputCanBeStopped(t *testing.T) {
	p := newPeer(t)
	s := shell("sleep 1000")
	s.Stdin = true
	p.start(s)
	taken := make(chan error, 1)
	go func() { taken <- p.Stdin(t.Context(), make([]byte, 1<<20)) }()
	go func() {
		// The window is full while reserve waits. A stop that is sent now must still arrive.
		for p.Free() > 0 {
			time.Sleep(time.Millisecond)
		}
		select {
		case err := <-taken:
			t.Errorf("an agent that never reads has taken it all: %v", err)
		default: // after the end, nothing limits the rest
		}
		_ = p.Stop(time.Second)
	}()
	if o := p.finish(nil); o.exit.Signal != int(unix.SIGTERM) {
		t.Errorf("exit is %+v", o.exit)
	}
}

func TestTerminalHasItsSizeAndAcceptsInput(t *testing.T) {
	p := newPeer(t)
	s := shell(`trap 'stty size; exit 5' WINCH; stty size; while :; do sleep 0.02; done`)
	s.Argv[0] = "bash"
	s.TTY, s.Rows, s.Cols = true, 33, 99
	p.start(s)
	resized := false
	o := p.finish(func(f lifeline.Frame) {
		if !resized && f.Type == lifeline.TypeStdout && bytes.Contains(f.Payload, []byte("33 99")) {
			resized = true
			_ = p.Resize(44, 111)
		}
	})
	if got := o.stdout.String(); !strings.Contains(got, "33 99") || !strings.Contains(got, "44 111") || o.exit.Code != 5 {
		t.Errorf("got %q, %+v", got, o.exit)
	}
}

func TestSignalReachesTheAgentsProcessGroup(t *testing.T) {
	p := newPeer(t)
	p.start(shell(`trap 'exit 9' USR1; echo ready; while :; do sleep 0.01; done`))
	o := p.finish(func(f lifeline.Frame) {
		if f.Type == lifeline.TypeStdout {
			_ = p.Signal(int(unix.SIGUSR1))
		}
	})
	// sleep is in the group, too, and may die first. The trap determines the exit code.
	if o.exit.Code != 9 {
		t.Errorf("exit is %+v", o.exit)
	}
}

func TestStoppedSandboxLeavesNoProcess(t *testing.T) {
	p := newPeer(t)
	// The child ignores SIGTERM, leads its own session and has an orphan below it.
	p.start(shell(`setsid sh -c 'trap "" TERM; (trap "" TERM; sleep 1000) & echo $$ $!; wait; sleep 1000' & wait`))
	o := p.finish(func(f lifeline.Frame) {
		if f.Type == lifeline.TypeStdout {
			_ = p.Stop(time.Minute)
		}
	})
	for _, field := range strings.Fields(o.stdout.String()) {
		pid, err := strconv.Atoi(field)
		if err != nil || unix.Kill(pid, 0) != unix.ESRCH {
			t.Errorf("process %s is still there", field)
		}
	}
	if !o.exit.Left {
		t.Error("the exit does not tell of the processes left behind")
	}
}

func TestStopBeforeTheStartEndsTheSandbox(t *testing.T) {
	p := newPeer(t)
	if err := p.Stop(0); err != nil {
		t.Fatal(err)
	}
	if o := p.finish(nil); o.exit.Code != 143 || o.pid != 0 {
		t.Errorf("exit is %+v", o.exit)
	}
}

func TestStopRightAfterTheStartEndsTheAgent(t *testing.T) {
	for range 10 {
		p := newPeer(t)
		p.start(shell("sleep 1000"))
		if err := p.Stop(5 * time.Second); err != nil {
			t.Fatal(err)
		}
		if o := p.finish(nil); o.exit.Code != 143 {
			t.Errorf("exit is %+v", o.exit)
		}
	}
}

func TestOrphansAreReaped(t *testing.T) {
	p := newPeer(t)
	// Each inner shell's child is orphaned and dies at once. A zombie would stay a child of
	// init, so look in /proc.
	p.start(shell(`for i in 1 2 3 4 5; do sh -c 'true & exec true'; done
		while grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | while read f; do grep "^PPid:.$PPID$" $f; done | grep -q .; do sleep 0.01; done; echo clean`))
	if got := p.finish(nil).stdout.String(); got != "clean\n" {
		t.Errorf("got %q", got)
	}
}

func TestLargeOutputWithASlowReaderLosesNothing(t *testing.T) {
	p := newPeer(t)
	const size = 100 << 20
	p.start(shell(fmt.Sprintf("head -c %d /dev/zero; echo done >&2", size)))
	total, frames := 0, 0
	o := &outcome{}
	for o.exit.Code == 0 {
		f, err := p.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == lifeline.TypeStdout {
			total += len(f.Payload)
		}
		if f.Type == lifeline.TypeExit {
			break
		}
		if frames++; frames%200 == 0 {
			time.Sleep(time.Millisecond) // a slow reader is what this tests; it is not a wait
		}
	}
	if total != size {
		t.Errorf("%d bytes of %d arrived", total, size)
	}
}

func TestLostLifelineEndsTheProcessTree(t *testing.T) {
	p := newPeer(t)
	p.start(shell(`trap "" TERM HUP; setsid sh -c 'trap "" TERM HUP; echo $$; sleep 1000' & wait; sleep 1000`))
	var pid int
	for pid == 0 {
		f, err := p.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == lifeline.TypeStdout {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(f.Payload)))
		}
	}
	start := time.Now()
	p.Close()
	_ = p.init.Wait()
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if p.init.ProcessState.ExitCode() != exitLost {
		t.Errorf("init ended with %v", p.init.ProcessState)
	}
	if unix.Kill(pid, 0) != unix.ESRCH {
		t.Errorf("process %d is still there", pid)
	}
}

func TestHostileFramesEndTheSandbox(t *testing.T) {
	for name, raw := range map[string]string{
		"unknown type":     "\x7f\x00\x00\x00\x00",
		"huge payload":     "\x03\xff\xff\xff\xff",
		"init's own type":  "\x44\x00\x00\x00\x00",
		"broken JSON":      "\x02\x00\x00\x00\x01{",
		"a bad signal":     "\x06\x00\x00\x00\x0d{\"number\":64}",
		"split input":      "\x83\x00\x00\x00\x01x",
		"the second start": "\x02\x00\x00\x00\x02{}\x02\x00\x00\x00\x02{}",
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			cmd := exec.Command(os.Args[0], listener.Addr().String())
			cmd.Env = []string{asInit + "=1"}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			conn, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, raw); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
		})
	}
}

func TestProbesReportWhichTargetsAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	p := newPeer(t)
	results, err := p.Probe(context.Background(), probe.Plan{Probes: []probe.Probe{
		{Name: "open", Kind: probe.TCP, Target: listener.Addr().String(), Want: probe.Answers},
		{Name: "leak", Kind: probe.TCP, Target: listener.Addr().String(), Want: probe.Refused},
		{Name: "shut", Kind: probe.TCP, Target: closed.Addr().String(), Want: probe.Refused},
		{Name: "gone", Kind: probe.TCP, Target: closed.Addr().String(), Want: probe.Answers},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true, false} {
		if results[i].OK != want {
			t.Errorf("%s: %+v", results[i].Name, results[i])
		}
	}
}

func TestAgentCommitsAreListed(t *testing.T) {
	repo := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "baseline")
	base := git("rev-parse", "HEAD")
	p := newPeer(t)
	s := shell("for i in one two; do git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m $i; done")
	s.Dir, s.Baseline = repo, base
	p.start(s)
	o := p.finish(nil)
	if len(o.exit.Commits) != 2 || !strings.HasSuffix(o.exit.Commits[0], " two") {
		t.Errorf("commits are %q (stderr %q)", o.exit.Commits, o.stderr.String())
	}
}

// The agent may have replaced git with another program. Whatever that does, the sandbox
// ends, and the agent's own end is reported.
func TestFakeGitCannotDelayTheExit(t *testing.T) {
	for name, fake := range map[string]string{
		"a detached child holds its output": "echo abc0123 fake; setsid sleep 600 &",
		"it never ends":                     "trap '' TERM PIPE HUP; echo abc0123 fake; while :; do sleep 600; done",
		"it stops itself":                   "echo abc0123 fake; kill -STOP $$",
		"it writes for ever":                "echo abc0123 fake; exec yes",
		"it starts more and more":           `echo abc0123 fake; for i in 1 2 3 4 5 6 7 8; do setsid sh -c 'while :; do setsid sleep 600 & sleep 0.1; done' & done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, content := range map[string]string{"bin/git": "#!/bin/sh\n" + fake + "\n", ".git/HEAD": strings.Repeat("b", 40) + "\n"} {
				path := filepath.Join(dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755)); err != nil {
					t.Fatal(err)
				}
			}
			p := newPeer(t)
			s := shell("exit 7")
			s.Dir, s.Baseline = dir, strings.Repeat("a", 40)
			s.Env = []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH")}
			p.start(s)
			begin := time.Now()
			giveUp := time.AfterFunc(time.Minute, func() { p.Close() })
			defer giveUp.Stop()
			o := p.finish(nil)
			if o.exit.Code != 7 || len(o.exit.Commits) == 0 || o.exit.Commits[0] != "abc0123 fake" {
				t.Errorf("the exit is %+v (%s)", o.exit, o.stderr.String())
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("the end took %v", took)
			}
			if size := len(strings.Join(o.exit.Commits, "")); len(o.exit.Commits) > commitLimit || size > commitBytes {
				t.Errorf("%d commits with %d bytes are listed", len(o.exit.Commits), size)
			}
			if left := descendants(p.init.Process.Pid); len(left) > 0 {
				t.Errorf("%d processes are left", len(left))
			}
		})
	}
}

// After a stop the supervisor waits for two seconds more than the grace that it gave.
func TestFakeGitCannotDelayAStop(t *testing.T) {
	dir := t.TempDir()
	for file, content := range map[string]string{"bin/git": "#!/bin/sh\nexec sleep 600\n", ".git/HEAD": strings.Repeat("b", 40) + "\n"} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	var took time.Duration
	for range 5 { // a busy machine can delay the stop, too
		p := newPeer(t)
		s := shell("echo ready; exec sleep 600")
		s.Dir, s.Baseline = dir, strings.Repeat("a", 40)
		s.Env = []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH")}
		p.start(s)
		var begin time.Time
		o := p.finish(func(f lifeline.Frame) {
			if f.Type == lifeline.TypeStdout && begin.IsZero() {
				begin = time.Now()
				if err := p.Stop(0); err != nil {
					t.Error(err)
				}
			}
		})
		if o.exit.Signal == 0 {
			t.Errorf("the exit is %+v", o.exit)
		}
		if took = time.Since(begin); took < commitTime {
			return
		}
	}
	t.Errorf("the stop took %v, as if it had not been stopped", took)
}

func TestGitDoesNotRunIfTheAgentCommittedNothing(t *testing.T) {
	base, other := strings.Repeat("a", 40), strings.Repeat("b", 40)
	for name, c := range map[string]struct {
		files map[string]string
		moved bool
	}{
		"a packed branch as it was":      {map[string]string{"HEAD": "ref: refs/heads/main\n", "packed-refs": "# pack-refs with: peeled\n" + base + " refs/heads/main\n"}, false},
		"a branch over the packed one":   {map[string]string{"HEAD": "ref: refs/heads/main\n", "packed-refs": base + " refs/heads/main\n", "refs/heads/main": other + "\n"}, true},
		"another branch of the packed":   {map[string]string{"HEAD": "ref: refs/heads/x\n", "packed-refs": base + " refs/heads/main\n" + other + " refs/heads/x\n"}, true},
		"a branch that is nowhere":       {map[string]string{"HEAD": "ref: refs/heads/x\n", "packed-refs": base + " refs/heads/main\n"}, true},
		"a detached HEAD as it was":      {map[string]string{"HEAD": base + "\n"}, false},
		"a detached HEAD somewhere else": {map[string]string{"HEAD": other + "\n"}, true},
		"no repository":                  {nil, false},
	} {
		dir := t.TempDir()
		for file, content := range c.files {
			path := filepath.Join(dir, ".git", file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if got := moved(dir, base); got != c.moved {
			t.Errorf("%s: %v", name, got)
		}
	}
}
