package lifeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/probe"
)

// pair returns the two ends of one lifeline.
func pair(t *testing.T) (supervisor, init *Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialed, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	supervisor, init = NewConn(accepted), NewConn(dialed)
	t.Cleanup(func() { _ = supervisor.Close(); _ = init.Close() })
	return supervisor, init
}

func TestFrameArrivesUnchanged(t *testing.T) {
	a, b := pair(t)
	for _, size := range []int{0, 1, MaxPayload - 1, MaxPayload} {
		want := bytes.Repeat([]byte{7}, size)
		if err := b.Send(Frame{TypeStdout, want}); err != nil {
			t.Fatal(err)
		}
		got, err := a.Receive()
		if err != nil || got.Type != TypeStdout || !bytes.Equal(got.Payload, want) {
			t.Errorf("%d bytes: got %#x with %d, %v", size, got.Type, len(got.Payload), err)
		}
	}
}

func TestLongOutputIsSplitIntoFrames(t *testing.T) {
	a, b := pair(t)
	go func() { _ = b.Send(Frame{TypeStdout, make([]byte, MaxPayload+1)}) }()
	for _, want := range []int{MaxPayload, 1} {
		if got, err := a.Receive(); err != nil || len(got.Payload) != want {
			t.Errorf("got %d bytes, want %d (%v)", len(got.Payload), want, err)
		}
	}
}

func TestLongMessageArrivesWhole(t *testing.T) {
	a, b := pair(t)
	want := Start{Argv: []string{"agent", strings.Repeat("p", 1<<20)}}
	go func() { _ = a.Start(want) }()
	f, err := b.Receive()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode[Start](f)
	if err != nil || len(got.Argv) != 2 || got.Argv[1] != want.Argv[1] {
		t.Errorf("got %d arguments, %v", len(got.Argv), err)
	}
}

func TestMessageOverTheLimitIsNotSent(t *testing.T) {
	a, _ := pair(t)
	if err := a.Start(Start{Argv: []string{strings.Repeat("p", MaxMessage)}}); err == nil {
		t.Error("it was sent")
	}
}

func TestEndInsideAFrameIsNotEOF(t *testing.T) {
	for raw, want := range map[string]error{
		"":                       io.EOF,
		"\x44\x00":               io.ErrUnexpectedEOF,
		"\x44\x00\x00\x00\x05ab": io.ErrUnexpectedEOF,
		"\xc8\x00\x00\x00\x01{":  io.ErrUnexpectedEOF, // the rest of a message is missing
		"\x44\x00\x01\x00\x01":   ErrProtocol,
		"\x00\x00\x00\x00\x00":   ErrProtocol,
		"\xc4\x00\x00\x00\x01x":  ErrProtocol, // split output
		"\xc8\x00\x00\x00\x00":   ErrProtocol, // an empty part
		"\xc8\x00\x00\x00\x01{\x47\x00\x00\x00\x01}": ErrProtocol, // another frame in between
	} {
		if _, err := readFrame(strings.NewReader(raw), nil); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", raw, err, want)
		}
	}
}

func TestEndlessMessageIsCutOff(t *testing.T) {
	part := append(appendHeader(nil, TypeError|more, MaxPayload), make([]byte, MaxPayload)...)
	endless := io.MultiReader(bytes.NewReader(bytes.Repeat(part, MaxMessage/MaxPayload)), bytes.NewReader(part))
	if _, err := readFrame(endless, nil); !errors.Is(err, ErrProtocol) {
		t.Errorf("got %v", err)
	}
}

