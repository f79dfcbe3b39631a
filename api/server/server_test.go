package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protojson"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/internal/fault"
	"aibox/session/process"
)

var waiting = process.Request{Argv: []string{"wait"}}

// tokenOf sends a token with each call.
func tokenOf(token string) connect.ClientOption {
	return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+token)
			return next(ctx, r)
		}
	}))
}

// h2c is a client of HTTP/2 without TLS.
func h2c() *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: &protocols}}
}

func TestEveryProtocolGivesTheSameAnswerAndTheSameError(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), s.token("a")
	for name, client := range map[string]aiboxv1connect.SandboxesClient{
		"Connect":      aiboxv1connect.NewSandboxesClient(http.DefaultClient, s.url, tokenOf(token)),
		"Connect JSON": aiboxv1connect.NewSandboxesClient(http.DefaultClient, s.url, tokenOf(token), connect.WithProtoJSON()),
		"gRPC":         aiboxv1connect.NewSandboxesClient(h2c(), s.url, tokenOf(token), connect.WithGRPC()),
		"gRPC-Web":     aiboxv1connect.NewSandboxesClient(http.DefaultClient, s.url, tokenOf(token), connect.WithGRPCWeb()),
	} {
		found, err := client.Get(t.Context(), connect.NewRequest(&aiboxv1.GetSandboxRequest{SandboxId: id}))
		if err != nil || found.Msg.GetSandboxId() != id || found.Msg.GetState() != aiboxv1.SandboxState_SANDBOX_STATE_RUNNING {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		_, err = client.Get(t.Context(), connect.NewRequest(&aiboxv1.GetSandboxRequest{SandboxId: "none"}))
		checkError(t, name, err)
	}
	bad := aiboxv1connect.NewSandboxesClient(h2c(), s.url, connect.WithGRPC())
	if _, err := bad.Get(t.Context(), connect.NewRequest(&aiboxv1.GetSandboxRequest{SandboxId: id})); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("gRPC without a token: %v", err)
	}
	got := s.request("GET", "/v1/sandboxes/"+id, "", bearer(token))
	if got.status != 200 || !strings.Contains(got.body, `"SANDBOX_STATE_RUNNING"`) {
		t.Errorf("REST: %d %s", got.status, got.body)
	}
	got = s.request("GET", "/v1/sandboxes/none", "", bearer(token))
	var shown struct {
		Error struct {
			Kind, Message, ID string
			Hints             []string
		}
	}
	if err := json.Unmarshal([]byte(got.body), &shown); err != nil || got.status != 404 || shown.Error.Kind != "not_found" || shown.Error.Message != `there is no sandbox "none"` || shown.Error.ID != got.header.Get(requestHeader) {
		t.Errorf("REST: %d %s %v", got.status, got.body, err)
	}
}

func checkError(t *testing.T, name string, err error) {
	t.Helper()
	var failed *connect.Error
	if !errors.As(err, &failed) || failed.Code() != connect.CodeNotFound || len(failed.Details()) != 1 {
		t.Errorf("%s: %v", name, err)
		return
	}
	value, err := failed.Details()[0].Value()
	if e, ok := value.(*aiboxv1.Error); err != nil || !ok || e.GetKind() != "not_found" || e.GetMessage() != `there is no sandbox "none"` || e.GetId() == "" {
		t.Errorf("%s: %v, %v", name, value, err)
	}
}

func TestReflectionNamesTheServices(t *testing.T) {
	s := newSite(t, nil)
	client := grpcreflect.NewClient(h2c(), s.url, connect.WithGRPC())
	stream := client.NewStream(t.Context(), grpcreflect.WithRequestHeaders(http.Header{"Authorization": {"Bearer " + s.token("a")}}))
	defer stream.Close()
	names, err := stream.ListServices()
	if err != nil || len(names) != 10 {
		t.Errorf("%v, %v", names, err)
	}
}

