package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"aibox/api/e2b/processpb"
)

// insideOf sends what calls inside a sandbox need.
type insideOf struct {
	http.RoundTripper

	sandbox e2bSandbox
}

func (i insideOf) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("E2b-Sandbox-Id", i.sandbox.SandboxID)
	r.Header.Set("X-Access-Token", i.sandbox.Token)
	return i.RoundTripper.RoundTrip(r)
}

// inside returns a client of calls inside the sandbox.
func (e e2bSandbox) inside() *http.Client {
	return &http.Client{Transport: insideOf{http.DefaultTransport, e}}
}

func (e e2bSandbox) processes(s *apiServer) processpb.ProcessClient {
	return processpb.NewProcessClient(e.inside(), s.url+"/e2b")
}

func byPID(pid uint32) *processpb.ProcessSelector {
	return &processpb.ProcessSelector{Selector: &processpb.ProcessSelector_Pid{Pid: pid}}
}

// bash is a request for a script.
func bash(script string) *connect.Request[processpb.StartRequest] {
	return connect.NewRequest(&processpb.StartRequest{Process: &processpb.ProcessConfig{Cmd: "/bin/bash", Args: []string{"-c", script}}})
}

// processOutlives checks that a process of E2B outlives its server, and that a program connects
// to it again with the token that it has.
func (e e2bSandbox) processOutlives(s *apiServer) {
	t := s.m.t
	t.Helper()
	var pid atomic.Uint32
	s.killIn("a process of E2B", e.SandboxID, func(ctx context.Context) {
		stream, err := e.processes(s).Start(ctx, bash("while read -r line; do echo got $line; done"))
		for err == nil && stream.Receive() {
			if start := stream.Msg().GetEvent().GetStart(); start != nil {
				pid.Store(start.GetPid())
			}
		}
	}, func() bool { return pid.Load() > 0 })
	stream, err := e.processes(s).Connect(t.Context(), connect.NewRequest(&processpb.ConnectRequest{Process: byPID(pid.Load())}))
	if err != nil || !stream.Receive() {
		t.Fatalf("the process cannot be connected to: %v %v", err, stream.Err())
	}
	_, err = e.processes(s).SendInput(t.Context(), connect.NewRequest(&processpb.SendInputRequest{
		Process: byPID(pid.Load()), Input: &processpb.ProcessInput{Input: &processpb.ProcessInput_Stdin{Stdin: []byte("it\n")}},
	}))
	if err != nil || !stream.Receive() || string(stream.Msg().GetEvent().GetData().GetStdout()) != "got it\n" {
		t.Errorf("the process answers %v: %v", stream.Msg(), err)
	}
	if _, err := e.processes(s).SendSignal(t.Context(), connect.NewRequest(&processpb.SendSignalRequest{Process: byPID(pid.Load()), Signal: processpb.Signal_SIGNAL_SIGKILL})); err != nil {
		t.Error(err)
	}
}

// A program connects again and again to a process, to a terminal and to a file, as the package
// e2b can, and gets each byte once. With -reconnects 50 -reconnects.megabytes 100 it is the long
// version.
func TestStreamsOfE2BAreCutAndContinueWithoutALoss(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	own := s.e2b(`{"timeout":3600}`)
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", own.SandboxID) })
	// check compares what arrived with the numbers.
	check := func(what string, size int, arrived func(command string, size int) (hash.Hash, int, int)) {
		t.Helper()
		size = size / *reconnects * *reconnects
		command := fmt.Sprintf("seq 1 100000000 | head -c %d", size)
		want, err := exec.Command("sh", "-c", command+" | sha256sum").Output()
		if err != nil {
			t.Fatal(err)
		}
		got, bytes, cuts := arrived(command, size)
		t.Logf("%s: %d bytes, %d cuts", what, bytes, cuts)
		if sum := hex.EncodeToString(got.Sum(nil)); bytes != size || !strings.HasPrefix(string(want), sum) || cuts < *reconnects {
			t.Errorf("%s: %d bytes with the SHA-256 %s over %d connections, not %d with %s", what, bytes, sum, cuts, size, want)
		}
	}
	size := *reconnectMegabytes << 20
	check("a file", size, func(command string, size int) (hash.Hash, int, int) { return own.download(s, command, size) })
	check("a process", size, func(command string, size int) (hash.Hash, int, int) { return own.follow(s, command, size, nil) })
	// Terminals of gVisor are slow.
	check("a terminal", size/20, func(command string, size int) (hash.Hash, int, int) {
		return own.follow(s, command, size, &processpb.PTY{Size: &processpb.PTY_Size{Rows: 24, Cols: 80}})
	})
}

