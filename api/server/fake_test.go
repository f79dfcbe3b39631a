package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"aibox/api/auth"
	"aibox/api/creation"
	"aibox/api/server/servertest"
	"aibox/api/store"
	"aibox/app/sandbox"
	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/files"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/process"
	"aibox/session/volume"
)

// machine is a fake of the use cases. It keeps sandboxes by tenant, and runs a few programs:
// echo prints its arguments, cat its input, flood N prints N bytes, and wait waits for a
// signal.
type machine struct {
	agents  map[session.ID]session.Tenant // sessions of agents; no tenant: the user's
	mu      sync.Mutex
	all     []*sandbox.Sandbox
	running map[session.ID][]*program
	creates int
	fail    error                   // what Create returns
	panics  bool                    // Create panics
	changes []session.SandboxChange // of Update
	dir     string
}

type program struct {
	copied string // the path of a copy
	info   process.Info
	record *process.Record
	stdin  *io.PipeWriter
	signal chan int
	ended  chan struct{} // closed at the end
}

func (m *machine) find(tenant session.Tenant, id string) (*sandbox.Sandbox, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.all {
		if string(s.ID) == id && s.Tenant == tenant {
			return s, nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no sandbox %q", id)
}

func (m *machine) Create(ctx context.Context, r sandbox.Request, _ func(session.Step)) (sandbox.Sandbox, error) {
	if m.panics {
		panic("a secret of the machine")
	}
	if err := errors.Join(r.Validate(), m.fail); err != nil {
		return sandbox.Sandbox{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.creates++
	id := session.ID(fmt.Sprintf("%05d-sandbox", m.creates))
	if r.RecordID != nil {
		if err := r.RecordID(ctx, id); err != nil {
			return sandbox.Sandbox{}, err
		}
	}
	s := &sandbox.Sandbox{ID: id, Tenant: r.Tenant, Labels: r.Labels, State: sandbox.Running, Created: time.Now()}
	m.all = append(m.all, s)
	return *s, nil
}

func (m *machine) Get(_ context.Context, tenant session.Tenant, id string) (sandbox.Sandbox, error) {
	s, err := m.find(tenant, id)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	return *s, nil
}

func (m *machine) List(_ context.Context, tenant session.Tenant, _ sandbox.Filter, _ int, _ string) (page sandbox.Page, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.all {
		if s.Tenant == tenant {
			page.Sandboxes = append(page.Sandboxes, *s)
		}
	}
	return page, nil
}

func (m *machine) Update(ctx context.Context, tenant session.Tenant, id string, change session.SandboxChange) (sandbox.Sandbox, error) {
	if change.Timeout != nil && *change.Timeout > 720*time.Hour {
		return sandbox.Sandbox{}, fault.New(fault.Usage, "a sandbox can be given up to 720h")
	}
	m.changes = append(m.changes, change)
	return m.Get(ctx, tenant, id)
}

func (m *machine) Extend(ctx context.Context, tenant session.Tenant, id string, _ time.Duration) (sandbox.Sandbox, error) {
	return m.Get(ctx, tenant, id)
}

func (m *machine) Destroy(_ context.Context, tenant session.Tenant, id string) error {
	s, err := m.find(tenant, id)
	if err == nil {
		s.State = sandbox.Ended
	}
	return err
}

// recorderOf makes creations of the machine's sandboxes repeatable.
func recorderOf(db creation.Store, m interface {
	Abandon(ctx context.Context, id session.ID) error
},
) *creation.Recorder {
	return &creation.Recorder{Store: db, Settle: func(ctx context.Context, id session.ID) (bool, error) { return false, m.Abandon(ctx, id) }}
}

func (m *machine) Abandon(_ context.Context, id session.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = slices.DeleteFunc(m.all, func(s *sandbox.Sandbox) bool { return s.ID == id })
	return nil
}

func (m *machine) Metrics(_ context.Context, tenant session.Tenant, id string) (sandbox.Metrics, error) {
	if _, err := m.find(tenant, id); err != nil {
		return sandbox.Metrics{}, err
	}
	return sandbox.Metrics{
		Usage:  session.Usage{Measured: time.Now(), CPUSeconds: 1.5, Memory: 64 << 20, Processes: 3, Disk: 4096},
		Egress: session.Egress{Up: 10, Down: 2000}, Refused: 4, Tokens: session.Tokens{Input: 500, Output: 60},
	}, nil
}

func (m *machine) Running(_ context.Context, tenant session.Tenant, id string) (session.ID, error) {
	s, err := m.find(tenant, id)
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

func (m *machine) Network(_ context.Context, tenant session.Tenant, id string) (sandbox.Network, error) {
	_, err := m.find(tenant, id)
	return sandbox.Network{Policy: "allowlist"}, err
}

func (m *machine) SetNetwork(ctx context.Context, tenant session.Tenant, id string, _ session.NetworkLists) (sandbox.Network, error) {
	return m.Network(ctx, tenant, id)
}

func (m *machine) Pause(ctx context.Context, tenant session.Tenant, id string) (sandbox.Sandbox, error) {
	return m.Get(ctx, tenant, id)
}

func (m *machine) Resume(ctx context.Context, tenant session.Tenant, id string) (sandbox.Sandbox, error) {
	s, err := m.find(tenant, id)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	s.State = sandbox.Running
	return *s, nil
}

func (m *machine) CreateVolume(_ context.Context, tenant session.Tenant, name string) (volume.Volume, error) {
	return volume.Volume{Tenant: tenant, Name: name}, nil
}

func (m *machine) ListVolumes(context.Context, session.Tenant) ([]volume.Volume, error) {
	return nil, nil
}

func (m *machine) DeleteVolume(_ context.Context, _ session.Tenant, name string) error {
	return fault.New(fault.NotFound, "there is no volume %q", name)
}

func (m *machine) StartProcess(_ context.Context, id session.ID, r process.Request) (process.Info, error) {
	if err := r.Validate(); err != nil {
		return process.Info{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &program{
		info:   process.Info{ID: len(m.running[id]) + 1, Argv: r.Argv, Started: time.Now(), PID: 7},
		record: process.NewRecord(m.dir, r.Keep, r.Overflow), signal: make(chan int, 8), ended: make(chan struct{}),
	}
	if r.Copy != nil {
		p.copied = r.Copy.Path
	}
	in, stdin := io.Pipe()
	p.stdin = stdin
	m.running[id] = append(m.running[id], p)
	go p.run(in)
	return p.info, nil
}

func (m *machine) RunProcess(ctx context.Context, id session.ID, r process.Request, started func(process.Info) error, visit func(process.Frame) error) (process.Exit, error) {
	return servertest.RunProcess(ctx, m, id, r, started, visit)
}

// run simulates the program.
func (p *program) run(in *io.PipeReader) {
	var exit process.Exit
	ctx := context.Background()
	out := func(data []byte) { _ = p.record.Append(ctx, process.Stdout, data) }
	switch argv := p.info.Argv; {
	case p.copied == "/denied": // it ends before it has read its input
		_ = p.record.Append(ctx, process.Stderr, []byte("permission denied"))
		exit.Code = 1
	case p.copied == "/whole":
		out([]byte("an archive"))
	case p.copied == "/special":
		out([]byte("an archive"))
		_ = p.record.Append(ctx, process.Stderr, []byte("\"pipe\" is left out\x1b[m\n"))
	case p.copied == "/cut":
		out([]byte("half an archive"))
		exit.Cut = true
	case len(argv) == 0: // a copy
		_, _ = io.Copy(io.Discard, in)
	case argv[0] == "echo":
		out([]byte(strings.Join(argv[1:], " ") + "\n"))
	case argv[0] == "cat":
		buf := make([]byte, 4096)
		for {
			n, err := in.Read(buf)
			out(buf[:n])
			if err != nil {
				break
			}
		}
	case argv[0] == "flood":
		var n int
		_, _ = fmt.Sscan(argv[1], &n)
		for i := 0; n > 0; i++ {
			piece := bytes.Repeat([]byte(fmt.Sprintf("%08d", i)), 1000)
			out(piece[:min(n, len(piece))])
			n -= len(piece)
		}
	case argv[0] == "wait":
		exit.Signal = <-p.signal
		exit.Code = 128 + exit.Signal
	default:
		exit.Code, exit.Error = 127, "there is no such program"
	}
	_ = in.Close()
	_ = p.record.End(exit)
	close(p.ended)
}

// awaitEnd waits for the end of a process of the first sandbox. Its output is not read.
func (m *machine) awaitEnd(t *testing.T, number int32) {
	t.Helper()
	p, err := m.program("00001-sandbox", int(number))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Fatal("the process waits for a reader")
	}
}

func (m *machine) program(id session.ID, number int) (*program, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.running[id] {
		if p.info.ID == number {
			return p, nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no process %d", number)
}

func (m *machine) Processes(_ context.Context, id session.ID) (all []process.Info, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.running[id] {
		info := p.info
		info.Frames = 1 << 40 // a fake does not count
		all = append(all, info)
	}
	return all, nil
}

func (m *machine) Process(_ context.Context, id session.ID, number int) (process.Info, error) {
	p, err := m.program(id, number)
	if err != nil {
		return process.Info{}, err
	}
	info := p.info
	info.Frames = 1 << 40 // a fake does not count
	return info, nil
}

func (m *machine) ReadProcess(ctx context.Context, id session.ID, number int, from uint64, visit func(process.Frame) error) (process.Exit, error) {
	p, err := m.program(id, number)
	if err != nil {
		return process.Exit{}, err
	}
	reader, err := p.record.Reader(from)
	if err != nil {
		return process.Exit{}, err
	}
	defer reader.Close()
	for {
		frame, err := reader.Next(ctx)
		if err != nil {
			return process.Exit{}, err
		}
		if err := visit(frame); err != nil {
			return process.Exit{}, err
		}
		reader.Take(frame.Seq)
		if frame.Kind == process.Ended {
			return frame.Exit()
		}
	}
}

func (m *machine) ProcessInput(_ context.Context, id session.ID, number int, in io.Reader, end bool) error {
	p, err := m.program(id, number)
	if err != nil {
		return err
	}
	if _, err := io.Copy(p.stdin, in); err != nil {
		return session.WrongState("it has ended")
	}
	if end {
		return p.stdin.Close()
	}
	return nil
}

func (m *machine) SignalProcess(_ context.Context, id session.ID, number, signal int) error {
	p, err := m.program(id, number)
	if err == nil {
		p.signal <- signal
	}
	return err
}

func (m *machine) ResizeProcess(context.Context, session.ID, int, screen.Size) error { return nil }

func (m *machine) Load(id session.ID) (session.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tenant, ok := m.agents[id]
	if !ok {
		return session.Session{}, fs.ErrNotExist
	}
	return session.Session{Spec: session.Spec{ID: id, Tenant: tenant}}, nil
}

func (m *machine) AuditLogs(ids ...string) ([]auditlog.Log, error) {
	return []auditlog.Log{{Session: session.ID(ids[0])}}, nil
}

func (m *machine) AuditEvents([]auditlog.Log, func(auditlog.Event) error) error { return nil }

func (m *machine) VerifyAudit(auditlog.Log) (audit.Verified, error) {
	return audit.Verified{}, nil
}

// noFiles has no file.
type noFiles struct{}

var errNoFile = &files.Error{Code: files.NotFound, Message: "there is no such file"}

func (noFiles) Stat(context.Context, files.Path, bool) (files.Entry, error) {
	return files.Entry{}, errNoFile
}

func (noFiles) List(context.Context, files.Path, files.ListOptions) (files.Page, error) {
	return files.Page{}, errNoFile
}

func (noFiles) MakeFolder(context.Context, files.Path, files.MakeOptions) (files.Entry, error) {
	return files.Entry{}, errNoFile
}

func (noFiles) Move(context.Context, files.Path, files.Path, bool) (files.Entry, error) {
	return files.Entry{}, errNoFile
}

func (noFiles) Remove(context.Context, files.Path, bool) error { return errNoFile }

func (noFiles) Read(context.Context, files.Path, files.Range) (files.Entry, io.ReadCloser, error) {
	return files.Entry{}, nil, errNoFile
}

func (noFiles) Write(_ context.Context, _ files.Path, in io.Reader, _ files.WriteOptions) (files.Entry, error) {
	n, err := io.Copy(io.Discard, in)
	return files.Entry{Path: "/x", Kind: files.Regular, Size: n}, err
}

func (noFiles) Watch(context.Context, files.Path, bool, func(), func(files.Event) error) error {
	return errNoFile
}

// site is a server on TCP with a fake machine.
type site struct {
	*Server
	t     testing.TB
	m     *machine
	store *store.Store
	url   string
	mu    sync.Mutex
	calls []Call
}

// newSite starts a server. change may complete its options.
func newSite(t testing.TB, change func(*Options)) *site {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "api", "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, m: &machine{running: map[session.ID][]*program{}, dir: t.TempDir()}, store: db}
	o := Options{
		Services: Services{
			Sandboxes: s.m, Processes: s.m, Audit: s.m, Creations: recorderOf(db, s.m),
			Files: func(context.Context, session.ID, string) Files { return noFiles{} },
		},
		Tokens: db,
		Record: func(c Call) { s.mu.Lock(); defer s.mu.Unlock(); s.calls = append(s.calls, c) },
	}
	if change != nil {
		change(&o)
	}
	if s.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener, nil, 0) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = db.Close()
	})
	return s
}

// token returns a token of a tenant with all rights but some.
func (s *site) token(tenant session.Tenant, without ...string) string {
	s.t.Helper()
	rights := auth.Rights()
	for _, name := range without {
		right, err := auth.ParseRight(name)
		if err != nil {
			s.t.Fatal(err)
		}
		rights = slices.DeleteFunc(rights, func(r rightType) bool { return r == right })
	}
	token, _, err := s.store.CreateToken(s.t.Context(), tenant, "", rights, time.Time{})
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// sandbox creates a sandbox of a tenant.
func (s *site) sandbox(tenant session.Tenant) string {
	s.t.Helper()
	made, err := s.m.Create(s.t.Context(), sandbox.Request{Tenant: tenant}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(made.ID)
}

// dialProcess opens the WebSocket of a process of a sandbox, with a query such as
// "?from_seq=1".
func (s *site) dialProcess(id string, process int, token, query string) *websocket.Conn {
	s.t.Helper()
	url := fmt.Sprintf("%s/v1/sandboxes/%s/processes/%d/ws%s", strings.Replace(s.url, "http", "ws", 1), id, process, query)
	conn, _, err := websocket.Dial(s.t.Context(), url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// answer is an answer of the server.
type answer struct {
	status int
	header http.Header
	body   string
}

// request sends one request. Headers are NAME: VALUE.
func (s *site) request(method, path, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Del(name)
		r.Header.Add(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil && !strings.Contains(err.Error(), "EOF") {
		s.t.Fatal(err)
	}
	maps.Copy(response.Header, response.Trailer) // of gRPC
	return answer{response.StatusCode, response.Header, string(data)}
}

func bearer(token string) string { return "Authorization: Bearer " + token }
