package control

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/session/process"
)

// fakeProcesses answers like a supervisor with at most one process, with the record r.
type fakeProcesses struct {
	dir     string
	request process.Request
	r       *process.Record
	done    chan struct{}
	input   bytes.Buffer
	ended   bool
	size    screen.Size
	number  int
}

func (f *fakeProcesses) Start(_ context.Context, request process.Request) (process.Info, error) {
	if err := request.Validate(); err != nil {
		return process.Info{}, err
	}
	f.request, f.r, f.done = request, process.NewRecord(f.dir, request.Keep, request.Overflow), make(chan struct{})
	return process.Info{ID: 1, Argv: request.Argv, PID: 7}, nil
}

func (f *fakeProcesses) List() []process.Info {
	frames, output := f.r.Sizes()
	return []process.Info{{ID: 1, Argv: f.request.Argv, Frames: frames, Output: output}}
}

func (f *fakeProcesses) Info(id int) (process.Info, error) {
	if err := f.check(id); err != nil {
		return process.Info{}, err
	}
	return f.List()[0], nil
}

func (f *fakeProcesses) check(id int) error {
	if id != 1 {
		return fault.New(fault.Usage, "there is no process %d", id)
	}
	return nil
}

func (f *fakeProcesses) Read(id int, from uint64) (*process.Reader, error) {
	if err := f.check(id); err != nil {
		return nil, err
	}
	return f.r.Reader(from)
}

func (f *fakeProcesses) Input(_ context.Context, _ int, in io.Reader, end bool) error {
	_, err := io.Copy(&f.input, in)
	f.ended = end && err == nil
	if err != nil {
		return fault.New(fault.Conflict, "process 1 has ended")
	}
	return nil
}

func (f *fakeProcesses) Done(id int) (<-chan struct{}, error) { return f.done, f.check(id) }

func (f *fakeProcesses) Resize(id int, size screen.Size) error {
	f.size = size
	return f.check(id)
}

func (f *fakeProcesses) Signal(id, number int) error {
	f.number = number
	return f.check(id)
}

func (f *fakeProcesses) Terminal(id int) (Terminal, error) {
	return nil, errors.Join(f.check(id), fault.New(fault.Usage, "process %d has no terminal", id))
}

func startFake(t *testing.T, request process.Request) (*fakeProcesses, Client) {
	t.Helper()
	f, c := serveFake(t, t.TempDir())
	info, err := c.StartProcess(t.Context(), request)
	if err != nil || info.ID != 1 || info.PID != 7 {
		t.Fatalf("%+v, %v", info, err)
	}
	fake := f.procs.(*fakeProcesses)
	t.Cleanup(func() { fake.r.Close() })
	return fake, c
}

// 100 MB arrive with equal hashes although the client reconnects repeatedly, and the record
// keeps only a part.
func TestAClientThatReconnectsLosesNothingOfAProcess(t *testing.T) {
	f, c := startFake(t, process.Request{Argv: []string{"x"}, Keep: 1 << 20})
	const size = 100 << 20
	want := make(chan [32]byte)
	go func() {
		hash, random, p := sha256.New(), rand.NewChaCha8([32]byte{1}), make([]byte, 50_000)
		for left := size; left > 0; {
			n := min(len(p), left)
			_, _ = random.Read(p[:n])
			if err := f.r.Append(t.Context(), process.Stdout, p[:n]); err != nil {
				t.Error(err)
			}
			hash.Write(p[:n])
			left -= n
		}
		_ = f.r.End(process.Exit{Code: 5})
		want <- [32]byte(hash.Sum(nil))
	}()
	hash, next, connections := sha256.New(), uint64(1), 0
	for ended := false; !ended; connections++ {
		r, err := c.ConnectProcess(t.Context(), 1, next)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			frame, err := r.Next()
			if err != nil || frame.Seq != next {
				t.Fatalf("frame %d in place of %d: %v", frame.Seq, next, err)
			}
			next++
			if frame.Kind == process.Ended {
				exit, err := frame.Exit()
				if _, after := r.Next(); err != nil || exit.Code != 5 || !errors.Is(after, io.EOF) {
					t.Errorf("%+v, %v, %v", exit, err, after)
				}
				ended = true
				break
			}
			hash.Write(frame.Data)
		}
		_ = r.Close()
	}
	if [32]byte(hash.Sum(nil)) != <-want || connections < 50 {
		t.Errorf("other bytes after %d connections", connections)
	}
}

