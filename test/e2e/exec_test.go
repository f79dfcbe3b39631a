package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/audit"
	"aibox/session/control"
	"aibox/session/process"
)

// fails runs aibox, and checks its exit code and error.
func (m *machine) fails(code int, text string, args ...string) {
	m.t.Helper()
	if o := m.aibox(code, args...); !strings.Contains(o.stderr, text) {
		m.t.Errorf("aibox %q does not report %q:\n%s", args, text, o)
	}
}

func TestCommandsRunInTheSandboxOfARunningSession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", "echo agent > made; exec sleep 1000")
	o := m.aibox(7, "exec", "-e", "KEY=a value", "-w", "/usr", id, "--", "sh", "-c", `echo "$KEY"; pwd; cat; echo no >&2; exit 7`)
	if o.stdout != "a value\n/usr\n" || o.stderr != "no\n" {
		t.Errorf("the command prints\n%s", o)
	}
	if got := m.aibox(0, "exec", id, "--", "cat", "made").stdout; got != "agent\n" {
		t.Errorf("the command sees %q", got)
	}
	if got := m.aibox(0, "exec", "-u", "nobody", id, "--", "id", "-un").stdout; got != "nobody\n" {
		t.Errorf("the user is %q", got)
	}
	cmd := m.cmd(aibox, "exec", "-i", id, "--", "sha256sum")
	input := bytes.Repeat([]byte("input"), 1<<18)
	cmd.Stdin = bytes.NewReader(input)
	if got, want := m.finish(cmd).stdout, fmt.Sprintf("%x  -\n", sha256.Sum256(input)); got != want {
		t.Errorf("the input arrives as %q, not %q", got, want)
	}
	m.fails(127, `there is no "nosuch" in the sandbox`, "exec", id, "--", "nosuch")
	m.fails(126, "cannot be run", "exec", id, "--", "/etc/passwd")
	m.fails(125, `no folder "/no/such"`, "exec", "-w", "/no/such", id, "--", "ls")
	m.fails(125, `no user "somebody"`, "exec", "-u", "somebody", id, "--", "ls")
	m.fails(2, "needs a command after --", "exec", id)
	m.fails(2, "must come after the session id and --", "exec", id, "ls")
	m.fails(2, "-t needs a terminal", "exec", "-t", id, "--", "ls")
	m.fails(2, "a shell needs a terminal", "shell", id)
	m.fails(2, `no session "zzzz"`, "exec", "zzzz", "--", "ls")
	m.aibox(137, "exec", id, "--", "sh", "-c", "kill -9 $$")

	waiting := m.start("exec", id, "--", "sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done")
	eventually(t, hung, "the command runs", func() bool { return strings.Contains(waiting.stdout.String(), "ready") })
	_ = waiting.Process.Signal(syscall.SIGINT)
	if got := waiting.ends(9); got != "ready\ncaught\n" {
		t.Errorf("ctrl-c gives %q", got)
	}
	number := strings.TrimSpace(m.aibox(0, "exec", "-d", id, "--", "sh", "-c", "echo in the background; exec sleep 1000").stdout)
	if list := m.aibox(0, "exec", "--list", "--json", id).stdout; !strings.Contains(list, `"id": `+number+",") || !strings.Contains(list, `"code": 137`) {
		t.Errorf("the processes are\n%s", list)
	}
	if list := m.aibox(0, "exec", "--list", id).stdout; !strings.Contains(list, number+"  running ") || !strings.Contains(list, "exit 137") {
		t.Errorf("the list is\n%s", list)
	}
	following := m.start("exec", "--connect", number, id)
	eventually(t, hung, "the output is there", func() bool { return following.stdout.String() == "in the background\n" })
	m.fails(2, "has no process 999", "exec", "--connect", "999", id)

	m.aibox(0, "stop", id)
	following.ends(143)
	m.fails(2, "has ended, and its sandbox with it", "exec", id, "--", "ls")
	m.fails(2, "has ended, and its sandbox with it", "cp", id+":/tmp", "x")
	log := m.aibox(0, "audit", id, "--kind", "processes").stdout
	if started, ended := strings.Count(log, "process.started"), strings.Count(log, "process.ended"); started < 10 || started != ended {
		t.Errorf("%d starts and %d ends are in the log:\n%s", started, ended, log)
	}
}

// As in `aibox exec ID -- yes | head -1`.
func TestACommandWhoseOutputIsNoLongerReadHangsUp(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sleep", "1000")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := m.cmd(aibox, "exec", id, "--", "yes")
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	if _, err := io.ReadFull(read, make([]byte, 2)); err != nil {
		t.Error(err)
	}
	closed := time.Now()
	_ = read.Close()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGPIPE) {
		t.Errorf("the exit code is %d", code)
	}
	// Sooner than after a kill of aibox, by the time in the log: each question takes time as well.
	var ended time.Time
	eventually(t, hung, "the command has ended", func() bool {
		for _, line := range auditLines(m, m.aibox(0, "audit", id, "--kind", "processes", "--json").stdout) {
			if line.Type == audit.ProcessEnded {
				ended = line.Time
			}
		}
		return !ended.IsZero() && strings.Contains(m.aibox(0, "exec", "--list", id).stdout, "exit 129")
	})
	if took := ended.Sub(closed); took > 8*time.Second {
		t.Errorf("it ended after %v", took)
	}
	m.aibox(0, "stop", id)
}

