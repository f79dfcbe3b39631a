package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/api/auth"
	"aibox/api/store"
	"aibox/app/sandbox"
	"aibox/session"
	"aibox/session/process"
)

// A server in a separate process stops at a point that the test names, and the test kills
// it there. Its sandboxes are files, which outlive it as real sandboxes do.

// The variables of that process.
const (
	killDir  = "AIBOX_TEST_KILL_DIR"  // of the database and the sandboxes
	killAt   = "AIBOX_TEST_KILL_AT"   // the point; empty: none
	killKeep = "AIBOX_TEST_KILL_KEEP" // if not empty, the start does not end abandoned creations
)

// stop blocks forever at the point at which the test kills this process.
func stop(point string) {
	if point == os.Getenv(killAt) {
		fmt.Println("reached")
		select {}
	}
}

// filed is a machine whose sandboxes are files.
type filed struct {
	*machine
	dir string
}

func (f *filed) file(id session.ID) string { return filepath.Join(f.dir, "sandboxes", string(id)) }

// load gives the machine a sandbox for each file.
func (f *filed) load() error {
	if err := os.MkdirAll(f.file(""), 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(f.file(""))
	for _, entry := range entries {
		tenant, readErr := os.ReadFile(f.file(session.ID(entry.Name())))
		err = errors.Join(err, readErr)
		f.all = append(f.all, &sandbox.Sandbox{ID: session.ID(entry.Name()), Tenant: session.Tenant(tenant), State: sandbox.Running, Created: time.Now()})
	}
	return err
}

func (f *filed) Create(ctx context.Context, r sandbox.Request, _ func(session.Step)) (sandbox.Sandbox, error) {
	id := session.ID(fmt.Sprintf("%05d-sandbox", os.Getpid()%100_000))
	stop("begun")
	if err := r.RecordID(ctx, id); err != nil {
		return sandbox.Sandbox{}, err
	}
	stop("recorded")
	if err := os.WriteFile(f.file(id), []byte(r.Tenant), 0o600); err != nil {
		return sandbox.Sandbox{}, err
	}
	stop("created")
	return sandbox.Sandbox{ID: id, Tenant: r.Tenant, State: sandbox.Running, Created: time.Now()}, nil
}

func (f *filed) Abandon(ctx context.Context, id session.ID) error {
	if err := os.Remove(f.file(id)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return f.machine.Abandon(ctx, id)
}

// stopping is a store that stops after the end of a creation.
type stopping struct{ *store.Store }

func (s stopping) EndCreation(ctx context.Context, c store.Creation, keep bool) error {
	err := s.Store.EndCreation(ctx, c, keep)
	stop("ended")
	return err
}

func (s stopping) Authenticate(ctx context.Context, token string) (auth.Caller, error) {
	stop("called")
	return s.Store.Authenticate(ctx, token)
}

// TestServerThatIsKilled is the server's process, not a test.
func TestServerThatIsKilled(t *testing.T) {
	dir := os.Getenv(killDir)
	if dir == "" {
		return
	}
	db, err := store.Open(t.Context(), filepath.Join(dir, "api", "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	m := &filed{&machine{running: map[session.ID][]*program{}, dir: t.TempDir()}, dir}
	if err := m.load(); err != nil {
		t.Fatal(err)
	}
	if len(m.all) > 0 {
		if _, err := m.StartProcess(t.Context(), m.all[0].ID, process.Request{Argv: []string{"echo"}}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(Options{
		Services: Services{
			Sandboxes: m, Processes: m, Audit: m, Creations: recorderOf(stopping{db}, m),
			Files: func(context.Context, session.ID, string) Files { return noFiles{} },
		},
		Tokens: stopping{db},
		Record: func(Call) { stop("answering") },
	})
	if err == nil && os.Getenv(killKeep) == "" {
		err = s.EndAbandoned(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("http://" + listener.Addr().String())
	t.Fatal(s.Serve(context.Background(), listener, nil, 0))
}

// killed is a server in a separate process.
type killed struct {
	site

	dir   string
	cmd   *exec.Cmd
	lines *bufio.Scanner // of its output
}

func newKilled(t *testing.T) *killed {
	t.Helper()
	k := &killed{dir: t.TempDir()}
	db, err := store.Open(t.Context(), filepath.Join(k.dir, "api", "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(); k.kill() })
	k.site = site{t: t, store: db}
	return k
}

// start starts the server, which will stop at a point.
func (k *killed) start(at, keep string) {
	k.t.Helper()
	k.cmd = exec.Command(os.Args[0], "-test.run=^TestServerThatIsKilled$")
	k.cmd.Env = append(os.Environ(), killDir+"="+k.dir, killAt+"="+at, killKeep+"="+keep, "TMPDIR="+k.dir)
	out, err := k.cmd.StdoutPipe()
	if err == nil {
		err = k.cmd.Start()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	k.lines = bufio.NewScanner(out)
	k.url = k.line()
	if !strings.HasPrefix(k.url, "http://") {
		k.t.Fatalf("the server prints %q", k.url)
	}
}

func (k *killed) line() string {
	if !k.lines.Scan() {
		return ""
	}
	return k.lines.Text()
}

// kill kills the server.
func (k *killed) kill() {
	if k.cmd != nil {
		_ = k.cmd.Process.Kill()
		_ = k.cmd.Wait()
		k.cmd = nil
	}
}

// killIn makes a call, and kills the server when it has reached its point.
func (k *killed) killIn(do func()) {
	k.t.Helper()
	reached := make(chan string, 1)
	go func() { reached <- k.line() }()
	answered := make(chan struct{})
	go func() { defer close(answered); do() }()
	select {
	case line := <-reached:
		if line != "reached" {
			k.t.Errorf("the server prints %q instead of reaching its point", line)
		}
		k.kill()
	case <-answered:
		k.t.Error("the server answers without reaching its point")
		k.kill()
		<-reached
	}
	<-answered
}

// send sends a request whose answer does not matter.
func (k *killed) send(method, path, contentType, body, token string) {
	r, err := http.NewRequestWithContext(k.t.Context(), method, k.url+path, strings.NewReader(body))
	if err != nil {
		k.t.Error(err)
		return
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer "+token)
	if response, err := http.DefaultTransport.RoundTrip(r); err == nil {
		_, _ = io.Copy(io.Discard, response.Body) // until the call has ended
		_ = response.Body.Close()
	}
}

// sandboxes returns the sandboxes that exist.
func (k *killed) sandboxes() (ids []string) {
	k.t.Helper()
	entries, err := os.ReadDir(filepath.Join(k.dir, "sandboxes"))
	if err != nil {
		k.t.Fatal(err)
	}
	for _, entry := range entries {
		ids = append(ids, entry.Name())
	}
	return ids
}

func TestAServerThatIsKilledInACreationLeavesNothingAndMakesNothingTwice(t *testing.T) {
	for _, at := range []string{"called", "begun", "recorded", "created", "ended", "answering"} {
		for _, c := range []struct {
			name, key, keep string
		}{{"without a key", "", ""}, {"with a key", "k", ""}, {"with a key that comes before the cleanup", "k", "keep"}} {
			t.Run(at+" "+c.name, func(t *testing.T) {
				k := newKilled(t)
				token := k.token("a")
				body := fmt.Sprintf(`{"idempotency_key":%q}`, c.key)
				k.start(at, c.keep)
				k.killIn(func() { k.send("POST", "/v1/sandboxes", "application/json", body, token) })
				k.start("", c.keep)
				// Once a creation has ended, its answer may have arrived.
				answered := at == "ended" || at == "answering"
				left := k.sandboxes()
				if c.keep == "" && (len(left) == 1) != answered {
					t.Errorf("the server that was killed has left %q", left)
				}
				got := k.request("POST", "/v1/sandboxes", body, bearer(token))
				if got.status != 200 {
					t.Fatalf("the call after that: %d %s", got.status, got.body)
				}
				all := k.sandboxes()
				if want := 1; answered && c.key == "" {
					want = 2 // without a key, these are two creations
					if len(all) != want {
						t.Errorf("the sandboxes are %q", all)
					}
				} else if len(all) != want || !strings.Contains(got.body, all[0]) || answered && all[0] != left[0] {
					t.Errorf("the sandboxes are %q, and the answer is %s", all, got.body)
				}
				if left, err := k.store.AbandonedCreations(t.Context(), func(string) bool { return false }); err != nil || len(left) > 0 {
					t.Errorf("the database has %+v, %v", left, err)
				}
			})
		}
	}
}

// newKilledWithSandbox is newKilled with a tenant's token and one sandbox of the tenant.
func newKilledWithSandbox(t *testing.T) (k *killed, token, id string) {
	t.Helper()
	k = newKilled(t)
	token = k.token("a")
	k.start("", "")
	if got := k.request("POST", "/v1/sandboxes", `{}`, bearer(token)); got.status != 200 {
		t.Fatal(got)
	}
	return k, token, k.sandboxes()[0]
}

func TestAServerThatIsKilledInAnyCallServesItAgain(t *testing.T) {
	k, token, id := newKilledWithSandbox(t)
	for _, method := range methods(t) {
		switch method.FullName() {
		case "aibox.v1.Sandboxes.Create": // it has its own test
			continue
		case "aibox.v1.Files.Download": // it changes nothing, and the fake has no archive
			continue
		}
		if isRead(method) {
			continue
		}
		path, contentType, body := framed(method, "json", sample(t, method, id))
		for _, at := range []string{"called", "answering"} {
			k.kill()
			k.start(at, "")
			k.killIn(func() { k.send("POST", path, contentType, body, token) })
		}
		k.start("", "")
		code, answer := k.call(method, sample(t, method, id), bearer(token))
		switch code {
		case "", "unimplemented", "not_found", "failed_precondition": // the fake has no files and volumes, and its process has ended
		default:
			t.Errorf("%s: %s %s", method.FullName(), code, answer)
		}
		if left := k.sandboxes(); len(left) != 1 || left[0] != id {
			t.Fatalf("%s: the sandboxes are %q", method.FullName(), left)
		}
	}
}

// The calls of REST that change something and are not methods of the schema.
func TestAServerThatIsKilledInAnUploadServesItAgain(t *testing.T) {
	k, token, id := newKilledWithSandbox(t)
	for _, path := range []string{"/files/content?path=/x", "/files/archive?path=/x"} {
		path = "/v1/sandboxes/" + id + path
		for _, at := range []string{"called", "answering"} {
			k.kill()
			k.start(at, "")
			k.killIn(func() { k.send("PUT", path, "application/octet-stream", "data", token) })
		}
		k.start("", "")
		if got := k.request("PUT", path, "data", bearer(token)); got.status != 200 && got.status != 404 { // the fake has no files
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		if left := k.sandboxes(); len(left) != 1 || left[0] != id {
			t.Fatalf("%s: the sandboxes are %q", path, left)
		}
	}
}
