package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/internal/draft"
)

// The server is killed while calls are in progress. What they are about outlives it whole, and
// nothing of them is left.

// killIn kills the server in a call, once begun is true, starts another one, and checks that the
// sandbox lives.
func (s *apiServer) killIn(what, sandbox string, call func(ctx context.Context), begun func() bool) {
	s.m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest())
	defer cancel()
	var ended sync.WaitGroup
	ended.Go(func() { call(ctx) })
	eventually(s.m.t, hung, what+" has begun", begun)
	_ = s.Process.Kill()
	s.ends(-1)
	cancel()
	ended.Wait()
	s.start()
	if out := s.sh(sandbox, "echo alive"); out != "alive\n" {
		s.m.t.Fatalf("after %s, the sandbox prints %q", what, out)
	}
}

// client is a client of HTTP/2 that sends the token.
func (s *apiServer) client() *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: authorized{&http.Transport{Protocols: &protocols}, s.token}}
}

func (s *apiServer) processes() aiboxv1connect.ProcessesClient {
	return aiboxv1connect.NewProcessesClient(s.client(), s.url, connect.WithGRPC())
}

// sh runs a script in a sandbox and returns what it prints.
func (s *apiServer) sh(sandbox, script string) string {
	s.m.t.Helper()
	out, err := s.processes().Exec(s.m.t.Context(), connect.NewRequest(&aiboxv1.ExecRequest{SandboxId: sandbox, Argv: []string{"sh", "-c", script}}))
	if err != nil {
		s.m.t.Fatalf("%q: %v", script, err)
	}
	return string(out.Msg.GetStdout())
}

// running returns the process of a sandbox that has started and not ended, and whose command line
// has a text; nil if there is none.
func (s *apiServer) running(sandbox, text string) *aiboxv1.Process {
	s.m.t.Helper()
	all, err := s.processes().List(s.m.t.Context(), connect.NewRequest(&aiboxv1.ListProcessesRequest{SandboxId: sandbox}))
	if err != nil {
		s.m.t.Fatal(err)
	}
	for _, p := range all.Msg.GetProcesses() {
		if p.GetPid() > 0 && p.GetExit() == nil && strings.Contains(strings.Join(p.GetArgv(), " "), text) {
			return p
		}
	}
	return nil
}

// stillRuns is running for a process that must have outlived a server.
func (s *apiServer) stillRuns(sandbox, text string) *aiboxv1.Process {
	s.m.t.Helper()
	found := s.running(sandbox, text)
	if found == nil {
		all, err := s.processes().List(s.m.t.Context(), connect.NewRequest(&aiboxv1.ListProcessesRequest{SandboxId: sandbox}))
		s.m.t.Fatalf("%q has ended with its server: %v, %v", text, all, err)
	}
	return found
}

// ended waits until processes have ended that nothing reads any more.
func (s *apiServer) ended(sandbox string, pids ...int32) {
	s.m.t.Helper()
	script := ""
	for _, pid := range pids {
		script += fmt.Sprintf("while kill -0 %d 2>/dev/null; do sleep 0.2; done; ", pid)
	}
	out, err := s.processes().Exec(s.m.t.Context(), connect.NewRequest(&aiboxv1.ExecRequest{SandboxId: sandbox, Argv: []string{"sh", "-c", script}, Timeout: durationpb.New(2 * time.Minute)}))
	if err != nil || out.Msg.GetTimedOut() {
		s.m.t.Errorf("the processes %v have not ended: %v, %v", pids, out, err)
	}
}

// follower reads the output of one process over several connections.
type follower struct {
	t *testing.T

	mu   sync.Mutex
	next int64 // number of the next event
	text strings.Builder
	exit *aiboxv1.ProcessExit
}

func (f *follower) take(e *aiboxv1.ProcessEvent) {
	if e.GetSeq() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.GetSeq() != f.next {
		f.t.Errorf("event %d is number %d", f.next, e.GetSeq())
	}
	f.next = e.GetSeq() + 1
	f.text.Write(e.GetStdout().GetData())
	f.exit = e.GetExit()
}

// at returns the number of the next event.
func (f *follower) at() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

