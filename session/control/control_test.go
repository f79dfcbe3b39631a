package control

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/relay"
	"aibox/session/output"
	"aibox/session/ports"
)

// fakeControls answers like a supervisor with the record r.
type fakeControls struct {
	term    Terminal
	procs   Processes
	files   Files
	r       *output.Recorder
	dir     string
	reasons chan string
	signals chan int

	log     *audit.Log
	extends chan time.Duration
}

func (f fakeControls) Usage() (any, error) { return map[string]int{"memory": 7}, nil }

func (f fakeControls) Snapshot() any { return map[string]string{} }

func (f fakeControls) Follow(ctx context.Context, from int64, visit func(output.Chunk) error) error {
	return f.r.Follow(ctx, f.dir, from, visit)
}

func (f fakeControls) Events(ctx context.Context, from int, visit func(audit.Event) error) error {
	return f.log.Follow(ctx, from, visit)
}

func (f fakeControls) Answer(request int, answer string) error {
	return fmt.Errorf("%d, %s", request, answer)
}

func (f fakeControls) WatchRequests(_ context.Context, visit func(any) error) error {
	return errors.Join(visit([]int{}), visit([]int{7}))
}

func (f fakeControls) Extend(by time.Duration) error {
	f.extends <- by
	return nil
}

func (f fakeControls) ChangePolicy(allow, deny []string, reason string) (any, error) {
	if slices.Contains(allow, "*") {
		return nil, fault.New(fault.Usage, "too wide")
	}
	return map[string][]string{"allow": allow, "deny": deny, "reason": {reason}}, nil
}

func (f fakeControls) Ports(context.Context) ([]ports.Listening, error) {
	return []ports.Listening{{Address: netip.MustParseAddr("127.0.0.1"), Port: 3000}}, nil
}

func (f fakeControls) OpenPort(_ context.Context, r ports.Request) (func(func(ports.Update) error) error, error) {
	if r.Local == 80 {
		return nil, fault.New(fault.Usage, "port 80 is privileged").Hint("use --local 0\nor 8080")
	}
	return func(visit func(ports.Update) error) error {
		address := fmt.Sprintf("%s:%d to %d", r.Address, r.Local, r.Port)
		return errors.Join(visit(ports.Update{Address: address}), visit(ports.Update{Counts: &ports.Counts{Sent: 1}}))
	}, nil
}

func (f fakeControls) DialPort(_ context.Context, port uint16) (func(relay.Conn), error) {
	switch port {
	case 3000:
		return func(client relay.Conn) {
			_, _ = io.WriteString(client, "hello ")
			_, _ = io.Copy(client, struct{ io.Reader }{client})
			client.Close()
		}, nil
	case 22:
		return nil, fault.New(fault.Limit, "too many").Hint("wait")
	default:
		return nil, fmt.Errorf("dialing: %w", ports.ErrNothingListens)
	}
}

func (f fakeControls) Terminal() Terminal { return f.term }

func (f fakeControls) Processes() Processes { return f.procs }
func (f fakeControls) Files() Files         { return f.files }

func (f fakeControls) Sandbox() Sandbox { return nil }

func (f fakeControls) Stop(reason string, grace time.Duration) {
	f.reasons <- strings.TrimSuffix(fmt.Sprintf("%s %s", reason, grace), " 0s")
}

func (f fakeControls) Signal(number int) error {
	if number == 99 {
		return errors.New("no such signal")
	}
	f.signals <- number
	return nil
}

func serveFake(t *testing.T, dir string) (fakeControls, Client) {
	t.Helper()
	recorded := t.TempDir()
	r, err := output.NewRecorder(recorded)
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	f := fakeControls{
		procs: &fakeProcesses{dir: recorded}, r: r, dir: recorded, reasons: make(chan string, 1), signals: make(chan int, 1),
		log: log, extends: make(chan time.Duration, 1),
	}
	listener, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := Serve(listener, f)
	t.Cleanup(func() { _ = server.Close() })
	return f, Dial(dir, AnswerTimeout)
}

func TestChunksAreReadWithAndWithoutTimes(t *testing.T) {
	at := time.Unix(1_700_000_000, 5)
	for _, timed := range []bool{false, true} {
		for _, sent := range []output.Chunk{{Stream: output.Stderr, Time: at, Data: []byte("two")}, {Stream: output.Stdout, Data: []byte{}}} {
			var wire bytes.Buffer
			if err := writeChunk(&wire, sent, timed); err != nil {
				t.Fatal(err)
			}
			got, err := readChunk(&wire, timed)
			if !timed {
				sent.Time = time.Time{}
			}
			if err != nil || got.Stream != sent.Stream || !got.Time.Equal(sent.Time) || !bytes.Equal(got.Data, sent.Data) || wire.Len() > 0 {
				t.Errorf("timed %v: %+v became %+v, %v", timed, sent, got, err)
			}
		}
	}
}