func TestInputWaitsForTheAgent(t *testing.T) {
	a, b := pair(t)
	sent := make(chan error, 1)
	go func() { sent <- a.Stdin(context.Background(), make([]byte, windowSize+1)) }()
	go func() {
		for {
			if _, err := a.Receive(); err != nil {
				return
			}
		}
	}()
	for taken := 0; taken < windowSize; {
		f, err := b.Receive()
		if err != nil {
			t.Fatal(err)
		}
		taken += len(f.Payload)
	}
	select {
	case err := <-sent:
		t.Fatalf("more than the window was sent (%v)", err)
	default:
	}
	if err := b.Acknowledge(1); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestClosingEndsAWaitingInput(t *testing.T) {
	a, b := pair(t)
	go func() { _, _ = io.Copy(io.Discard, b.conn) }()
	sent := make(chan error, 1)
	go func() { sent <- a.Stdin(context.Background(), make([]byte, 2*windowSize)) }()
	_ = a.Close()
	if err := <-sent; err == nil {
		t.Error("the input ended without an error")
	}
}

func TestFalseAcknowledgmentEndsTheConnection(t *testing.T) {
	a, b := pair(t)
	if err := b.Acknowledge(1); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Receive(); !errors.Is(err, ErrProtocol) {
		t.Errorf("got %v", err)
	}
	if err := a.CloseStdin(); err == nil {
		t.Error("the connection is still open")
	}
}

func TestOtherProtocolVersionIsRejected(t *testing.T) {
	a, b := pair(t)
	if err := b.SendMessage(TypeHello, Hello{Version: Version + 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Hello(t.Context()); !errors.Is(err, ErrProtocol) {
		t.Errorf("got %v", err)
	}
}

// twoProbes returns a plan, and the results of it that a sandbox sends.
func twoProbes() (plan probe.Plan, first, second ProbeResult) {
	plan.Probes = []probe.Probe{
		{Name: "one", Kind: probe.TCP, Target: "192.0.2.1:1", Want: probe.Refused},
		{Name: "two", Kind: probe.TCP, Target: "192.0.2.2:1", Want: probe.Refused},
	}
	return plan, ProbeResult{0, plan.Probes[0].Pending()}, ProbeResult{1, plan.Probes[1].Pending()}
}

func TestResultsAreReportedAtOnceAndReturnedInOrder(t *testing.T) {
	a, b := pair(t)
	plan, first, second := twoProbes()
	firstReported := make(chan struct{})
	go func() {
		_, _ = b.Receive()
		_ = b.SendMessage(TypeProbeResult, second)
		<-firstReported
		_ = b.SendMessage(TypeProbeResult, first)
	}()
	var reported []int
	results, err := a.Probe(t.Context(), plan, func(place int, r probe.Result) {
		if r.Name != plan.Probes[place].Name {
			t.Errorf("%q is at place %d", r.Name, place)
		}
		if reported = append(reported, place); len(reported) == 1 {
			close(firstReported)
		}
	})
	if err != nil || !slices.Equal(reported, []int{1, 0}) || !slices.Equal(results, []probe.Result{first.Result, second.Result}) {
		t.Errorf("reported %v, returned %+v, %v", reported, results, err)
	}
}

func TestUnplannedResultsEndTheProof(t *testing.T) {
	plan, first, second := twoProbes()
	for name, results := range map[string][]ProbeResult{
		"of another probe":   {{0, probe.Result{Name: "other", OK: true}}},
		"of another target":  {{0, probe.Result{Name: "one", Target: "192.0.2.2:1", OK: true}}},
		"in another's place": {{1, first.Result}},
		"twice":              {first, first},
		"before the plan":    {first, {-1, second.Result}},
		"behind the plan":    {first, {2, second.Result}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			go func() {
				_, _ = b.Receive()
				for _, r := range results {
					_ = b.SendMessage(TypeProbeResult, r)
				}
				_ = b.SendMessage(TypeProbeResult, second)
			}()
			if results, err := a.Probe(t.Context(), plan, nil); !errors.Is(err, ErrProtocol) || results != nil {
				t.Errorf("got %+v, %v", results, err)
			}
		})
	}
}

func TestMissingProbeResultFailsTheProof(t *testing.T) {
	a, b := pair(t)
	plan, first, _ := twoProbes()
	go func() {
		_, _ = b.Receive()
		_ = b.SendMessage(TypeProbeResult, first)
		_ = b.SendMessage(TypeStarted, Started{PID: 2})
	}()
	if results, err := a.Probe(t.Context(), plan, nil); !errors.Is(err, ErrProtocol) || results != nil {
		t.Errorf("got %+v, %v", results, err)
	}
}

func TestSilentInitIsDetected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		a, b := NewConn(near), NewConn(far)
		defer func() { _, _ = a.Close(), b.Close() }()
		go func() {
			for {
				if _, err := a.Receive(); err != nil {
					return
				}
			}
		}()
		alive, stop := context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer stop()
		answering := make(chan struct{})
		go func() {
			defer close(answering)
			for alive.Err() == nil {
				if f, err := b.Receive(); err != nil || f.Type != TypePing {
					return
				}
				_ = b.Send(Frame{Type: TypePong})
			}
		}()
		if err := a.Watch(alive, 100*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a live init: %v", err)
		}
		if err := a.Watch(t.Context(), 100*time.Millisecond); !errors.Is(err, ErrSilent) {
			t.Errorf("a silent init: %v", err)
		}
		_ = a.Close()
		<-answering
	})
}

