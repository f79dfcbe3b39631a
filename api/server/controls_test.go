package server

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/process"
)

func TestRoutesOutsideOfTheSchemaNeedTheirRight(t *testing.T) {
	s := newSite(t, nil)
	id := s.sandbox("a")
	if _, err := s.m.StartProcess(t.Context(), "00001-sandbox", waiting); err != nil {
		t.Fatal(err)
	}
	token := bearer(s.token("a", "execute"))
	for _, call := range []string{
		"PUT /files/content?path=/x", "PUT /files/archive?path=/x", "GET /files/content?path=/x", "GET /files/archive?path=/x", "GET /processes/1/ws",
	} {
		method, path, _ := strings.Cut(call, " ")
		if got := s.request(method, "/v1/sandboxes/"+id+path, "", token); got.status != 403 || !strings.Contains(got.body, "the right execute") {
			t.Errorf("%s: %d %s", call, got.status, got.body)
		}
	}
}

func TestAnotherTenantsSandboxDoesNotExistOnRoutesOutsideOfTheSchema(t *testing.T) {
	s := newSite(t, nil)
	foreign := s.sandbox("b")
	token := bearer(s.token("a"))
	for _, call := range []string{
		"PUT /files/content?path=/x", "PUT /files/archive?path=/x", "GET /files/content?path=/x", "GET /files/archive?path=/x", "GET /processes/1/ws",
	} {
		method, path, _ := strings.Cut(call, " ")
		got := s.request(method, "/v1/sandboxes/"+foreign+path, "", token)
		missing := s.request(method, "/v1/sandboxes/00099-sandbox"+path, "", token)
		if got.status != 404 || volatile.ReplaceAllString(got.body, "") != volatile.ReplaceAllString(missing.body, "") {
			t.Errorf("%s: %d %s\nmissing: %d %s", call, got.status, got.body, missing.status, missing.body)
		}
	}
}

func TestAnAnswerThatIsNotReadIsCutOff(t *testing.T) {
	failed := make(chan struct{})
	s := newSite(t, func(o *Options) {
		o.Limits = Limits{Stall: 100 * time.Millisecond}
		o.Record = func(Call) { close(failed) }
	})
	id, token := s.sandbox("a"), s.token("a")
	info, err := s.m.StartProcess(t.Context(), "00001-sandbox", process.Request{Argv: []string{"flood", "100000000"}, Keep: 128 << 20})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	message := fmt.Sprintf(`{"sandbox_id":%q,"process_id":%d}`, id, info.ID)
	body := append(append([]byte{0}, binary.BigEndian.AppendUint32(nil, uint32(len(message)))...), message...)
	fmt.Fprintf(conn, "POST /aibox.v1.Processes/Connect HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/connect+json\r\nContent-Length: %d\r\n\r\n%s", token, len(body), body)
	select { // the call ends although nothing was read
	case <-failed:
	case <-time.After(time.Minute):
		t.Error("the call does not end")
	}
}

// health is a request that everyone can make; its body has 2 bytes.
const health = "POST /grpc.health.v1.Health/Check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"

// connect opens a connection and sends text.
func (s *site) connect(text string) net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	_, _ = io.WriteString(conn, text)
	return conn
}

// busy opens a connection with a request whose body does not come.
func (s *site) busy() net.Conn {
	s.t.Helper()
	conn := s.connect(strings.Replace(health, "\r\n", "\r\nExpect: 100-continue\r\n", 1))
	text := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadFull(conn, text); err != nil || !strings.Contains(string(text), " 100 ") { // its handler reads
		s.t.Fatalf("%q, %v", text, err)
	}
	return conn
}

// answers reports whether a connection gets an answer to health.
func answers(conn net.Conn, within time.Duration) bool {
	_ = conn.SetReadDeadline(time.Now().Add(within))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode == http.StatusOK
}

func TestMoreConnectionsWithRequestsThanTheLimitWait(t *testing.T) {
	for name, end := range map[string]func(net.Conn){
		"the first one is closed":     func(conn net.Conn) { _ = conn.Close() },
		"the first request has ended": func(conn net.Conn) { _, _ = io.WriteString(conn, "{}") },
	} {
		s := newSite(t, func(o *Options) { o.Limits = Limits{Connections: 2, Stall: time.Hour} })
		first := s.busy()
		s.busy()
		third := s.connect(health + "{}")
		if answers(third, 100*time.Millisecond) {
			t.Errorf("%s: the third one has an answer, too", name)
		}
		end(first)
		if !answers(third, time.Minute) {
			t.Errorf("%s: the third one has no answer", name)
		}
	}
}

func TestAConnectionTakesThePlaceOfOneWithoutARequest(t *testing.T) {
	s := newSite(t, func(o *Options) {
		o.Limits = Limits{Connections: 2, HeaderTime: time.Hour, Idle: time.Hour, Stall: time.Hour}
	})
	idle := s.connect(health + "{}")
	if !answers(idle, time.Minute) {
		t.Fatal("the first one has no answer")
	}
	untouched := s.connect("")
	for range 2 {
		s.busy() // it has a place, and keeps it
	}
	for name, conn := range map[string]net.Conn{"after its request": idle, "before its first request": untouched} {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the connection %s: %v", name, err)
		}
	}
}