// hostileAgent kills whatever runs beside it, and replaces the programs of the image.
const hostileAgent = `
rm -f /bin/ls /usr/bin/ls
printf '#!/bin/cat /etc/hostname\n' > /tmp/fake; chmod 755 /tmp/fake
cp /bin/dash /tmp/dash
rm -f /etc/passwd; mkfifo /etc/passwd
mv /tmp/fake /bin/sh
export -n PATH; unset PATH
echo hostile
exec /tmp/dash -c 'while :; do for p in /proc/[0-9]*; do read -r name < $p/comm; if [ "$name" = victim ]; then kill -9 ${p#/proc/}; fi; done; done 2>/dev/null'
`

func TestAHostileAgentDisturbsOnlyItsOwnSandbox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", map[string]string{"hostile": hostileAgent}), "--", "bash", "hostile")
	eventually(t, hung, "the agent has replaced its programs", func() bool { return m.aibox(0, "logs", id).stdout == "hostile\n" })
	if got := m.aibox(0, "exec", id, "--", "echo", "still").stdout; got != "still\n" {
		t.Errorf("echo prints %q", got)
	}
	m.fails(127, `there is no "ls"`, "exec", id, "--", "ls")
	m.fails(125, "not a regular file", "exec", "-u", "nobody", id, "--", "true")
	m.aibox(0, "exec", id, "--", "cp", "/usr/bin/sleep", "/tmp/victim")
	m.aibox(137, "exec", id, "--", "/tmp/victim", "1000") // the agent kills it

	// Neither a process that prints endlessly without a reader nor one whose reader is stopped
	// blocks anything.
	m.aibox(0, "exec", "-d", id, "--", "yes")
	stuck := m.start("exec", id, "--", "yes", "stuck")
	eventually(t, hung, "it prints", func() bool { return len(stuck.stdout.String()) > 100 })
	_ = stuck.Process.Signal(syscall.SIGSTOP)
	if got := m.aibox(0, "exec", id, "--", "echo", "beside").stdout; got != "beside\n" {
		t.Errorf("beside a flood: %q", got)
	}
	begin := time.Now()
	m.aibox(0, "stop", id)
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("the stop took %v", took)
	}
	_ = stuck.Process.Signal(syscall.SIGCONT)
	_ = stuck.Process.Kill()
}

// 100 MB of output of a process arrive with the same hash although the client reconnects 50 times.
func TestReconnectingReaderLosesNothingOfAProcess(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sleep", "1000")
	const size = 100 << 20
	client := control.Dial(filepath.Join(m.sessions(), id), control.AnswerTimeout)
	info, err := client.StartProcess(t.Context(), process.Request{Keep: 4 << 20, Argv: []string{"python3", "-c", `
import hashlib, os, sys
h = hashlib.sha256()
for i in range(100):
    p = os.urandom(1 << 20); h.update(p); sys.stdout.buffer.write(p)
sys.stdout.buffer.flush()
sys.stderr.write(h.hexdigest())
`}})
	if err != nil || info.Exit != nil {
		t.Fatalf("%+v, %v", info, err)
	}
	hash, next, offset, want, connections := sha256.New(), uint64(1), int64(0), "", 0
	for ended := false; !ended; connections++ {
		reader, err := client.ConnectProcess(t.Context(), info.ID, next)
		if err != nil {
			t.Fatal(err)
		}
		for until := offset + size/50; offset < until && !ended; {
			frame, err := reader.Next()
			if err != nil || frame.Seq != next {
				t.Fatalf("frame %d in place of %d: %v", frame.Seq, next, err)
			}
			next++
			switch frame.Kind {
			case process.Stdout:
				if frame.Offset != offset {
					t.Fatalf("frame %d is at %d in place of %d", frame.Seq, frame.Offset, offset)
				}
				hash.Write(frame.Data)
				offset += int64(len(frame.Data))
			case process.Stderr:
				want += string(frame.Data)
			case process.Ended:
				exit, err := frame.Exit()
				if err != nil || exit != (process.Exit{}) {
					t.Errorf("%+v, %v", exit, err)
				}
				ended = true
			}
		}
		_ = reader.Close()
	}
	if got := fmt.Sprintf("%x", hash.Sum(nil)); got != want || offset != size || connections < 50 {
		t.Errorf("%d bytes over %d connections are %s, not %s", offset, connections, got, want)
	}
	m.aibox(0, "stop", id)
}

