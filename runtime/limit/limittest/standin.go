// Package limittest holds a stand-in for a sandbox's processes on the host, and the suite
// that every limit.Enforcer passes. It is for tests.
package limittest

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/runtime"
	"aibox/runtime/limit"
)

// variable marks the process of a stand-in.
const variable = "AIBOX_TEST_LIMIT_STANDIN"

// Main runs the tests of a package, or a stand-in that they started.
func Main(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// Child runs a stand-in if this process is one, and exits. A TestMain that does more than Main
// calls it first.
func Child() {
	if os.Getenv(variable) != "" {
		os.Exit(standIn(os.Stdin, os.Stdout))
	}
}

// StandIn is a process that looks like a sandbox from outside and carries out commands.
type StandIn struct {
	limit.Sandbox
	t      testing.TB
	in     io.Writer
	out    *bufio.Reader
	exited chan struct{}
}

// Start starts a stand-in, which ends with the test.
func Start(t testing.TB) *StandIn {
	t.Helper()
	var raw [32]byte
	_, _ = rand.Read(raw[:])
	id := hex.EncodeToString(raw[:])
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self)
	cmd.Args = []string{"runsc-sandbox", id}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as runsc does
	cmd.Env = append(os.Environ(), variable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &StandIn{t: t, in: in, out: bufio.NewReader(out), exited: make(chan struct{})}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		<-s.exited
	})
	s.Do("hello") // it is ready
	process, err := runtime.FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	s.Sandbox = limit.Sandbox{ID: id, Session: "0a-test", Process: process}
	go func() { defer close(s.exited); _ = cmd.Wait() }()
	return s
}

// Do has the stand-in carry out a command, and waits until it has: "memory BYTES" uses so
// much more memory, "disk BYTES" so much more of the disk, "child" starts a child, "burn N"
// starts N threads that use a processor each, and "burners N" so many children with such a thread.
func (s *StandIn) Do(command string) {
	s.t.Helper()
	if !s.Try(command) {
		s.t.Fatalf("the stand-in has ended before %q", command)
	}
}

// Try is Do for a command that may end the stand-in; it returns false if that happens.
func (s *StandIn) Try(command string) bool {
	if _, err := fmt.Fprintln(s.in, command); err != nil {
		return false
	}
	line, err := s.out.ReadString('\n')
	return err == nil && strings.TrimSpace(line) == "done"
}

// Exited is closed when the stand-in has ended.
func (s *StandIn) Exited() <-chan struct{} { return s.exited }

// standIn carries out the commands of Do.
func standIn(in io.Reader, out io.Writer) int {
	fd, err := unix.MemfdCreate("runsc-memory", 0)
	if err != nil {
		return 1
	}
	memory := os.NewFile(uintptr(fd), "memory")
	root, err := os.CreateTemp("", ".gvisor.filestore.")
	if err != nil || os.Remove(root.Name()) != nil {
		return 1
	}
	var size int64
	var children []io.Closer
	for lines := bufio.NewScanner(in); lines.Scan(); {
		verb, text, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseInt(text, 10, 64)
		switch verb {
		case "memory":
			block := make([]byte, 1<<20)
			for end := size + n; size < end; size += int64(len(block)) {
				if _, err := memory.WriteAt(block, size); err != nil {
					return 1
				}
			}
		case "disk":
			if _, err := root.Write(make([]byte, n)); err != nil || root.Sync() != nil {
				return 1
			}
		case "child":
			child, err := startChild("hello")
			if err != nil {
				return 1
			}
			children = append(children, child)
		case "burners":
			for range n {
				child, err := startChild("burn 1")
				if err != nil {
					return 1
				}
				children = append(children, child)
			}
		case "burn":
			for range n {
				go func() {
					for i := 0; ; i++ { // it burns a processor
					}
				}()
			}
		}
		fmt.Fprintln(out, "done")
	}
	for _, child := range children {
		_ = child.Close()
	}
	return 0
}

// startChild starts another stand-in, and waits until it has carried out its first command.
func startChild(first string) (io.Closer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child := exec.CommandContext(context.Background(), self)
	in, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(in, first); err != nil {
		return nil, err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	return in, err
}