func TestInputResizeAndSignalReachAProcess(t *testing.T) {
	f, c := startFake(t, process.Request{Argv: []string{"x"}, Stdin: true})
	if err := c.ProcessInput(t.Context(), 1, strings.NewReader("some input"), true); err != nil || f.input.String() != "some input" || !f.ended {
		t.Errorf("%q, %v, %v", f.input.String(), f.ended, err)
	}
	if err := c.ResizeProcess(t.Context(), 1, screen.Size{Rows: 30, Cols: 90}); err != nil || f.size != (screen.Size{Rows: 30, Cols: 90}) {
		t.Errorf("%+v, %v", f.size, err)
	}
	if err := c.SignalProcess(t.Context(), 1, 15); err != nil || f.number != 15 {
		t.Errorf("%d, %v", f.number, err)
	}
	if all, err := c.Processes(t.Context()); err != nil || len(all) != 1 || all[0].Argv[0] != "x" {
		t.Errorf("%+v, %v", all, err)
	}
	if info, err := c.Process(t.Context(), 1); err != nil || info.Argv[0] != "x" {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := c.Process(t.Context(), 2); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a process that does not exist: %v", err)
	}
}

// A client that waits for more input to send must learn that the process has ended.
func TestEndOfAProcessEndsItsInput(t *testing.T) {
	f, c := startFake(t, process.Request{Argv: []string{"x"}, Stdin: true})
	in, out := io.Pipe()
	defer out.Close()
	done := make(chan error, 1)
	go func() { done <- c.ProcessInput(t.Context(), 1, in, true) }()
	if _, err := out.Write([]byte("first")); err != nil {
		t.Fatal(err)
	}
	close(f.done)
	select {
	case err := <-done:
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Kind() != fault.Conflict {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it still waits")
	}
}

func TestWrongRequestsForProcessesAreRefused(t *testing.T) {
	f, c := startFake(t, process.Request{Argv: []string{"x"}})
	_ = f.r.End(process.Exit{})
	attempts := map[string]func() error{
		"no command":       func() error { _, err := c.StartProcess(t.Context(), process.Request{}); return err },
		"an empty command": func() error { _, err := c.StartProcess(t.Context(), process.Request{Argv: []string{""}}); return err },
		"a tiny record": func() error {
			_, err := c.StartProcess(t.Context(), process.Request{Argv: []string{"x"}, Keep: 1})
			return err
		},
		"a wrong overflow": func() error {
			_, err := c.StartProcess(t.Context(), process.Request{Argv: []string{"x"}, Overflow: "lose"})
			return err
		},
		"another process":   func() error { _, err := c.ConnectProcess(t.Context(), 2, 1); return err },
		"signal of another": func() error { return c.SignalProcess(t.Context(), 2, 9) },
		"input of another":  func() error { return c.ProcessInput(t.Context(), 2, strings.NewReader(""), false) },
		"no terminal":       func() error { _, err := c.AttachProcess(t.Context(), 1, screen.Size{}, 0); return err },
		"a later frame":     func() error { _, err := c.ConnectProcess(t.Context(), 1, 3); return err },
	}
	for name, attempt := range attempts {
		var refused *RefusedError
		if err := attempt(); !errors.As(err, &refused) {
			t.Errorf("%s gave %v", name, err)
		}
	}
}

// counting counts the connections to a control socket.
type counting struct {
	net.Listener
	count atomic.Int32
}

func (l *counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.count.Add(1)
	}
	return conn, err
}