// HTTP/2 reports a connection as idle before the end of an answer is sent.
func TestAnAnswerOverHTTP2ArrivesBeforeItsConnectionMakesRoom(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits = Limits{Connections: 1, Stall: time.Hour} })
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols, ExpectContinueTimeout: time.Minute}
	t.Cleanup(transport.CloseIdleConnections)
	body, text := io.Pipe()
	handled := make(chan struct{})
	traced := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(handled) }})
	request, err := http.NewRequestWithContext(traced, http.MethodPost, s.url+"/grpc.health.v1.Health/Check", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Expect", "100-continue")
	answered := make(chan error, 1)
	go func() {
		response, err := transport.RoundTrip(request)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		_ = body.Close() // otherwise a write to it could wait forever
		answered <- err
	}()
	select {
	case <-handled:
	case <-time.After(time.Minute):
		t.Fatal("the first request does not reach its handler")
	}
	second := s.connect(health + "{}")
	if answers(second, 100*time.Millisecond) {
		t.Error("the second connection has an answer, too")
	}
	_, _ = io.WriteString(text, "{}")
	_ = text.Close()
	if err := <-answered; err != nil {
		t.Errorf("the first connection has no answer: %v", err)
	}
	if !answers(second, time.Minute) {
		t.Error("the second connection has no answer")
	}
}

func TestABodyOfSomebodyUnknownHasALimitedTime(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits = Limits{Stall: time.Second} })
	conn := s.connect(strings.Replace(health, ": 2\r\n", ": 10000\r\n", 1))
	ended := make(chan bool, 1)
	go func() { ended <- answers(conn, 2*time.Minute) }()
	tick, late := time.NewTicker(10*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			_, _ = io.WriteString(conn, " ")
		case <-late:
			t.Fatal("the request does not end")
		}
	}
}

func TestTheServerHasALimitOfCallsOverAllTenants(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits = Limits{TenantCalls: 2, Calls: 3} })
	for _, tenant := range []string{"a", "a", "b"} {
		if _, err := s.Server.calls.begin(session.Tenant(tenant)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.request("GET", "/v1/sandboxes", "", bearer(s.token("c"))); got.status != http.StatusTooManyRequests || !strings.Contains(got.body, "3 calls at once") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// A quota applies to the machine's tenants in every protocol.
func TestARefusalByAQuotaReachesTheCaller(t *testing.T) {
	s := newSite(t, nil)
	s.m.fail = fault.New(fault.Limit, "the tenant's quota is 1 sandbox at once")
	for _, path := range []string{"/v1/sandboxes", "/aibox.v1.Sandboxes/Create"} {
		got := s.request("POST", path, "{}", bearer(s.token("a")))
		if got.status != http.StatusTooManyRequests || !strings.Contains(got.body, "the tenant's quota is 1") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestAServerWithoutTokensRefusesAll(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Tokens = nil })
	if got := s.request("GET", "/v1/sandboxes", "", bearer(s.token("local"))); got.status != 401 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if _, err := s.ByToken(context.Background(), ""); err == nil {
		t.Error("an empty token is valid")
	}
}

// holding is a machine whose processes report that they have started.
type holding struct {
	*machine

	started chan int
}

func (h holding) RunProcess(ctx context.Context, id session.ID, r process.Request, started func(process.Info) error, visit func(process.Frame) error) (process.Exit, error) {
	return h.machine.RunProcess(ctx, id, r, func(info process.Info) error {
		h.started <- info.ID
		return started(info)
	}, visit)
}

// A call of Exec can collect its whole output, so few of them could fill the server's memory.
func TestTheOutputThatATenantCollectsAtOnceIsBounded(t *testing.T) {
	started := make(chan int, 8)
	var m *machine
	s := newSite(t, func(o *Options) {
		m, _ = o.Services.Processes.(*machine)
		o.Services.Processes, o.Services.Code = holding{m, started}, noCode{}
		o.Limits = Limits{Answers: 50 << 20, TenantAnswers: 40 << 20}
	})
	id, token := s.sandbox("a"), bearer(s.token("a"))
	exec := func(argv string, size int) answer {
		return s.request("POST", "/v1/sandboxes/"+id+":exec", fmt.Sprintf(`{"argv":["%s"],"max_output_bytes":%d}`, argv, size), token)
	}
	ended := make(chan answer)
	go func() { ended <- exec("wait", 16<<20) }()
	number := <-started
	for path, body := range map[string]string{
		":exec":    `{"argv":["echo"],"max_output_bytes":4194305}`,
		":runCode": `{"language":"python","code":"1","max_output_bytes":4194305}`,
	} {
		got := s.request("POST", "/v1/sandboxes/"+id+path, body, token)
		if got.status != http.StatusTooManyRequests || !strings.Contains(got.body, "more than 40 MiB") || !strings.Contains(got.body, "max_output_bytes") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := exec("echo", 4<<20); got.status != http.StatusOK {
		t.Errorf("output that fits: %d %s", got.status, got.body)
	}
	p, err := m.program(session.ID(id), number)
	if err != nil {
		t.Fatal(err)
	}
	p.signal <- 15
	if got := <-ended; got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := exec("echo", 16<<20); got.status != http.StatusOK {
		t.Errorf("after the end of the call: %d %s", got.status, got.body)
	}
}

// noCode is a Code that answers without anything.
type noCode struct{ Code }

func (noCode) RunCode(context.Context, session.ID, *aiboxv1.RunCodeRequest) (*aiboxv1.RunCodeResponse, error) {
	return &aiboxv1.RunCodeResponse{}, nil
}