// all takes all events of a stream.
func (f *follower) all(stream *connect.ServerStreamForClient[aiboxv1.ProcessEvent], err error) {
	for err == nil && stream.Receive() {
		f.take(stream.Msg())
	}
}

// A reader continues at the next server with the event after the last one that it has.
func TestTheOutputOfAProcessIsWholeAcrossServersThatAreKilled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	id := s.create(`{"timeout":"900s"}`)
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", id) })
	f := &follower{t: t, next: 1}
	number := int32(1)
	overSocket := func(ctx context.Context) {
		url := fmt.Sprintf("%s/v1/sandboxes/%s/processes/%d/ws?from_seq=%d", strings.Replace(s.url, "http", "ws", 1), id, number, f.at())
		conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.token}}})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow() //nolint:errcheck // the server is dead
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			event := &aiboxv1.ProcessEvent{}
			if err := protojson.Unmarshal(data, event); err != nil {
				t.Error(err)
			}
			f.take(event)
		}
	}
	again := func(ctx context.Context, client aiboxv1connect.ProcessesClient) {
		f.all(client.Connect(ctx, connect.NewRequest(&aiboxv1.ConnectProcessRequest{SandboxId: id, ProcessId: number, FromSeq: f.at()})))
	}
	for _, call := range []struct {
		name string
		do   func(ctx context.Context)
	}{
		{"Start", func(ctx context.Context) {
			f.all(s.processes().Start(ctx, connect.NewRequest(&aiboxv1.StartProcessRequest{
				SandboxId: id, Argv: []string{"sh", "-c", "i=0; until test -e /tmp/enough; do i=$((i+1)); echo $i; sleep 0.01; done"},
			})))
		}},
		{"gRPC", func(ctx context.Context) { again(ctx, s.processes()) }},
		{"Connect", func(ctx context.Context) {
			again(ctx, aiboxv1connect.NewProcessesClient(&http.Client{Transport: authorized{http.DefaultTransport, s.token}}, s.url, connect.WithProtoJSON()))
		}},
		{"a WebSocket", overSocket},
	} {
		from := f.at()
		s.killIn(call.name, id, call.do, func() bool { return f.at() >= from+20 })
	}
	s.sh(id, "touch /tmp/enough")
	again(t.Context(), s.processes())
	if f.exit == nil || f.exit.GetCode() != 0 {
		t.Errorf("the process has ended with %v", f.exit)
	}
	lines := strings.Fields(f.text.String())
	for i, line := range lines {
		if line != fmt.Sprint(i+1) {
			t.Fatalf("line %d is %q", i+1, line)
		}
	}
	if len(lines) < 80 {
		t.Errorf("only %d lines arrived", len(lines))
	}
}