// It could send all the time, and keep every sender waiting.
func TestInitThatDoesNotReadIsDetected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		a, b := NewConn(near), NewConn(far)
		defer func() { _, _ = a.Close(), b.Close() }()
		receiving(a)
		sending := make(chan struct{})
		go func() {
			defer close(sending)
			for b.Send(Frame{Type: TypePong}) == nil {
				time.Sleep(10 * time.Millisecond) // synctest's clock
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := a.Watch(ctx, 100*time.Millisecond); !errors.Is(err, ErrSilent) {
			t.Errorf("got %v", err)
		}
		_ = a.Close()
		<-sending
	})
}

// It may be slow, as long as it reads.
func TestInitThatReadsSlowlyIsNotReportedAsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		a, b := NewConn(near), NewConn(far)
		defer func() { _, _ = a.Close(), b.Close() }()
		receiving(a)
		reading := make(chan struct{})
		go func() {
			defer close(reading)
			for {
				time.Sleep(90 * time.Millisecond) // synctest's clock
				if _, err := b.Receive(); err != nil || b.Send(Frame{Type: TypePong}) != nil {
					return
				}
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Watch(ctx, 100*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		_ = a.Close()
		<-reading
	})
}

// While a machine is suspended, its clock continues, but the sandbox cannot answer.
func TestSuspendedMachineIsNotReportedAsSilence(t *testing.T) {
	var quiet silence
	before, after := time.Unix(1, 0), time.Unix(60, 0)
	for range silentChecks {
		if quiet.look(before) {
			t.Fatal("silence was seen before it was looked for often enough")
		}
	}
	if quiet.look(time.Time{}) || quiet.look(after) {
		t.Error("something came in between")
	}
	for range silentChecks - 1 {
		if quiet.look(after) {
			t.Fatal("an earlier silence counts")
		}
	}
	if !quiet.look(after) {
		t.Error("silence is never seen")
	}
}

// A snapshot's init can be hostile, and a start that is given up must not wait for it.
func TestRequestsAreAbandonedWhileInitDoesNotRead(t *testing.T) {
	plan, _, _ := twoProbes()
	for name, ask := range map[string]func(*Conn, context.Context) error{
		"restore": func(c *Conn, ctx context.Context) error { _, _, err := c.Restore(ctx, Restore{}, nil); return err },
		"probe":   func(c *Conn, ctx context.Context) error { _, err := c.Probe(ctx, plan, nil); return err },
		"start":   func(c *Conn, ctx context.Context) error { _, err := c.StartIdle(ctx, Start{}); return err },
	} {
		near, far := net.Pipe()
		defer far.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ask(NewConn(near), ctx) }()
		cancel()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: it still waits", name)
		}
	}
}