// readAll reads a process to its end, with a new call after every cut bytes.
func readAll(t *testing.T, client aiboxv1connect.ProcessesClient, token, id string, number int32, cut int) (digest string, calls int) {
	t.Helper()
	sum, next := sha256.New(), int64(1)
	for {
		calls++
		request := connect.NewRequest(&aiboxv1.ConnectProcessRequest{SandboxId: id, ProcessId: number, FromSeq: next})
		request.Header().Set("Authorization", "Bearer "+token)
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := client.Connect(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for read < cut && stream.Receive() {
			event := stream.Msg()
			if event.GetSeq() == 0 {
				continue
			}
			if event.GetSeq() != next {
				t.Fatalf("event %d in place of %d", event.GetSeq(), next)
			}
			next++
			sum.Write(event.GetStdout().GetData())
			read += len(event.GetStdout().GetData())
			if event.GetExit() != nil {
				cancel()
				return hex.EncodeToString(sum.Sum(nil)), calls
			}
		}
		if read < cut {
			t.Fatalf("the stream ended: %v", stream.Err())
		}
		cancel()
		_ = stream.Close()
	}
}

func TestAStreamThatIsCutAndReadAgainLosesNothing(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), s.token("a")
	const size = 20 << 20
	info, err := s.m.StartProcess(t.Context(), "00001-sandbox", process.Request{Argv: []string{"flood", fmt.Sprint(size)}, Keep: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]aiboxv1connect.ProcessesClient{
		"Connect": aiboxv1connect.NewProcessesClient(http.DefaultClient, s.url),
		"gRPC":    aiboxv1connect.NewProcessesClient(h2c(), s.url, connect.WithGRPC()),
	} {
		whole, _ := readAll(t, client, token, id, int32(info.ID), size*2)
		cut, calls := readAll(t, client, token, id, int32(info.ID), size/50)
		if whole != cut || calls < 40 {
			t.Errorf("%s: %s and %s after %d calls", name, whole, cut, calls)
		}
	}
}

// If the record is full, the caller's choice applies: the process waits, or events are
// dropped and every reader gets an event that reports it.
func TestTheCallerChoosesTheReactionToAFullRecord(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), s.token("a")
	const size = 4 << 20
	for name, c := range map[string]struct {
		options string
		drops   bool
	}{
		"the default":                 {``, false},
		"hold":                        {`,"overflow":"OVERFLOW_HOLD"`, false},
		"drop":                        {`,"overflow":"OVERFLOW_DROP"`, true},
		"the default of a terminal":   {`,"tty":{"rows":24,"cols":80}`, true},
		"a terminal whose user waits": {`,"tty":{"rows":24,"cols":80},"overflow":"OVERFLOW_HOLD"`, false},
	} {
		body := fmt.Sprintf(`{"argv":["flood","%d"],"keep_bytes":"1048576"%s}`, size, c.options)
		got := s.request("POST", "/v1/sandboxes/"+id+"/processes", body, bearer(token))
		started := &aiboxv1.Process{}
		if err := protojson.Unmarshal([]byte(got.body), started); err != nil || got.status != 200 {
			t.Fatalf("%s: %d %s %v", name, got.status, got.body, err)
		}
		if c.drops {
			s.m.awaitEnd(t, started.GetProcessId())
		}
		request := connect.NewRequest(&aiboxv1.ConnectProcessRequest{SandboxId: id, ProcessId: started.GetProcessId()})
		request.Header().Set("Authorization", "Bearer "+token)
		stream, err := aiboxv1connect.NewProcessesClient(http.DefaultClient, s.url).Connect(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		next, dropped, bytes, ended := int64(1), int64(0), 0, false
		for stream.Receive() {
			event := stream.Msg()
			if lost := event.GetLost(); lost != nil {
				dropped += lost.GetNextSeq() - next
				next = lost.GetNextSeq()
				continue
			}
			if event.GetSeq() == 0 {
				continue
			}
			if event.GetSeq() != next {
				t.Fatalf("%s: event %d in place of %d", name, event.GetSeq(), next)
			}
			next++
			bytes += len(event.GetStdout().GetData())
			ended = event.GetExit() != nil
		}
		if !ended || c.drops != (dropped > 0) || c.drops != (bytes < size) {
			t.Errorf("%s: %d of %d bytes, %d events are reported as dropped, and the end: %v (%v)", name, bytes, size, dropped, ended, stream.Err())
		}
	}
	if got := s.request("POST", "/v1/sandboxes/"+id+"/processes", `{"argv":["echo"],"overflow":77}`, bearer(token)); got.status != 400 {
		t.Errorf("an unknown choice: %d %s", got.status, got.body)
	}
}

func TestExecReturnsOutputUpToItsBound(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), bearer(s.token("a"))
	exec := func(body string) (status int, out *aiboxv1.ExecResponse) {
		t.Helper()
		got := s.request("POST", "/v1/sandboxes/"+id+":exec", body, token)
		out = &aiboxv1.ExecResponse{}
		if got.status == 200 {
			if err := protojson.Unmarshal([]byte(got.body), out); err != nil {
				t.Fatal(err)
			}
		}
		return got.status, out
	}
	if _, out := exec(`{"argv":["echo","a","b"]}`); string(out.GetStdout()) != "a b\n" || out.GetExit().GetCode() != 0 || out.GetExit() == nil {
		t.Error(out)
	}
	if _, out := exec(`{"argv":["cat"],"stdin":"aGk="}`); string(out.GetStdout()) != "hi" {
		t.Error(out)
	}
	if _, out := exec(`{"argv":["flood","100000"],"max_output_bytes":1000}`); len(out.GetStdout()) != 1000 || out.GetStdoutDroppedBytes() != 99_000 {
		t.Error(len(out.GetStdout()), out.GetStdoutDroppedBytes())
	}
	if _, out := exec(`{"argv":["nothing"]}`); out.GetExit().GetCode() != 127 {
		t.Error(out)
	}
	for _, bad := range []string{`{}`, `{"argv":["echo"],"max_output_bytes":99999999999}`, `{"argv":["echo"],"timeout":"-1s"}`} {
		if status, _ := exec(bad); status != 400 {
			t.Errorf("%s: %d", bad, status)
		}
	}
}