// download loads the output of a command as a file. Each request continues where the one before
// was cut.
func (e e2bSandbox) download(s *apiServer, command string, size int) (sum hash.Hash, bytes, cuts int) {
	t := s.m.t
	t.Helper()
	s.sh(e.SandboxID, command+" >/tmp/numbers")
	for sum = sha256.New(); bytes < size; cuts++ {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/e2b/files?path=/tmp/numbers", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", bytes))
		answer, err := e.inside().Do(r)
		if err != nil || answer.StatusCode != http.StatusPartialContent || answer.ContentLength != int64(size-bytes) {
			t.Fatalf("from %d on: %v, %v", bytes, answer, err)
		}
		n, err := io.CopyN(sum, answer.Body, int64(size / *reconnects))
		if err != nil {
			t.Fatal(err)
		}
		bytes += int(n)
		_ = answer.Body.Close()
	}
	return sum, bytes, cuts
}

// follow reads the output of a command that prints a part of it for each line of its input. The
// connection is cut after each part, since the protocol repeats nothing.
func (e e2bSandbox) follow(s *apiServer, command string, size int, pty *processpb.PTY) (sum hash.Hash, bytes, cuts int) {
	t := s.m.t
	t.Helper()
	part := size / *reconnects
	script := fmt.Sprintf("%s >/tmp/numbers; n=0; while read -r line; do tail -c +$((n*%d+1)) /tmp/numbers | head -c %d; n=$((n+1)); done", command, part, part)
	if pty != nil {
		script = "stty raw -echo; " + script
	}
	start := bash(script)
	start.Msg.Pty = pty
	started, err := e.processes(s).Start(t.Context(), start)
	if err != nil || !started.Receive() {
		t.Fatalf("the process does not start: %v", err)
	}
	pid := started.Msg().GetEvent().GetStart().GetPid()
	if pty != nil {
		s.sh(e.SandboxID, fmt.Sprintf("until test -s /tmp/numbers && test $(stat -c %%s /tmp/numbers) = %d; do sleep 0.1; done", size))
	}
	_ = started.Close()
	for sum = sha256.New(); bytes < size; cuts++ {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := e.processes(s).Connect(ctx, connect.NewRequest(&processpb.ConnectRequest{Process: byPID(pid)}))
		if err != nil || !stream.Receive() || stream.Msg().GetEvent().GetStart() == nil {
			t.Fatalf("after %d bytes: %v %v", bytes, stream.Msg(), err)
		}
		input := &processpb.ProcessInput{Input: &processpb.ProcessInput_Stdin{Stdin: []byte("\n")}}
		if pty != nil {
			input = &processpb.ProcessInput{Input: &processpb.ProcessInput_Pty{Pty: []byte("\n")}}
		}
		if _, err := e.processes(s).SendInput(ctx, connect.NewRequest(&processpb.SendInputRequest{Process: byPID(pid), Input: input})); err != nil {
			t.Fatal(err)
		}
		for end := bytes + part; bytes < end; {
			if !stream.Receive() {
				t.Fatalf("after %d bytes: %v", bytes, stream.Err())
			}
			data := stream.Msg().GetEvent().GetData()
			for _, output := range [][]byte{data.GetStdout(), data.GetPty()} {
				_, _ = sum.Write(output)
				bytes += len(output)
			}
		}
		cancel()
		_ = stream.Close()
	}
	if _, err := e.processes(s).SendSignal(t.Context(), connect.NewRequest(&processpb.SendSignalRequest{Process: byPID(pid), Signal: processpb.Signal_SIGNAL_SIGKILL})); err != nil {
		t.Error(err)
	}
	return sum, bytes, cuts
}
