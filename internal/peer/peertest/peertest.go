// Package peertest runs a model server as another user of this machine, for tests.
// It uses a user namespace with the subordinate ids of the user who tests: to the
// host's kernel its uid is another one. It never needs root.
package peertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// role is the variable that makes a test binary be the server instead.
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
	if os.Getenv(role) != "" {
		fmt.Fprintln(os.Stderr, serve())
		os.Exit(1)
	}
}

// Server is a model server of another user.
type Server struct {
	Address netip.AddrPort // on the loopback

	mu       sync.Mutex
	requests []string
}

// Requests are what it was asked so far: method, path and body.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// Start runs the server until the test ends. It looks like an Ollama with one model,
// "theirs".
func Start(t testing.TB) *Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words := []string{self}
	if os.Getuid() != 0 {
		words = []string{"unshare", "--user", "--map-root-user", "--map-auto", "--kill-child", "--fork", "--", self}
	}
	cmd := exec.Command(words[0], words[1:]...) //nolint:noctx // the cleanup ends it
	cmd.Env = append(os.Environ(), role+"=1")
	cmd.Stderr = os.Stderr
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
	lines.Buffer(nil, 16<<20)
	if !lines.Scan() {
		t.Fatal("the server of another user did not start: this needs unshare, newuidmap and subordinate ids")
	}
	s := &Server{Address: netip.MustParseAddrPort(lines.Text())}
	go func() {
		for lines.Scan() {
			s.mu.Lock()
			s.requests = append(s.requests, lines.Text())
			s.mu.Unlock()
		}
	}()
	return s
}

// serve is the server, in a process of its own. It ends with its standard input.
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
	return http.Serve(listener, http.HandlerFunc(answer)) //nolint:gosec // a test's server has no clients to protect itself from
}

func answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	fmt.Println(r.Method, r.URL.Path, strings.ReplaceAll(string(body), "\n", " "))
	w.Header().Set("Content-Type", "application/json")
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