func TestAWebSocketCarriesEventsAndCommands(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), s.token("a")
	info, err := s.m.StartProcess(t.Context(), "00001-sandbox", process.Request{Argv: []string{"cat"}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	dial := func(query string) *websocket.Conn {
		t.Helper()
		return s.dialProcess(id, info.ID, token, query)
	}
	next := func(conn *websocket.Conn) *aiboxv1.ProcessEvent {
		t.Helper()
		_, data, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		event := &aiboxv1.ProcessEvent{}
		if err := protojson.Unmarshal(data, event); err != nil {
			t.Fatal(err)
		}
		return event
	}
	send := func(conn *websocket.Conn, text string) {
		t.Helper()
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	conn := dial("")
	if next(conn).GetStarted().GetProcessId() != int32(info.ID) {
		t.Error("the first event is not the start")
	}
	send(conn, `{"input":"`+base64.StdEncoding.EncodeToString([]byte("hello"))+`"}`)
	if e := next(conn); string(e.GetStdout().GetData()) != "hello" || e.GetSeq() != 1 {
		t.Error(e)
	}
	_ = conn.CloseNow()
	again := dial("?from_seq=1")
	next(again)
	if e := next(again); string(e.GetStdout().GetData()) != "hello" {
		t.Error(e)
	}
	send(again, `{"close_input":true}`)
	if e := next(again); e.GetExit() == nil {
		t.Error(e)
	}
	if _, _, err := again.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Error(err)
	}
	bad := dial("")
	next(bad)
	send(bad, `{"bogus":1}`)
	for {
		_, _, err := bad.Read(t.Context())
		if err != nil {
			if status := websocket.CloseStatus(err); status != websocket.StatusPolicyViolation && status != websocket.StatusNormalClosure {
				t.Error(err)
			}
			break
		}
	}
}

func TestAKeyMakesOneSandboxHoweverOftenItIsUsed(t *testing.T) {
	s := newSite(t, nil)
	token := bearer(s.token("a"))
	first := s.request("POST", "/v1/sandboxes", `{"idempotency_key":"k","name":"x"}`, token)
	second := s.request("POST", "/v1/sandboxes", `{"name":"x","idempotency_key":"k"}`, token)
	if first.status != 200 || first.body != second.body || s.m.creates != 1 {
		t.Errorf("%s\n%s", first.body, second.body)
	}
	if got := s.request("POST", "/v1/sandboxes", `{"idempotency_key":"k","name":"y"}`, token); got.status != 409 {
		t.Errorf("another request: %d %s", got.status, got.body)
	}
	s.m.fail = fault.New(fault.Limit, "full")
	if got := s.request("POST", "/v1/sandboxes", `{"idempotency_key":"k2"}`, token); got.status != 429 {
		t.Errorf("a failure: %d %s", got.status, got.body)
	}
	s.m.fail = nil
	if got := s.request("POST", "/v1/sandboxes", `{"idempotency_key":"k2"}`, token); got.status != 200 {
		t.Errorf("after a failure: %d %s", got.status, got.body)
	}
	s.m.panics = true
	if got := s.request("POST", "/v1/sandboxes", `{"idempotency_key":"k3"}`, token); got.status != 500 {
		t.Errorf("a panic: %d %s", got.status, got.body)
	}
	s.m.panics = false
	if got := s.request("POST", "/v1/sandboxes", `{"idempotency_key":"k3"}`, token); got.status != 200 {
		t.Errorf("after a panic: %d %s", got.status, got.body)
	}
}

func TestFilesGoThroughRESTAsTheyAre(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), bearer(s.token("a"))
	big := strings.Repeat("x", 5<<20) // more than one message
	got := s.request("PUT", "/v1/sandboxes/"+id+"/files/content?path=/x", big, token, "Content-Type: application/octet-stream")
	if got.status != 200 || !strings.Contains(got.body, fmt.Sprint(len(big))) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.request("GET", "/v1/sandboxes/"+id+"/files/content?path=/none", "", token); got.status != 404 || !strings.Contains(got.body, `"not_found"`) {
		t.Errorf("a file that does not exist: %d %s", got.status, got.body)
	}
	for _, path := range []string{"", "%00", strings.Repeat("x", 5000)} {
		if got := s.request("GET", "/v1/sandboxes/"+id+"/files/stat?path="+path, "", token); got.status != 400 {
			t.Errorf("the path %.10q: %d %s", path, got.status, got.body)
		}
	}
}