// texts returns the texts of a message that Decode reads.
func texts[T any](t *testing.T, of func(T) string, field, text string) string {
	t.Helper()
	for _, part := range slices.Backward(strings.Split(field, ".")) {
		text = fmt.Sprintf("{%q:%s}", part, text)
	}
	message, err := Decode[T](Frame{Payload: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return of(message)
}

func TestLongTextsOfInitAreCut(t *testing.T) {
	for name, read := range map[string]func(text string) string{
		"hello": func(text string) string { return texts(t, func(m Hello) string { return m.Kernel }, "kernel", text) },
		"probe": func(text string) string {
			return texts(t, func(m ProbeResult) string { return m.Result.Detail }, "result.detail", text)
		},
		"error":    func(text string) string { return texts(t, func(m Error) string { return m.Text }, "text", text) },
		"started":  func(text string) string { return texts(t, func(m Started) string { return m.Home }, "home", text) },
		"restored": func(text string) string { return texts(t, func(m Restored) string { return m.Home }, "home", text) },
		"frozen":   func(text string) string { return texts(t, func(m Frozen) string { return m.Error }, "error", text) },
		"exit": func(text string) string {
			return texts(t, func(m ProcessExit) string { return m.Error }, "error", text)
		},
		"dial":  func(text string) string { return texts(t, func(m DialFailed) string { return m.Error }, "error", text) },
		"ports": func(text string) string { return texts(t, func(m Ports) string { return m.Error }, "error", text) },
	} {
		whole := strings.Repeat("/x", 2<<10)
		if got := read(strconv.Quote(whole)); got != whole {
			t.Errorf("%s: %d bytes are left of %d", name, len(got), len(whole))
		}
		got := read(strconv.Quote(strings.Repeat("/x", 1<<20)))
		if isHome := name == "started" || name == "restored"; len(got) > maxText+3 || isHome != (got == "") {
			t.Errorf("%s: %d bytes are left of a long text", name, len(got))
		}
	}
}

func TestOutputOfADeadSandboxIsReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		a, b := NewConn(near), NewConn(far)
		defer func() { _, _ = a.Close(), b.Close() }()
		go func() {
			for _, text := range []string{"one", "two", "three"} {
				time.Sleep(90 * time.Millisecond) // synctest's clock
				_ = b.Send(Frame{Type: TypeStdout, Payload: []byte(text)})
			}
		}()
		time.AfterFunc(50*time.Millisecond, func() { a.Drain(100 * time.Millisecond) })
		var got []string
		for {
			f, err := a.Receive()
			if errors.Is(err, ErrGone) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(f.Payload))
		}
		if !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("received %q", got)
		}
	})
}

// A peer that cannot answer for some seconds, because its machine is suspended, is not
// considered dead.
func TestLifelineToleratesDelays(t *testing.T) {
	_, conn := pair(t)
	raw, err := conn.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	patience := 0
	_ = raw.Control(func(fd uintptr) {
		idle, _ := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPIDLE)
		interval, _ := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPINTVL)
		count, _ := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPCNT)
		patience = idle + interval*count
	})
	if patience < 30 || patience > 60 {
		t.Errorf("a peer that is silent is given up after %d s", patience)
	}
}

// FuzzReadFrame feeds hostile bytes: the parser must neither panic nor return
// more than the limits allow, and what it accepts must survive a round trip.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x44\x00\x00\x00\x02ab"))
	f.Add([]byte("\xc8\x00\x00\x00\x01{\x48\x00\x00\x00\x01}"))
	f.Add([]byte("\x03\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := readFrame(bytes.NewReader(data), make([]byte, 16))
		if err != nil {
			return
		}
		if !frame.Type.known() || len(frame.Payload) > MaxMessage || len(frame.Payload) > len(data) {
			t.Fatalf("accepted %#x with %d bytes", frame.Type, len(frame.Payload))
		}
		if len(frame.Payload) > MaxPayload {
			return
		}
		wire := append(appendHeader(nil, frame.Type, len(frame.Payload)), frame.Payload...)
		again, err := readFrame(bytes.NewReader(wire), nil)
		if err != nil || again.Type != frame.Type || !bytes.Equal(again.Payload, frame.Payload) {
			t.Fatalf("round trip: %v", err)
		}
	})
}

func TestMessagesThatAreSentTogetherArriveOneByOne(t *testing.T) {
	a, b := pair(t)
	long := strings.Repeat("x", 3*MaxPayload)
	go func() {
		_ = a.SendMessages(TypeProcess, Process{Dir: "one"}, Process{Dir: long}, Process{Dir: "three"})
	}()
	for _, want := range []string{"one", long, "three"} {
		f, err := b.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode[Process](f); err != nil || got.Dir != want {
			t.Errorf("%d bytes in place of %d, %v", len(got.Dir), len(want), err)
		}
	}
}