// unfinished is an archive with a whole file, and the beginning of another one.
func unfinished(t *testing.T) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: "whole", Mode: 0o644, Size: 5})
	if err == nil {
		_, err = w.Write([]byte("whole"))
	}
	if err == nil {
		err = w.WriteHeader(&tar.Header{Name: "part", Mode: 0o644, Size: 1 << 30})
	}
	if err == nil {
		_, err = w.Write(make([]byte, 1<<20))
	}
	if err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func TestAServerThatIsKilledInACallLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	s.token = s.holding("local")
	id := s.create(`{"timeout":"3600s","network":{"allow":{"hosts":["a.example"]}}}`)
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", id) })
	files := func() aiboxv1connect.FilesClient {
		return aiboxv1connect.NewFilesClient(s.client(), s.url, connect.WithGRPC())
	}
	piece := func(data []byte) *httpbody.HttpBody { return &httpbody.HttpBody{Data: data} }

	// Commands and code end some time after nothing reads them any more.
	var pids []int32
	s.killIn("Exec", id, func(ctx context.Context) {
		_, _ = s.processes().Exec(ctx, connect.NewRequest(&aiboxv1.ExecRequest{SandboxId: id, Argv: []string{"sh", "-c", "echo begun; exec sleep 1111"}}))
	}, func() bool { return s.running(id, "sleep 1111").GetOutputBytes() > 0 })
	sleeping := s.stillRuns(id, "sleep 1111")
	pids = append(pids, sleeping.GetPid())
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := s.processes().Connect(ctx, connect.NewRequest(&aiboxv1.ConnectProcessRequest{SandboxId: id, ProcessId: sleeping.GetProcessId(), FromSeq: 1}))
	if err != nil || !stream.Receive() || !stream.Receive() || string(stream.Msg().GetStdout().GetData()) != "begun\n" {
		t.Errorf("the output of the command is lost: %v, %v", stream.Msg(), err)
	}
	cancel()
	s.killIn("RunCode", id, func(ctx context.Context) {
		_, _ = s.processes().RunCode(ctx, connect.NewRequest(&aiboxv1.RunCodeRequest{SandboxId: id, Language: "python", Code: "open('/tmp/code', 'w').close()\nimport time\ntime.sleep(2222)"}))
	}, func() bool { return s.sh(id, "test -e /tmp/code && echo begun") != "" })
	pids = append(pids, s.stillRuns(id, "aibox-code python run").GetPid())

	// A context keeps its variables, and ends what it does.
	made, err := s.processes().CreateContext(t.Context(), connect.NewRequest(&aiboxv1.CreateContextRequest{SandboxId: id, Language: "python"}))
	if err != nil {
		t.Fatal(err)
	}
	inContext := func(ctx context.Context, code string) (*aiboxv1.RunCodeResponse, error) {
		ran, err := s.processes().RunCode(ctx, connect.NewRequest(&aiboxv1.RunCodeRequest{SandboxId: id, ContextId: made.Msg.GetContextId(), Code: code}))
		if err != nil {
			return nil, err
		}
		return ran.Msg, nil
	}
	s.killIn("RunCode in a context", id, func(ctx context.Context) {
		_, _ = inContext(ctx, "import os, time\nx = 40\nopen('/tmp/context', 'w').close()\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\nprint('early')")
	}, func() bool { return s.sh(id, "test -e /tmp/context && echo begun") != "" })
	s.sh(id, "touch /tmp/go")
	if ran, err := inContext(t.Context(), "print(x + 2)"); err != nil || string(ran.GetStdout()) != "42\n" || ran.GetStatus() != aiboxv1.CodeStatus_CODE_STATUS_COMPLETED {
		t.Errorf("the context continues with %v, %v", ran, err)
	}

	// Files are as before, or whole.
	s.sh(id, "mkdir -p ~/w ~/u; echo old >~/w/file")
	write := func(ctx context.Context, path, content string, whole bool) error {
		out := files().Write(ctx)
		err := out.Send(&aiboxv1.WriteFileRequest{SandboxId: id, Path: path, Content: piece([]byte(content))})
		if !whole {
			<-ctx.Done()
		}
		if err == nil {
			_, err = out.CloseAndReceive()
		}
		return err
	}
	s.killIn("Files.Write", id, func(ctx context.Context) { _ = write(ctx, "w/file", strings.Repeat("new", 1<<18), false) },
		func() bool { return strings.Count(s.sh(id, "ls -A ~/w"), "\n") == 2 })
	eventually(t, hung, "the part of the file is gone", func() bool { return s.sh(id, "ls -A ~/w; cat ~/w/file") == "file\nold\n" })
	if err := write(t.Context(), "w/file", "newer\n", true); err != nil || s.sh(id, "cat ~/w/file") != "newer\n" {
		t.Errorf("the next write: %v", err)
	}
	s.killIn("Files.Upload", id, func(ctx context.Context) {
		out := files().Upload(ctx)
		_ = out.Send(&aiboxv1.UploadFilesRequest{SandboxId: id, Path: "/home/user/u", Archive: piece(unfinished(t))})
		<-ctx.Done()
	}, func() bool { return strings.Count(s.sh(id, "ls -A ~/u"), "\n") == 2 })
	trees := func() []string {
		all, err := filepath.Glob(filepath.Join(m.home, ".local/share/aibox/trees/*/*"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	s.killIn("UploadTree", id, func(ctx context.Context) {
		out := aiboxv1connect.NewSessionsClient(s.client(), s.url, connect.WithGRPC()).UploadTree(ctx)
		_ = out.Send(&aiboxv1.UploadTreeRequest{Archive: piece(unfinished(t))})
		<-ctx.Done()
	}, func() bool { // locked: one without a lock stays for a minute
		all := trees()
		if len(all) == 0 {
			return false
		}
		_, err := os.Stat(filepath.Join(all[0], draft.LockFile))
		return err == nil
	})
	eventually(t, hung, "the part of the tree is gone", func() bool { return len(trees()) == 0 })

	s.changesAreWhole(id)

	s.ended(id, pids...)
	if got := s.sh(id, `for i in $(seq 600); do test "$(ls -A ~/u)" = whole && break; sleep 0.1; done; ls -A ~/u; cat ~/u/whole`); got != "whole\nwhole" {
		t.Errorf("of the archive %q is left", got)
	}
	if got := s.must("the log", s.url+"/v1/audit/"+id+":verify"); !strings.Contains(got, `"valid":true`) {
		t.Errorf("the log: %s", got)
	}
	if n := len(m.stored()); n != 1 {
		t.Errorf("there are %d records", n)
	}
}

// changesAreWhole kills the server in changes of a sandbox, which come one after the other.
func (s *apiServer) changesAreWhole(id string) {
	t := s.m.t
	t.Helper()
	// repeat calls until the server is killed, and returns how many calls succeeded.
	repeat := func(what string, call func(ctx context.Context, n int) error) int {
		t.Helper()
		var done atomic.Int64
		s.killIn(what, id, func(ctx context.Context) {
			for call(ctx, int(done.Load())) == nil {
				done.Add(1)
			}
		}, func() bool { return done.Load() >= 20 })
		return int(done.Load())
	}
	sandboxes := func() aiboxv1connect.SandboxesClient {
		return aiboxv1connect.NewSandboxesClient(s.client(), s.url, connect.WithGRPC())
	}
	now := func() *aiboxv1.Sandbox {
		t.Helper()
		found, err := sandboxes().Get(t.Context(), connect.NewRequest(&aiboxv1.GetSandboxRequest{SandboxId: id}))
		if err != nil {
			t.Fatal(err)
		}
		return found.Msg
	}
	lists := [2][]string{{"a.example", "b.example"}, {"c.example"}}
	client := aiboxv1connect.NewNetworkClient(s.client(), s.url, connect.WithGRPC())
	repeat("Network.Set", func(ctx context.Context, n int) error {
		_, err := client.Set(ctx, connect.NewRequest(&aiboxv1.SetNetworkRequest{SandboxId: id, Policy: &aiboxv1.NetworkPolicy{Allow: &aiboxv1.HostList{Hosts: lists[n%2]}}}))
		return err
	})
	hosts := now().GetNetwork().GetAllow().GetHosts()
	if !slices.Equal(hosts, lists[0]) && !slices.Equal(hosts, lists[1]) {
		t.Errorf("the allow list is %q", hosts)
	}
	own := sandboxes()
	repeat("Sandboxes.Update", func(ctx context.Context, n int) error {
		value := fmt.Sprint(n)
		_, err := own.Update(ctx, connect.NewRequest(&aiboxv1.UpdateSandboxRequest{SandboxId: id, Name: &value, Metadata: &aiboxv1.Metadata{Entries: map[string]string{"a": value, "b": value}}}))
		return err
	})
	if got := now(); got.GetName() != got.GetMetadata()["a"] || got.GetName() != got.GetMetadata()["b"] {
		t.Errorf("the name is %q, and the metadata %q", got.GetName(), got.GetMetadata())
	}
	own = sandboxes()
	before := now().GetExpireTime().AsTime()
	done := repeat("Sandboxes.Extend", func(ctx context.Context, _ int) error {
		_, err := own.Extend(ctx, connect.NewRequest(&aiboxv1.ExtendSandboxRequest{SandboxId: id, By: durationpb.New(time.Minute)}))
		return err
	})
	if by := now().GetExpireTime().AsTime().Sub(before).Round(time.Second); by != time.Duration(done)*time.Minute && by != time.Duration(done+1)*time.Minute {
		t.Errorf("after %d minutes in calls, the sandbox ends %v later", done, by)
	}
}
