package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"github.com/coder/websocket"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
)

// apiServer is a running `aibox serve`.
type apiServer struct {
	*background
	m     *machine
	url   string
	token string
}

// serve starts a server on loopback, with a token of the tenant.
func (m *machine) serve(tenant string) *apiServer {
	m.t.Helper()
	s := &apiServer{m: m, token: strings.TrimSpace(m.aibox(0, "token", "create", "--tenant", tenant, "--right", "read,sandboxes,execute,network,volumes,audit").stdout)}
	s.start()
	m.t.Cleanup(func() { s.stop() })
	return s
}

// start starts the server.
func (s *apiServer) start() {
	s.m.t.Helper()
	s.background = s.m.start("serve", "--listen", "127.0.0.1:0")
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	eventually(s.m.t, hung, "the server listens", func() bool { return address.MatchString(s.stderr.String()) })
	s.url = address.FindString(s.stderr.String())
}

// stop ends the server as systemd does.
func (s *apiServer) stop() {
	if s.ProcessState == nil {
		_ = s.Process.Signal(syscall.SIGTERM)
		s.ends(0)
	}
}

// curl runs curl with the token and returns the body and the status.
func (s *apiServer) curl(args ...string) (body, status string) {
	s.m.t.Helper()
	args = append([]string{"-sS", "-w", "\n%{http_code}", "-H", "Authorization: Bearer " + s.token, "-H", "Content-Type: application/json"}, args...)
	out := s.m.exec("curl", args...)
	if out.code != 0 {
		s.m.t.Fatalf("curl %q: %s", args, out)
	}
	at := strings.LastIndex(out.stdout, "\n")
	return out.stdout[:at], out.stdout[at+1:]
}

