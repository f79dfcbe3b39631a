package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/fault"
)

// sandbox is the other side of a relay.
type sandbox struct {
	dials   atomic.Int32
	conns   chan net.Conn  // the sandbox's ends
	serving sync.WaitGroup // requests that the relay has not ended
}

// newRelay returns a client of a relay to a sandbox that serve simulates.
func newRelay(t *testing.T, serve func(net.Conn)) (*Client, *sandbox, *Relay) {
	s := &sandbox{conns: make(chan net.Conn, 100)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	relay := NewRelay(func(context.Context, string) (net.Conn, error) {
		s.dials.Add(1)
		go func() {
			conn, err := listener.Accept()
			if err == nil {
				s.conns <- conn
				serve(conn)
			}
		}()
		return net.Dial("tcp", listener.Addr().String())
	}, func(Request, *Entry, error) {})
	t.Cleanup(relay.Close)
	return NewClient(func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		s.serving.Go(func() { relay.Serve(context.Background(), theirs, theirs) })
		return ours, nil
	}, "me"), s, relay
}

// echo answers each request with its path, and a write with its size.
func echo(conn net.Conn) {
	_ = Serve(conn, func(_ context.Context, x *Exchange) (Answer, error) {
		e := &Entry{Path: x.Request.Path, Owner: x.Request.User}
		switch x.Request.Op {
		case OpWrite:
			if x.Request.Path == "refused" {
				return Answer{}, &Error{Code: NoSpace, Message: "full"}
			}
			n, err := io.Copy(io.Discard, x.Input())
			e.Size = n
			return Answer{Entry: e}, err
		case OpRead:
			if err := x.Begin(Answer{Entry: e}); err != nil {
				return Answer{}, err
			}
			_, err := io.WriteString(x.Output(), strings.Repeat("x", 3*maxData))
			if err == nil && x.Request.Path == "breaks" {
				err = &Error{Code: Failed, Message: "the disk broke"}
			}
			return Answer{}, err
		}
		return Answer{Entry: e}, nil
	})
}

func TestRelayKeepsConnectionsAndReplacesDeadOnes(t *testing.T) {
	c, s, _ := newRelay(t, echo)
	for range 5 {
		e, err := c.Stat(t.Context(), "/x", true)
		if err != nil || e.Path != "/x" || e.Owner != "me" {
			t.Fatalf("%+v, %v", e, err)
		}
		s.serving.Wait()
		e, err = c.Write(t.Context(), "/w", strings.NewReader(strings.Repeat("y", 3*maxData)), WriteOptions{})
		if err != nil || e.Size != 3*maxData {
			t.Fatalf("%+v, %v", e, err)
		}
		s.serving.Wait()
		_, contents, err := c.Read(t.Context(), "/r", Range{})
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(contents)
		if err != nil || len(data) != 3*maxData {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		contents.Close()
		s.serving.Wait()
	}
	if n := s.dials.Load(); n != 1 {
		t.Errorf("%d connections for requests one after the other", n)
	}
	for len(s.conns) > 0 {
		(<-s.conns).Close()
	}
	if _, err := c.Stat(t.Context(), "/x", true); err != nil {
		t.Errorf("after the sandbox closed its connections: %v", err)
	}
}

func TestRelayKeepsTheConnectionOfALaterUserToo(t *testing.T) {
	_, s, relay := newRelay(t, echo)
	stat := func(user string) {
		client := NewClient(func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := net.Pipe()
			s.serving.Go(func() { relay.Serve(context.Background(), theirs, theirs) })
			return ours, nil
		}, user)
		if _, err := client.Stat(t.Context(), "x", false); err != nil {
			t.Fatal(err)
		}
		s.serving.Wait()
	}
	for i := range 2 * maxRelayed {
		stat(fmt.Sprint("user", i))
	}
	before := s.dials.Load()
	stat("last")
	stat("last")
	if dials := s.dials.Load() - before; dials != 1 {
		t.Errorf("the sandbox was dialed %d times", dials)
	}
	if len(relay.idle) > maxRelayed {
		t.Errorf("connections of %d users are kept", len(relay.idle))
	}
}