func TestTheControlSocketServesFollowStopAndSignal(t *testing.T) {
	dir := t.TempDir()
	f, c := serveFake(t, dir)
	if err := errors.Join(f.r.Append(output.Stdout, []byte("one ")), f.r.Append(output.Stderr, []byte("two")), f.r.Close()); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	end, err := c.Output(t.Context(), 2, func(chunk output.Chunk) error {
		text.Write(chunk.Data)
		if age := time.Since(chunk.Time); age < 0 || age > time.Minute {
			t.Errorf("%q was printed %v ago", chunk.Data, age)
		}
		return nil
	})
	if err != nil || end != 7 || text.String() != "e two" {
		t.Errorf("followed %q up to %d, %v", text.String(), end, err)
	}
	if err := c.Stop(t.Context(), "because", 0); err != nil || <-f.reasons != "because" {
		t.Errorf("stop gave %v", err)
	}
	if err := c.Stop(t.Context(), "slowly", time.Minute); err != nil || <-f.reasons != "slowly 1m0s" {
		t.Errorf("a stop with a grace gave %v", err)
	}
	for _, grace := range []string{"-1s", "soon", "1"} {
		if err := c.post(t.Context(), "/v1/stop", url.Values{"grace": {grace}}); err == nil {
			t.Errorf("the grace %q is accepted", grace)
		}
	}
	if err := c.Signal(t.Context(), 2); err != nil || <-f.signals != 2 {
		t.Errorf("signal gave %v", err)
	}
	if err := c.Signal(t.Context(), 99); err == nil || errors.Is(err, ErrNoSupervisor) {
		t.Errorf("a refused signal gave %v", err)
	}
}

func TestOnlyTheOwnerCanUseTheControlSocket(t *testing.T) {
	dir := t.TempDir()
	serveFake(t, dir)
	info, err := os.Lstat(filepath.Join(dir, SocketFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
}

// A page in a browser can at most send GET requests, through a program that forwards the
// socket: none of them changes anything.
func TestGETRequestsDoNotChangeASession(t *testing.T) {
	dir := t.TempDir()
	serveFake(t, dir)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, SocketFile))
	}}}
	for _, path := range []string{
		"answer?id=1&answer=yes", "policy?allow=example.com", "extend?by=1h", "stop?reason=x", "signal?number=9", "open?port=80", "dial?port=80",
		"attach?rows=1&cols=1", "files", "processes/x/stdin", "processes/x/signal?number=9", "processes/x/resize?rows=1&cols=1", "processes/x/connect", "processes/x/attach",
		"sandbox", "sandbox/network", "sandbox/claim", "sandbox/pause", "sandbox/resume",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://aibox/v1/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %s", path, response.Status)
		}
	}
}

func TestAClientCannotHoldTheControlSocketWithAnEndlessHead(t *testing.T) {
	dir := t.TempDir()
	listener, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := Serve(listener, fakeControls{})
	defer server.Close()
	if limit := server.ReadHeaderTimeout; limit <= 0 || limit > time.Minute {
		t.Errorf("a head may take %v", limit)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", filepath.Join(dir, SocketFile))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		_, _ = io.WriteString(conn, "GET /v1/state HTTP/1.1\r\nHost: aibox\r\nX: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a head of 64 KiB: %s", response.Status)
	}
}

func TestAControlSocketWorksWithAVeryLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, c := serveFake(t, dir)
	if err := c.Stop(t.Context(), "far away", 0); err != nil || <-f.reasons != "far away" {
		t.Fatalf("stop gave %v", err)
	}
}

func TestAMissingSupervisorIsReported(t *testing.T) {
	if err := Dial(t.TempDir(), AnswerTimeout).Stop(t.Context(), "", 0); !errors.Is(err, ErrNoSupervisor) {
		t.Fatalf("got %v", err)
	}
}

func TestPolicyChangesReachTheSession(t *testing.T) {
	_, c := serveFake(t, t.TempDir())
	var got map[string][]string
	if err := c.ChangePolicy(t.Context(), []string{"a.example", "b.example:8443"}, []string{"*"}, "a test", &got); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"allow": {"a.example", "b.example:8443"}, "deny": {"*"}, "reason": {"a test"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	many := make([]string, 2000)
	for i := range many {
		many[i] = fmt.Sprintf("host-%d.of-a-long-list.example", i)
	}
	if err := c.ChangePolicy(t.Context(), many, nil, "", &got); err != nil || !slices.Equal(got["allow"], many) {
		t.Errorf("a long list: %d of %d entries, %v", len(got["allow"]), len(many), err)
	}
	for _, allow := range [][]string{{"*"}, nil} {
		var refused *RefusedError
		if err := c.ChangePolicy(t.Context(), allow, nil, "", &got); !errors.As(err, &refused) || refused.Kind() != fault.Usage {
			t.Errorf("%q gave %v", allow, err)
		}
	}
}