// create creates a sandbox by REST and returns its id.
func (s *apiServer) create(request string) string {
	s.m.t.Helper()
	body, status := s.curl("-d", request, s.url+"/v1/sandboxes")
	var made struct{ SandboxID string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != "200" {
		s.m.t.Fatalf("creating a sandbox: %s %s %v", status, body, err)
	}
	return made.SandboxID
}

func TestProgramsUseASandboxInEveryWayOfTheAPI(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("ci")
	id := s.create(`{"name":"x","metadata":{"job":"7"},"network":{"allow":{"hosts":[]}},"timeout":"600s"}`)
	t.Cleanup(func() { s.curl("-X", "DELETE", s.url+"/v1/sandboxes/"+id) })

	if body, status := s.curl("-d", `{"argv":["sh","-c","id -un; cat; exit 3"],"stdin":"aGk="}`, s.url+"/v1/sandboxes/"+id+":exec"); status != "200" || !strings.Contains(body, `"code":3`) || !strings.Contains(body, "dXNlcgpoaQ==") {
		t.Errorf("curl: %s %s", status, body)
	}
	if body, status := s.curl(s.url + "/v1/sandboxes?metadata=job%3D7"); status != "200" || !strings.Contains(body, id) {
		t.Errorf("the list: %s %s", status, body)
	}
	if body, status := s.curl(s.url + "/v1/sandboxes?metadata=job%3D8"); status != "200" || strings.Contains(body, id) {
		t.Errorf("the list with another filter: %s %s", status, body)
	}
	s.files(id)
	s.grpc(id)
	s.webSocket(id)
	s.webSocketReconnects(id)
	s.inputAfterItsEnd(id)
	s.ports(id)
	if body, status := s.curl("-X", "PUT", "-d", `{"allow":{"hosts":["a.example"]}}`, s.url+"/v1/sandboxes/"+id+"/network"); status != "200" || !strings.Contains(body, "a.example") {
		t.Errorf("the network: %s %s", status, body)
	}
	if body, status := s.curl("-d", `{"by":"60s"}`, s.url+"/v1/sandboxes/"+id+":extend"); status != "200" || !strings.Contains(body, "expireTime") {
		t.Errorf("extending: %s %s", status, body)
	}
	if body, status := s.curl(s.url + "/v1/audit/" + id + ":verify"); status != "200" || !strings.Contains(body, `"valid":true`) {
		t.Errorf("the log: %s %s", status, body)
	}
	if body, status := s.curl("-X", "DELETE", s.url+"/v1/sandboxes/"+id); status != "200" {
		t.Errorf("destroying: %s %s", status, body)
	}
	if body, _ := s.curl(s.url + "/v1/sandboxes/" + id); !strings.Contains(body, "SANDBOX_STATE_ENDED") {
		t.Errorf("afterwards: %s", body)
	}
}

// files writes and reads files, and packs them.
func (s *apiServer) files(id string) {
	t := s.m.t
	t.Helper()
	content := strings.Repeat("0123456789abcdef", 1<<19) // 8 MiB
	file := filepath.Join(s.m.home, "content")
	s.m.write(file, content)
	at := s.url + "/v1/sandboxes/" + id + "/files"
	if body, status := s.curl("-X", "PUT", "--data-binary", "@"+file, at+"/content?path=/tmp/d/x"); status != "200" || !strings.Contains(body, fmt.Sprint(len(content))) {
		t.Errorf("writing: %s %s", status, body)
	}
	if body, status := s.curl(at + "/content?path=/tmp/d/x"); status != "200" || body != content {
		t.Errorf("reading: %s, %d bytes", status, len(body))
	}
	if body, status := s.curl(at + "?path=/tmp/d"); status != "200" || !strings.Contains(body, `"/tmp/d/x"`) {
		t.Errorf("listing: %s %s", status, body)
	}
	if body, status := s.curl(at + "/content?path=/no/such"); status != "404" || !strings.Contains(body, `"not_found"`) {
		t.Errorf("a missing file: %s %s", status, body)
	}
	s.curl("-d", `{"argv":["ln","-s","/etc/hostname","/tmp/d/link"]}`, s.url+"/v1/sandboxes/"+id+":exec")
	host, err := os.ReadFile("/etc/hostname")
	if body, _ := s.curl(at + "/content?path=/tmp/d/link"); err == nil && body == string(host) {
		t.Errorf("a symlink leads to the host: %q", body)
	}
	for _, as := range []string{"user=root", "user=0", "user=user:0"} {
		if body, status := s.curl(at + "/content?path=/etc/passwd&" + as); status != "403" || !strings.Contains(body, `"refused"`) {
			t.Errorf("reading with %s: %s %s", as, status, body)
		}
		if body, status := s.curl("-X", "PUT", "--data-binary", "@"+file, at+"/content?path=/tmp/d/y&"+as); status != "403" {
			t.Errorf("writing with %s: %s %s", as, status, body)
		}
	}
}

// inputAfterItsEnd sends input to a process after its end, as a second client can do. Nothing else
// in the sandbox ends.
func (s *apiServer) inputAfterItsEnd(id string) {
	t := s.m.t
	t.Helper()
	for _, request := range []string{`{"argv":["sleep","1000"],"stdin":true}`, `{"argv":["sleep","1000"],"tty":{"rows":24,"cols":80}}`} {
		body, status := s.curl("-d", request, s.url+"/v1/sandboxes/"+id+"/processes")
		var started struct{ ProcessID int }
		if err := json.Unmarshal([]byte(body), &started); err != nil || status != "200" {
			t.Fatalf("%s %s %v", status, body, err)
		}
		at := fmt.Sprintf("%s/v1/sandboxes/%s/processes/%d", s.url, id, started.ProcessID)
		if body, status := s.curl("-d", "{}", at+":closeInput"); status != "200" {
			t.Errorf("%s: ending the input: %s %s", request, status, body)
		}
		if body, status := s.curl("-d", `{"data":"bGF0ZQ=="}`, at+":input"); status != "409" || !strings.Contains(body, "has ended") {
			t.Errorf("%s: input after that: %s %s", request, status, body)
		}
		if body, status := s.curl(at); status != "200" || strings.Contains(body, `"exit"`) {
			t.Errorf("%s: afterwards: %s %s", request, status, body)
		}
		if body, status := s.curl("-d", `{"signal":9}`, at+":signal"); status != "200" {
			t.Errorf("%s: killing it: %s %s", request, status, body)
		}
	}
}

// grpc finds the services by reflection, and follows a process by gRPC.
func (s *apiServer) grpc(id string) {
	t := s.m.t
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	h2c := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	header := http.Header{"Authorization": {"Bearer " + s.token}}
	reflection := grpcreflect.NewClient(h2c, s.url, connect.WithGRPC()).NewStream(ctx, grpcreflect.WithRequestHeaders(header))
	names, err := reflection.ListServices()
	if err != nil || len(names) < 10 {
		t.Errorf("reflection: %v, %v", names, err)
	}
	_, _ = reflection.Close()
	request := connect.NewRequest(&aiboxv1.StartProcessRequest{SandboxId: id, Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 4"}})
	request.Header().Set("Authorization", header.Get("Authorization"))
	stream, err := aiboxv1connect.NewProcessesClient(h2c, s.url, connect.WithGRPC()).Start(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var got []string
	for stream.Receive() {
		switch e := stream.Msg(); {
		case e.GetStdout() != nil:
			got = append(got, string(e.GetStdout().GetData()))
		case e.GetStderr() != nil:
			got = append(got, string(e.GetStderr().GetData()))
		case e.GetExit() != nil:
			got = append(got, fmt.Sprint(e.GetExit().GetCode()))
		}
	}
	if all := strings.Join(got, " "); stream.Err() != nil || !strings.Contains(all, "out\n") || !strings.Contains(all, "err\n") || !strings.HasSuffix(all, "4") {
		t.Errorf("gRPC: %q, %v", got, stream.Err())
	}
}

// webSocket talks with a process over a WebSocket.
func (s *apiServer) webSocket(id string) {
	t := s.m.t
	t.Helper()
	body, status := s.curl("-d", `{"argv":["cat"],"stdin":true}`, s.url+"/v1/sandboxes/"+id+"/processes")
	var started struct{ ProcessID int }
	if err := json.Unmarshal([]byte(body), &started); err != nil || status != "200" {
		t.Fatalf("%s %s %v", status, body, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	url := fmt.Sprintf("%s/v1/sandboxes/%s/processes/%d/ws", strings.Replace(s.url, "http", "ws", 1), id, started.ProcessID)
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.token}}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow() //nolint:errcheck // the test has what it wants
	for _, command := range []string{`{"input":"aGVsbG8="}`, `{"close_input":true}`} {
		if err := conn.Write(ctx, websocket.MessageText, []byte(command)); err != nil {
			t.Fatal(err)
		}
	}
	all := ""
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			break
		}
		all += string(data)
	}
	if !strings.Contains(all, "aGVsbG8=") || !strings.Contains(all, `"exit"`) {
		t.Errorf("the WebSocket: %s", all)
	}
}

func TestSandboxesOutliveTheirServer(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	id := s.create(`{"idempotency_key":"one"}`)
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", id) })
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
	if signed := m.aibox(0, "sandbox", "open", id, "3000").stdout; !strings.HasPrefix(signed, "http://3000-"+id+".localhost:"+port+"/?") {
		t.Errorf("the URL for a browser is %s, and the server's %s", signed, s.url)
	}
	body, _ := s.curl("-d", `{"argv":["sh","-c","echo begun; until test -e /tmp/over; do sleep 0.1; done"]}`, s.url+"/v1/sandboxes/"+id+"/processes")
	if !strings.Contains(body, `"processId":1`) {
		t.Fatal(body)
	}
	// Each call is under way when the server is killed.
	for _, call := range [][]string{
		{"-d", `{"argv":["sleep","1000"]}`, "/v1/sandboxes/" + id + ":exec"},
		{"-d", `{}`, "/v1/sandboxes/" + id + ":pause"},
		{"-X", "PUT", "--data-binary", "@/dev/zero", "/v1/sandboxes/" + id + "/files/content?path=/tmp/zeros"},
		{"-X", "GET", "/v1/sandboxes"},
	} {
		call[len(call)-1] = s.url + call[len(call)-1]
		cmd := m.cmd("curl", append([]string{"-sS", "-m", "20", "-H", "Authorization: Bearer " + s.token, "-H", "Content-Type: application/json"}, call...)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(call, " "), ":pause") {
			_, _ = bufio.NewReader(out).ReadByte() // it has answered
		}
		_ = s.Process.Kill()
		s.ends(-1)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		s.start()
		if strings.Contains(strings.Join(call, " "), ":pause") {
			s.curl("-d", "{}", s.url+"/v1/sandboxes/"+id+":resume")
		}
		if body, status := s.curl("-d", `{"argv":["echo","alive"]}`, s.url+"/v1/sandboxes/"+id+":exec"); status != "200" || !strings.Contains(body, "YWxpdmUK") {
			t.Fatalf("after %q: %s %s", call, status, body)
		}
	}
	if again := s.create(`{"idempotency_key":"one"}`); again != id {
		t.Errorf("the key made %s, too", again)
	}
	second := s.killedCreation(`{"idempotency_key":"two"}`)
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", second) })
	got := m.aibox(0, "sandbox", "exec", id, "--", "echo", "by the command line").stdout
	if got != "by the command line\n" {
		t.Errorf("%q", got)
	}
	s.curl("-d", `{"argv":["touch","/tmp/over"]}`, s.url+"/v1/sandboxes/"+id+":exec")
	eventually(t, hung, "the process that outlived its servers ends", func() bool {
		body, status := s.curl(s.url + "/v1/sandboxes/" + id + "/processes/1")
		return status == "200" && strings.Contains(body, `"exit"`) && strings.Contains(body, `"lastSeq"`)
	})
	s.stop()
	if got := m.aibox(0, "sandbox", "exec", id, "--", "echo", "without a server").stdout; got != "without a server\n" {
		t.Errorf("%q", got)
	}
}

// killedCreation kills the server during a creation, repeats the call at a new server, and
// returns the sandbox, of which there must be one.
func (s *apiServer) killedCreation(request string) string {
	s.m.t.Helper()
	before := len(s.m.stored())
	cmd := s.m.cmd("curl", "-sS", "-H", "Authorization: Bearer "+s.token, "-H", "Content-Type: application/json", "-d", request, s.url+"/v1/sandboxes")
	if err := cmd.Start(); err != nil {
		s.m.t.Fatal(err)
	}
	eventually(s.m.t, hung, "the sandbox is being started", func() bool { return len(s.m.stored()) > before })
	_ = s.Process.Kill()
	s.ends(-1)
	_ = cmd.Wait()
	s.start()
	id := s.create(request)
	alive := 0
	for _, r := range s.m.stored() {
		if r.State.Phase != "ended" {
			alive++
		}
	}
	if alive != before+1 {
		s.m.t.Errorf("there are %d sandboxes instead of %d", alive, before+1)
	}
	return id
}

func TestTheCommandLineUsesSandboxes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := strings.TrimSpace(m.aibox(0, "sandbox", "create", "--metadata", "a=b", "--allow", "a.example").stdout)
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", id) })
	if got := m.aibox(0, "sandbox", "ls", "--json", "--metadata", "a=b").stdout; !strings.Contains(got, id) {
		t.Error(got)
	}
	o := m.aibox(7, "sandbox", "exec", "-e", "KEY=a value", id, "--", "sh", "-c", `echo "$KEY"; echo no >&2; exit 7`)
	if o.stdout != "a value\n" || o.stderr != "no\n" {
		t.Errorf("the command prints\n%s", o)
	}
	file := filepath.Join(m.home, "f")
	m.write(file, "copied\n")
	if o := m.aibox(0, "sandbox", "ports", id); o.stdout != "" || !strings.Contains(o.stderr, "no program in the sandbox "+id+" listens on a port") {
		t.Errorf("without a listening program:\n%s", o)
	}
	if o := m.aibox(0, "sandbox", "cp", file, id+":/tmp/g"); !strings.Contains(o.stderr, "copied "+file+" to "+id+":/tmp/g\n") {
		t.Errorf("a copy into the sandbox reports\n%s", o)
	}
	m.aibox(0, "sandbox", "cp", id+":/tmp/g", filepath.Join(m.home, "h"))
	if got := m.read(m.home, "h"); got != "copied\n" {
		t.Errorf("the copy holds %q", got)
	}
	// Files are copied with the rights of the sandbox's user.
	m.aibox(0, "sandbox", "exec", id, "--", "sh", "-c", "ln -s /etc ~/link; mkdir ~/d; ln -s /etc/shadow ~/d/shadow; echo kept >~/d/f; mkdir ~/s; echo kept >~/s/f; mkfifo ~/s/pipe")
	m.aibox(0, "sandbox", "cp", file, id+":/home/user/own")
	if got := m.aibox(0, "sandbox", "exec", id, "--", "stat", "-c", "%U", "/home/user/own").stdout; got != "user\n" {
		t.Errorf("the copy belongs to %s", got)
	}
	for _, path := range []string{"/etc/g", "/home/user/link/g", "/root/g"} {
		if o := m.exec(aibox, "sandbox", "cp", file, id+":"+path); o.code == 0 || !strings.Contains(o.stderr, "permission") {
			t.Errorf("the user has copied to %s:\n%s", path, o)
		}
	}
	if o := m.exec(aibox, "sandbox", "cp", id+":/etc/shadow", filepath.Join(m.home, "shadow")); o.code == 0 || !strings.Contains(o.stderr, "permission") {
		t.Errorf("the user has copied what only root can read:\n%s", o)
	}
	m.fails(4, "d/shadow -> /etc/shadow", "sandbox", "cp", id+":/home/user/d", filepath.Join(m.home, "d"))
	if got := m.read(m.home, "d", "f"); got != "kept\n" {
		t.Errorf("the copied folder holds %q", got)
	}
	if _, err := os.Lstat(filepath.Join(m.home, "d", "shadow")); err == nil {
		t.Error("a symlink of the sandbox that leads out of the copy was copied")
	}
	m.fails(4, `"s/pipe" is left out`, "sandbox", "cp", id+":/home/user/s", filepath.Join(m.home, "s"))
	if got := m.read(m.home, "s", "f"); got != "kept\n" {
		t.Errorf("the folder that was copied without its pipe holds %q", got)
	}
	if got := m.aibox(0, "sandbox", "network", id, "--allow", "b.example").stdout; !strings.Contains(got, "b.example") || strings.Contains(got, "a.example") {
		t.Error(got)
	}
	m.aibox(0, "sandbox", "extend", id, "10m")
	m.fails(2, "there is no sandbox", "sandbox", "get", "zzzz")
	m.fails(2, "has no effect on a sandbox", "sandbox", "create", "--set", "verify=x")
	m.fails(2, "an allow list has no effect", "sandbox", "create", "--network", "none", "--allow", "a.example")
}

func TestTheCommandLineKeepsVolumesAndSetsPermissions(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.aibox(0, "volume", "create", "data")
	if got := m.aibox(0, "volume", "ls", "--json").stdout; !strings.Contains(got, `"data"`) {
		t.Errorf("the volumes are %s", got)
	}
	create := func(args ...string) string {
		id := strings.TrimSpace(m.aibox(0, append([]string{"sandbox", "create"}, args...)...).stdout)
		t.Cleanup(func() { m.exec(aibox, "sandbox", "rm", id) })
		return id
	}
	first := create("--volume", "data:/data", "--write", "/home/user/own", "--hide", "/usr/lib/os-release", "--inbound=")
	out := m.exec(aibox, "sandbox", "exec", first, "--", "sh", "-c",
		"echo kept >/data/f; touch ~/own/x && echo own; touch ~/x || echo nothing else; cat /etc/os-release || echo hidden")
	if out.stdout != "own\nnothing else\nhidden\n" {
		t.Errorf("under its permissions:\n%s", out)
	}
	m.fails(6, "uses the volume", "volume", "rm", "data")
	m.aibox(0, "sandbox", "rm", first)
	second := create("--volume", "data:/data:ro")
	if got := m.aibox(0, "sandbox", "exec", second, "--", "cat", "/data/f").stdout; got != "kept\n" {
		t.Errorf("the volume holds %q", got)
	}
	m.aibox(0, "sandbox", "rm", second)
	m.aibox(0, "volume", "rm", "data")
	m.fails(2, "there is no volume", "volume", "rm", "data")
}

func TestAServerRefusesToListenWhereTokensCouldBeRead(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.fails(2, "tokens could be read on the network", "serve", "--listen", "0.0.0.0:0")
	m.fails(2, "tokens could be read on the network", "serve", "--listen", ":0")
	m.fails(2, "tokens could be read on the network", "serve", "--listen", "localhost:0")
	m.fails(2, "there is no valid token", "serve", "--listen", "127.0.0.1:0")
	m.fails(2, "--cert needs --key", "serve", "--cert", "x")
	m.fails(2, "takes ADDRESS:PORT", "serve", "--listen", "8800")
}