func TestErrorsPassTheRelay(t *testing.T) {
	c, _, _ := newRelay(t, echo)
	endless, writer := io.Pipe()
	defer writer.Close()
	go func() {
		for {
			if _, err := writer.Write(make([]byte, maxData)); err != nil {
				return
			}
		}
	}()
	_, err := c.Write(t.Context(), "refused", endless, WriteOptions{})
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != NoSpace || fault.KindOf(err) != fault.Limit {
		t.Errorf("%v", err)
	}
	_, contents, err := c.Read(t.Context(), "breaks", Range{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(contents); !errors.As(err, &refused) || refused.Message != "the disk broke" {
		t.Errorf("%v", err)
	}
	contents.Close()
}

// A client repeats them, in its own protocol too.
func TestLongErrorsOfTheSandboxAreCut(t *testing.T) {
	c, _, _ := newRelay(t, func(conn net.Conn) {
		_ = Serve(conn, func(context.Context, *Exchange) (Answer, error) {
			return Answer{}, &Error{Code: Failed, Path: Path(strings.Repeat("/x", 1<<17)), Message: strings.Repeat("x", 1<<20)}
		})
	})
	_, err := c.Stat(t.Context(), "/x", false)
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != Failed || len(refused.Path) != MaxPath || len(refused.Message) > maxErrorText+3 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

// pageOf is the JSON of an answer with a page of empty entries.
func pageOf(entries int, next string) []byte {
	return fmt.Appendf(nil, `{"page":{"entries":[%s],"next":%q}}`, strings.TrimSuffix(strings.Repeat("{},", entries), ","), next)
}

// Each entry takes a hundred times the memory of its JSON, on the host.
func TestAPageHasNoMoreEntriesThanItsClientAskedFor(t *testing.T) {
	for name, test := range map[string]struct {
		answer []byte
		limit  int
		ok     bool
	}{
		"a full page":                         {pageOf(DefaultPage, "x"), 0, true},
		"one entry more than the default":     {pageOf(DefaultPage+1, "x"), 0, false},
		"a page of the asked length":          {pageOf(3, ""), 3, true},
		"one entry more than asked":           {pageOf(4, ""), 3, false},
		"one entry more than any page has":    {pageOf(MaxPage+1, ""), MaxPage, false},
		"the largest page":                    {pageOf(MaxPage, "x"), MaxPage, true},
		"entries twice":                       {[]byte(`{"page":{"entries":[{}],"entries":[{}]}}`), 0, false},
		"two pages":                           {[]byte(`{"page":{"entries":[{}]},"page":{"entries":[{}]}}`), 0, false},
		"entries that are no list":            {[]byte(`{"page":{"entries":{}}}`), 0, false},
		"an empty page":                       {pageOf(0, ""), 0, true},
		"an empty page that is not the last":  {pageOf(0, "x"), 0, false},
		"a page without entries":              {[]byte(`{"page":{}}`), 0, true},
		"a page without entries and not last": {[]byte(`{"page":{"next":"x"}}`), 0, false},
	} {
		c, _, _ := newRelay(t, func(conn net.Conn) {
			defer conn.Close()
			_, _, _ = newReader(conn).next()
			_ = writeFrame(conn, frameAnswer, test.answer)
		})
		page, err := c.List(t.Context(), "/", ListOptions{Limit: test.limit})
		if test.ok && err != nil || !test.ok && !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %d entries, %v", name, len(page.Entries), err)
		}
	}
}

func TestManyEntriesOfASandboxTakeLittleMemory(t *testing.T) {
	payload := pageOf(maxMessage/3-20, "x")
	for name, read := range map[string]func() error{
		"relay":  func() error { _, err := decode[outcome](payload); return err },
		"client": func() error { _, err := decode[Answer](payload); return err },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 || errors.Is(err, ErrProtocol) != (name == "client") {
			t.Errorf("%s: an answer of %d bytes took %d bytes: %v", name, len(payload), took, err)
		}
	}
}

func TestClientThatLeavesEndsItsRequestInTheSandbox(t *testing.T) {
	gone := make(chan error, 1)
	c, _, _ := newRelay(t, func(conn net.Conn) {
		_ = Serve(conn, func(ctx context.Context, x *Exchange) (Answer, error) {
			if x.Request.Op == OpWatch {
				_ = x.Begin(Answer{})
				<-ctx.Done()
				gone <- ctx.Err()
				return Answer{}, nil
			}
			_, err := io.Copy(io.Discard, x.Input())
			gone <- err
			return Answer{}, err
		})
	})
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Watch(ctx, "/", true, cancel, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-gone //nolint:errcheck // only its return matters
	ctx, cancel = context.WithCancel(t.Context())
	in, writer := io.Pipe()
	go func() {
		_, _ = writer.Write(make([]byte, 10))
		cancel()
	}()
	if _, err := c.Write(ctx, "/x", in, WriteOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	writer.Close()
	if err := <-gone; err == nil {
		t.Error("the sandbox takes half of a file for all of it")
	}
}

// The connection of a sandbox that breaks the protocol is closed, and takes no memory.
func TestHostileSandboxIsCutOff(t *testing.T) {
	for name, answer := range map[string]string{
		"data without an answer": "d\x00\x00\x00\x01x",
		"an event for a stat":    "v\x00\x00\x00\x02{}",
		"a request":              "q\x00\x00\x00\x02{}",
		"no JSON":                "a\x00\x00\x00\x01x",
		"an empty answer":        "a\x00\x00\x00\x02{}",
		"a huge answer":          "a\xff\xff\xff\xff",
		"nothing":                "",
		"the half of an answer":  "a\x00\x00\x00\x09{\"entry\"",
	} {
		c, _, _ := newRelay(t, func(conn net.Conn) {
			defer conn.Close()
			_, _, _ = newReader(conn).next()
			_, _ = conn.Write([]byte(answer))
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := c.Stat(ctx, "/", false); err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// A program of the sandbox can stop the one that serves the files.
func TestARequestEndsThoughTheSandboxDoesNotReadItsData(t *testing.T) {
	for name, answers := range map[string]bool{"after an early answer": true, "after its context": false} {
		synctest.Test(t, func(t *testing.T) {
			inside, theirs := net.Pipe()
			defer inside.Close()
			relay := NewRelay(func(context.Context, string) (net.Conn, error) { return theirs, nil }, func(Request, *Entry, error) {})
			go func() {
				_, _, _ = newReader(inside).next()
				if answers {
					_ = writeMessage(inside, frameAnswer, Answer{Error: &Error{Code: NoSpace}})
				}
			}()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			served := make(chan struct{})
			client := NewClient(func(context.Context) (io.ReadWriteCloser, error) {
				ours, theirs := net.Pipe()
				go func() {
					defer close(served)
					relay.Serve(ctx, theirs, theirs)
				}()
				return ours, nil
			}, "")
			if !answers {
				time.AfterFunc(time.Minute, cancel)
			}
			_, err := client.Write(t.Context(), "x", zeros{}, WriteOptions{})
			if err == nil {
				t.Errorf("%s: it is written", name)
			}
			select {
			case <-served:
			case <-time.After(time.Hour): // synctest's clock
				t.Errorf("%s: it takes its place after an hour", name)
				_ = theirs.Close()
				<-served
			}
		})
	}
}

// zeros is data without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestRelayBoundsTheRequestsAtATime(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	c, s, _ := newRelay(t, func(conn net.Conn) {
		<-block
		conn.Close()
	})
	for range maxRelayed {
		go func() { _, _ = c.Stat(t.Context(), "/", false) }()
	}
	for deadline := time.Now().Add(time.Minute); s.dials.Load() < maxRelayed && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	_, err := c.Stat(t.Context(), "/", false)
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != Exhausted {
		t.Errorf("one more: %v", err)
	}
}