func TestAProcessIsStartedAndReadOverOneConnection(t *testing.T) {
	dir := t.TempDir()
	listener, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	counted := &counting{Listener: listener}
	fake := &fakeProcesses{dir: dir}
	server := Serve(counted, fakeControls{procs: fake})
	t.Cleanup(func() { _ = server.Close() })
	info, r, err := Dial(dir, time.Minute).RunProcess(t.Context(), process.Request{Argv: []string{"x", "y"}})
	if err != nil || r == nil || info.ID != 1 || info.PID != 7 || len(info.Argv) != 2 {
		t.Fatalf("%+v, %v, %v", info, r, err)
	}
	defer r.Close()
	if err := errors.Join(fake.r.Append(t.Context(), process.Stdout, []byte("text")), fake.r.End(process.Exit{Code: 3})); err != nil {
		t.Fatal(err)
	}
	first, err := r.Next()
	if err != nil || first.Seq != 1 || string(first.Data) != "text" {
		t.Errorf("%+v, %v", first, err)
	}
	last, err := r.Next()
	if exit, exitErr := last.Exit(); err != nil || exitErr != nil || last.Seq != 2 || exit.Code != 3 {
		t.Errorf("%+v, %v, %v", last, err, exitErr)
	}
	if got := counted.count.Load(); got != 1 {
		t.Errorf("%d connections", got)
	}
}

func TestAProcessThatIsRefusedHasNoFrames(t *testing.T) {
	_, c := serveFake(t, t.TempDir())
	_, r, err := c.RunProcess(t.Context(), process.Request{})
	var refused *RefusedError
	if r != nil || !errors.As(err, &refused) || refused.Kind() != fault.Usage {
		t.Errorf("%v, %v", r, err)
	}
}

// A running session keeps the supervisor with which it was started, even after aibox was
// updated.
func TestAnOlderSupervisorOnlyStartsAProcess(t *testing.T) {
	dir := t.TempDir()
	listener, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/processes", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, process.Info{ID: 4}, nil) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	info, r, err := Dial(dir, time.Minute).RunProcess(t.Context(), process.Request{Argv: []string{"x"}})
	if err != nil || r != nil || info.ID != 4 {
		t.Errorf("%+v, %v, %v", info, r, err)
	}
}

func TestAnOlderSupervisorAnswersForOneProcessWithAll(t *testing.T) {
	dir := t.TempDir()
	listener, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/processes", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, []process.Info{{ID: 3}, {ID: 4, PID: 7}}, nil)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	c := Dial(dir, time.Minute)
	if info, err := c.Process(t.Context(), 4); err != nil || info.PID != 7 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := c.Process(t.Context(), 5); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a process that does not exist: %v", err)
	}
}

// pieces are the sizes of the writes.
type pieces []int

func (p *pieces) Write(data []byte) (int, error) {
	*p = append(*p, len(data))
	return len(data), nil
}

func TestMuchInputIsSentInLargePieces(t *testing.T) {
	const size = 10 * largeInput
	var got pieces
	n, err := copyInput(&got, io.LimitReader(rand.NewChaCha8([32]byte{}), size))
	if err != nil || n != size || len(got) > 12 || got[0] != smallInput {
		t.Errorf("%d bytes in %v, %v", n, got, err)
	}
}

// stored is a connection from which only stored bytes arrive.
type stored struct {
	io.Reader
	sent bytes.Buffer
}

func (s *stored) Write(data []byte) (int, error) { return s.sent.Write(data) }

func (s *stored) Close() error { return nil }

// A record counts the headers of its frames. A process that prints single bytes would wait forever
// if its reader did not.
func TestAClientReportsSmallFramesBeforeTheirRecordIsFull(t *testing.T) {
	var frames []byte
	count := uint64(0)
	for len(frames) < 2*takenSize {
		count++
		frames = process.Frame{Seq: count, Kind: process.Stdout, Data: []byte{'.'}}.Append(frames)
	}
	conn := &stored{Reader: bytes.NewReader(frames)}
	reader := Client{timeout: time.Minute}.newProcessReader(conn, 1)
	defer reader.Close()
	for range count {
		if _, err := reader.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if conn.sent.Len() == 0 {
		t.Errorf("%d bytes of frames were read, and none were reported", len(frames))
	}
}
