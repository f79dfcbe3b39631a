package openports

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/ports"
	"aibox/ui/uitest"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

const codex = session.ID("0abc-codex")

// sandbox is a sandbox with given servers. It opens port N on port N+1 of this machine.
type sandbox struct {
	mu        sync.Mutex
	listening []ports.Listening
	err       error
	opened    []uint16
	closed    []uint16
	news      map[uint16]chan ports.Update // of open ports
}

func (s *sandbox) Ports(context.Context, session.ID) ([]ports.Listening, error) {
	return s.listening, s.err
}

func (s *sandbox) OpenPort(ctx context.Context, _ session.ID, r ports.Request, visit func(ports.Update) error) error {
	s.mu.Lock()
	s.opened = append(s.opened, r.Port)
	news := make(chan ports.Update)
	s.news[r.Port] = news
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = append(s.closed, r.Port)
	}()
	if r.Port == 5432 {
		return fault.New(fault.Usage, "the \x1b[31mport cannot be opened")
	}
	_ = visit(ports.Update{Address: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), r.Port+1).String()})
	for {
		select {
		case u, more := <-news:
			if !more { // its session has ended
				return nil
			}
			_ = visit(u)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func listening(address string, port uint16) ports.Listening {
	return ports.Listening{Address: netip.MustParseAddr(address), Port: port}
}

// user is a user of the screen, who sees changes when the bubble is idle.
type user struct {
	*uitest.User
	m      *Model
	s      *sandbox
	browse []string
}

func newUser(t *testing.T, width, height int, found ...ports.Listening) *user {
	t.Helper()
	s := &sandbox{listening: found, news: map[uint16]chan ports.Update{}}
	m := New(t.Context(), s, NewOpened(t.Context(), s), codex)
	m.after = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	p := &user{uitest.New(t, m, width, height), m, s, nil}
	m.browse = func(_ context.Context, address string) error {
		p.browse = append(p.browse, address)
		return nil
	}
	p.Run(m.load())
	return p
}

// wait lets the background finish, and shows the result.
func (p *user) wait() {
	synctest.Wait()
	p.m.arrange()
}

// news is an update of a port.
func (p *user) news(port uint16, u ports.Update) {
	p.s.news[port] <- u
	p.wait()
}

var servers = []ports.Listening{
	listening("0.0.0.0", 3000), listening("::", 3000), listening("127.0.0.1", 5173), listening("127.0.0.1", 5432), listening("172.30.0.2", 8080),
}

func TestTheViewsAreAsTheyWere(t *testing.T) {
	for _, size := range uitest.Sizes {
		synctest.Test(t, func(t *testing.T) {
			p := newUser(t, size[0], size[1])
			p.Show("nothing listens")
			p.s.listening = servers
			p.Run(p.m.load())
			p.Show("servers listen")
			for range 3 {
				p.Press("enter", "down")
			}
			p.Press("enter")
			p.wait()
			p.news(5173, ports.Update{Notice: "nothing listens on port 5173 in the sandbox"})
			p.s.listening = servers[:2]
			p.Run(p.m.load())
			p.Press("home")
			p.Show("ports are open")
			p.Press("down")
			p.Show("at one with a notice")
			p.Golden("")
		})
	}
}

func TestPortsAreOpenedAndClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newUser(t, 80, 24, servers...)
		p.Press("down", "enter", "enter")
		p.wait()
		p.Sees("5173   127.0.0.1             http://127.0.0.1:5174")
		p.Sees("1 port open")
		p.Press("o")
		p.Press("c")
		p.Sees("copied: http://127.0.0.1:5174")
		p.Press("up")
		p.DoesNotSee("copied") // it was about the port below
		p.Press("down", "x")
		p.wait()
		p.DoesNotSee("5174 ")
		if !slices.Equal(p.s.opened, []uint16{5173}) || !slices.Equal(p.s.closed, []uint16{5173}) || !slices.Equal(p.browse, []string{"http://127.0.0.1:5174"}) {
			t.Errorf("opened %v, closed %v, browsed %v", p.s.opened, p.s.closed, p.browse)
		}
	})
}

func TestPortsStayOpenWhenTheScreenIsLeftAndEndWithTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newUser(t, 80, 24, servers...)
		p.Press("enter")
		p.wait()
		again := New(t.Context(), p.s, p.m.opened, codex)
		other := New(t.Context(), p.s, p.m.opened, "0xyz-codex")
		again.SetSize(80, 24)
		other.SetSize(80, 24)
		if !strings.Contains(again.View(), "http://127.0.0.1:3001") || strings.Contains(other.View(), "3001") {
			t.Errorf("the views are\n%s\n%s", again.View(), other.View())
		}
		next := p.m.opened.Changed()
		close(p.s.news[3000])
		<-next
		p.wait()
		p.DoesNotSee("3001")
	})
}

func TestFailureIsShownAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newUser(t, 80, 24, servers[3])
		p.Press("enter")
		p.wait()
		p.Sees(`✗ the \x1b[31mport cannot be opened`)
		p.Press("enter")
		p.wait()
		if len(p.s.opened) != 2 {
			t.Errorf("opened %v", p.s.opened)
		}
		p.s.err = fault.New(fault.Usage, "0abc-codex is no longer running")
		p.Run(p.m.load())
		p.Sees("no longer running")
	})
}

func TestAListThatCannotBeReadOnceStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newUser(t, 80, 24, servers...)
		p.Press("down", "enter")
		p.wait()
		p.Press("c")
		p.s.err = fault.New(fault.Environment, "the supervisor does not answer")
		p.Run(p.m.load())
		p.Sees("copied: ") // the note stays, too
		p.Press("down")
		p.Sees("the supervisor does not answer")
		p.Sees("3000")
		p.Sees("▸ 5432")
		p.s.err = nil
		p.Run(p.m.load())
		p.DoesNotSee("the supervisor does not answer")
	})
}

func TestListIsReadAgainAndAgain(t *testing.T) {
	s := &sandbox{}
	m := New(t.Context(), s, NewOpened(t.Context(), s), codex)
	m.after = func(d time.Duration, msg tea.Msg) tea.Cmd {
		if d != refreshTime {
			t.Errorf("it waits %v", d)
		}
		return func() tea.Msg { return msg }
	}
	if _, again := m.Update(m.load()())().(refresh); !again {
		t.Error("the list is read once")
	}
	if _, again := m.Update(refresh{})().(listed); !again {
		t.Error("a refresh does not read the list")
	}
}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(2))
	f.Fuzz(func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			p := newUser(t, 80, 24, servers...)
			p.ActRandomly(rand.New(rand.NewPCG(seed, 1)), 200, []string{"enter", "x", "o", "c", "up", "down", "pgdown", "home", "end", "1"})
			p.wait()
			p.Fits("after random keys")
		})
	})
}

func TestAKeyForAPortThatHasGoneDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newUser(t, 120, 40, listening("0.0.0.0", 3000), listening("0.0.0.0", 3001))
		p.s.listening = p.s.listening[1:]
		p.Run(p.m.load())
		p.Press("enter")
		p.wait()
		p.Sees("another port was selected just now")
		if len(p.s.opened) > 0 {
			t.Fatalf("opened %v", p.s.opened)
		}
		time.Sleep(dialog.Grace)
		p.Press("enter")
		p.wait()
		if !slices.Equal(p.s.opened, []uint16{3001}) {
			t.Errorf("opened %v", p.s.opened)
		}
	})
}