func TestCopiesStayInTheirPlaces(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "bash", "-c", `
mkdir -p /tmp/d/sub/.git/hooks; cd /tmp/d
echo data > file; echo '#!/bin/sh' > run; chmod 6755 run; ln -s file good; mkfifo pipe
ln -s /etc/passwd absolute; ln -s ../../../../precious up; ln -s sub/../../../precious through
echo evil > sub/.git/hooks/post-checkout; head -c 3000000 /dev/urandom > big; sha256sum big
ln -s /etc /tmp/etc
exec sleep 1000`)
	var sum string
	eventually(t, hung, "the files are there", func() bool {
		sum, _, _ = strings.Cut(m.aibox(0, "logs", id).stdout, " ")
		return len(sum) == 64
	})
	precious := filepath.Join(m.home, "precious")
	m.write(precious, "mine")
	out := filepath.Join(m.home, "out")
	o := m.aibox(4, "cp", id+":/tmp/d", out)
	for _, text := range []string{"4 items left out of the copy", "out/absolute -> /etc/passwd", "out/through", "d/sub/.git: git would run", `"d/pipe" is left out`} {
		if !strings.Contains(o.stderr, text) {
			t.Errorf("%q is not reported:\n%s", text, o)
		}
	}
	for _, name := range []string{"absolute", "up", "through", "pipe", "sub/.git"} {
		if _, err := os.Lstat(filepath.Join(out, name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
	if target, err := os.Readlink(filepath.Join(out, "good")); err != nil || target != "file" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if info, err := os.Stat(filepath.Join(out, "run")); err != nil || info.Mode()&^0o777 != 0 || info.Mode()&0o100 == 0 {
		t.Errorf("the program has mode %v, %v", info.Mode(), err)
	}
	if data, err := os.ReadFile(filepath.Join(out, "big")); err != nil || fmt.Sprintf("%x", sha256.Sum256(data)) != sum {
		t.Errorf("%d bytes were copied, %v", len(data), err)
	}
	m.fails(4, `"pipe" is left out`, "cp", id+":/tmp/d/pipe", out)
	m.fails(4, "null is left out", "cp", os.DevNull, id+":/tmp/null")
	// A file replaces a link of the destination, and does not follow it.
	if err := os.Symlink(precious, filepath.Join(m.home, "link")); err != nil {
		t.Fatal(err)
	}
	m.aibox(0, "cp", id+":/tmp/d/file", filepath.Join(m.home, "link"))
	if data, err := os.ReadFile(precious); err != nil || string(data) != "mine" {
		t.Errorf("the file outside is %q, %v", data, err)
	}
	// In the sandbox a symlink leads only to places inside it.
	if o := m.aibox(0, "cp", precious, id+":/tmp/etc/"); !strings.Contains(o.stderr, "copied "+precious+" to ") {
		t.Errorf("a copy into the sandbox reports\n%s", o)
	}
	if _, err := os.Stat("/etc/precious"); err == nil {
		t.Error("the copy followed a link of the sandbox on this machine")
	}
	if got := m.aibox(0, "exec", id, "--", "cat", "/etc/precious").stdout; got != "mine" {
		t.Errorf("the copied file is %q", got)
	}
	archive := m.aibox(0, "cp", id+":/tmp/d/file", "-").stdout
	cmd := m.cmd(aibox, "cp", "-", id+":/tmp/")
	cmd.Stdin = strings.NewReader(archive)
	if o := m.finish(cmd); o.code != 0 || m.aibox(0, "exec", id, "--", "cat", "/tmp/file").stdout != "data\n" {
		t.Errorf("the archive was not extracted:\n%s", o)
	}
	m.fails(1, "there is no file or folder /no/such", "cp", id+":/no/such", "x")
	m.fails(1, "there is no folder /no", "cp", precious, id+":/no/such")
	m.fails(2, "must be ID:PATH", "cp", "a", "b")
	m.aibox(0, "stop", id)
	if log := m.aibox(0, "audit", id, "--kind", "processes").stdout; strings.Count(log, "files.copied") != 9 {
		t.Errorf("the log is\n%s", log)
	}
}

func TestAShellInARunningSandboxHasATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sleep", "1000")
	s := m.onTerminal("shell", id)
	s.awaitShown(`workspace#`)
	s.awaitShown(`ctrl-p ctrl-q leaves it running`)
	s.resize(30, 90)
	s.awaitSize("29 90")
	s.typed(`printf '\033]0;title\007\033]52;c;ZXZpbA==\007shown\n'` + "\r")
	s.awaitShown(`(?m)^shown`)
	if out := s.stdout.String(); strings.Contains(out, "\x1b]") {
		t.Errorf("a control sequence of the sandbox reaches the terminal: %q", out)
	}
	s.typed("\x10\x11")
	s.ends(0)
	s.restored()
	s.awaitShown(`process 1 is still running`)
	again := m.onTerminal("exec", "--connect", "1", id)
	again.awaitShown(`(?m)^shown`)
	again.typed("exit 3\r")
	again.ends(3)
	again.restored()
	m.aibox(0, "stop", id)
}
