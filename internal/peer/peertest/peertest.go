// Package peertest runs a model server as another user of this machine, for tests. It uses
// a user namespace with the subordinate ids of the user who runs the tests, so its uid
// differs for the host's kernel. It never needs root.
package peertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// role is the variable that makes a test binary run as the server.
const role = "AIBOX_PEERTEST"

// other is the server's uid within its namespace.
const other = 1

// Main is a TestMain for packages that call Start.
func Main(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// Child does not return in the process that Start has started. A TestMain that does
// more than Main calls it first.
func Child() {
	switch address, dials := strings.CutPrefix(os.Getenv(role), dialing); {
	case dials:
		fmt.Println(dial(address))
		os.Exit(0)
	case address != "":
		fmt.Fprintln(os.Stderr, serve())
		os.Exit(1)
	}
}

// dialing begins the role of a client, before its address.
const dialing = "dial "

// Dial connects to a TCP address as another user of this machine. It returns what it
// received, or "error: " and the error.
func Dial(t testing.TB, address string) string {
	t.Helper()
	out, err := asOther(t, dialing+address).Output()
	if err != nil {
		t.Fatalf("a client of another user needs unshare and subordinate ids: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// DialUnix connects to a Unix socket below t.TempDir as another user of this machine, after it
// has given everyone access to it. It returns what Dial does.
func DialUnix(t testing.TB, path string) string {
	t.Helper()
	if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // so that its mode is not the reason for a refusal
		t.Fatal(err)
	}
	for folder := filepath.Dir(path); folder != filepath.Clean(os.TempDir()) && folder != "/"; folder = filepath.Dir(folder) {
		if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // the same
			t.Fatal(err)
		}
	}
	return Dial(t, path)
}

func dial(address string) string {
	err := syscall.Setresuid(other, other, other)
	if err != nil {
		return "not another user: " + err.Error()
	}
	network := "tcp"
	if filepath.IsAbs(address) {
		network = "unix"
	}
	conn, err := net.Dial(network, address) //nolint:noctx // it ends with the process
	if err != nil {
		return "error: " + err.Error()
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	got, err := io.ReadAll(io.LimitReader(conn, 1<<10))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(got)
}

// asOther returns a command that runs this test binary in a role, as another user.
func asOther(t testing.TB, as string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words := []string{self}
	if os.Getuid() != 0 {
		words = []string{"unshare", "--user", "--map-root-user", "--map-auto", "--kill-child", "--fork", "--", self}
	}
	cmd := exec.Command(words[0], words[1:]...) //nolint:noctx // its caller ends it
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stderr = os.Stderr
	return cmd
}

// Server is a model server of another user.
type Server struct {
	Address netip.AddrPort // on the loopback

	t testing.TB
}

// askedPath is the path at which the server lists its requests, as JSON.
const askedPath = "/peertest/asked"

// Requests returns the requests so far: method, path and body. It includes every request
// that was answered before the call.
func (s *Server) Requests() []string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.Address.String()+askedPath, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatalf("asking the server what it was asked: %v", err)
	}
	defer response.Body.Close()
	var requests []string
	if err := json.NewDecoder(response.Body).Decode(&requests); err != nil {
		s.t.Fatal(err)
	}
	return requests
}

// Start runs the server until the test ends. It looks like an Ollama with one model,
// "theirs".
func Start(t testing.TB) *Server {
	t.Helper()
	cmd := asOther(t, "serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("a server of another user needs unshare and subordinate ids: %v", err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the server of another user did not start: this needs unshare, newuidmap and subordinate ids")
	}
	return &Server{Address: netip.MustParseAddrPort(lines.Text()), t: t}
}

// serve returns the server, in a separate process. It ends with its standard input.
func serve() error {
	if err := syscall.Setresuid(other, other, other); err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // it ends with the process
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, new(model)) //nolint:gosec // a test's server has no hostile clients
}

// model answers as Ollama does, and records the requests.
type model struct {
	mu    sync.Mutex
	asked []string
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == askedPath {
		_ = json.NewEncoder(w).Encode(m.asked)
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	m.asked = append(m.asked, fmt.Sprint(r.Method, " ", r.URL.Path, " ", strings.ReplaceAll(string(body), "\n", " ")))
	switch r.URL.Path {
	case "/api/version":
		fmt.Fprint(w, `{"version":"0.20.0"}`)
	case "/v1/models":
		fmt.Fprint(w, `{"object":"list","data":[{"id":"theirs","object":"model","owned_by":"library"}]}`)
	case "/api/tags":
		fmt.Fprint(w, `{"models":[{"name":"theirs","model":"theirs"}]}`)
	case "/v1/chat/completions":
		fmt.Fprint(w, `{"id":"1","object":"chat.completion","model":"theirs","choices":[{"index":0,"message":{"role":"assistant","content":"hello from another user"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"not found"}`)
	}
}