func TestTheUnixSocketIsTheUsersAlone(t *testing.T) {
	s := newSite(t, nil)
	path := filepath.Join(t.TempDir(), "api", "x.sock")
	listener, unlock, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	if _, _, err := ListenUnix(path); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a second server: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener, nil, 0) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	for header, want := range map[string]int{"X: y": 200, "Origin: https://evil.example": 403, bearer("wrong"): 401} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://anything/v1/sandboxes", nil)
		if err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %d", header, response.StatusCode)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	unlock()
	again, unlock, err := ListenUnix(path) // a socket left by an earlier server
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
	unlock()
}

// waitingCall is a call of a server that ends only by itself, by a signal to its process, or by EndCalls.
type waitingCall struct {
	addr  string
	stop  func()       // stops the server
	ended <-chan error // of the server
	wait  func() (status int, body string)
}

// callThatWaits starts a server, which waits for calls up to grace, and a call that runs when it returns.
func (s *site) callThatWaits(t *testing.T, grace time.Duration) waitingCall {
	t.Helper()
	id, token := s.sandbox("a"), s.token("a")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener, nil, grace) }()
	addr := listener.Addr().String()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/v1/sandboxes/"+id+":exec", strings.NewReader(`{"argv":["wait"]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	var wait sync.WaitGroup
	var status int
	var body []byte
	wait.Go(func() {
		if response, err := http.DefaultClient.Do(r); err == nil {
			defer response.Body.Close()
			status = response.StatusCode
			body, _ = io.ReadAll(response.Body)
		}
	})
	t.Cleanup(wait.Wait)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if all, _ := s.m.Processes(t.Context(), "00001-sandbox"); len(all) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the call does not run")
		}
	}
	return waitingCall{addr, stop, ended, func() (int, string) { wait.Wait(); return status, string(body) }}
}

func TestCallsThatAServerWaitsForCanBeEnded(t *testing.T) {
	s := newSite(t, nil)
	c := s.callThatWaits(t, time.Hour)
	if got := s.Calls(); got != 1 {
		t.Errorf("%d calls run", got)
	}
	c.stop()
	s.EndCalls()
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

func TestAServerThatStopsLetsCallsEnd(t *testing.T) {
	s := newSite(t, nil)
	c := s.callThatWaits(t, time.Minute)
	c.stop()
	for { // it accepts no more connections
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			break
		}
		conn.Close()
	}
	if err := s.m.SignalProcess(t.Context(), "00001-sandbox", 1, 15); err != nil {
		t.Fatal(err)
	}
	if status, body := c.wait(); status != 200 || !strings.Contains(body, "143") {
		t.Errorf("%d %s", status, body)
	}
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

func TestCallsAreRecordedWithTheirCaller(t *testing.T) {
	s := newSite(t, nil)
	id := s.sandbox("a")
	token := bearer(s.token("a"))
	s.request("GET", "/v1/sandboxes/"+id, "", token) // changes nothing
	s.request("DELETE", "/v1/sandboxes/"+id, "", token)
	s.request("DELETE", "/v1/sandboxes/none", "", token)
	s.request("DELETE", "/v1/sandboxes/"+id, "")
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for _, c := range s.calls {
		if (c.Token == "") != (c.Tenant == "") || c.Request == "" {
			t.Errorf("%+v", c)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", c.Tenant, c.Method, c.Subject, c.Kind))
	}
	want := []string{
		"a aibox.v1.Sandboxes/Destroy " + id + " ", "a aibox.v1.Sandboxes/Destroy none not_found", " DELETE /v1/sandboxes/" + id + "  unauthenticated",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("recorded:\n%s", strings.Join(got, "\n"))
	}
}
