package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/internal/relay"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/ports"
)

// openPorts are the ports of the sandbox that users have opened on the host. It works from
// start to stop, while the agent runs.
type openPorts struct {
	session *modelWatch
	storing *storing      // keeps requests out of the sandbox's stored state
	slots   chan struct{} // slots for the connections to all ports

	mu     sync.Mutex // guards the following fields
	dialer *ports.Dialer
	ended  <-chan struct{} // closed by stop
	end    func()          // nil while it does not work
	open   []session.OpenPort
	using  sync.WaitGroup // ports that are open

	dialed *dialedPorts
}

func newOpenPorts(session *modelWatch, storing *storing) *openPorts {
	p := &openPorts{session: session, storing: storing}
	p.dialed = &dialedPorts{ports: p, byNumber: map[uint16]*dialedPort{}}
	return p
}

// prepare creates the dialer for a sandbox that connected on listener, which is paused.
func (p *openPorts) prepare(listener net.Listener, line *lifeline.Conn) {
	address := net.JoinHostPort(netguard.Address().String(), strconv.Itoa(netguard.PortLifeline))
	p.dialer = ports.NewDialer(listener, line.SendMessage, func(reason string) {
		p.session.refused(session.Refusal{What: netguard.TCP.String(), Target: address, Reason: reason})
	})
	p.slots = ports.NewSlots()
}

// start allows ports to be opened.
func (p *openPorts) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := make(chan struct{})
	p.ended, p.end = ended, func() { close(ended) }
}

// portsStopTimeout is how long the end of the session waits for the clients of open ports. One that
// does not read, such as a suspended one, must not hold it up.
const portsStopTimeout = 2 * time.Second

// stop closes all ports, and waits until that is logged.
func (p *openPorts) stop() {
	p.mu.Lock()
	end := p.end
	p.end = nil
	p.mu.Unlock()
	if end != nil {
		end()
	}
	p.dialer.Close()
	unused := make(chan struct{})
	go func() { p.using.Wait(); close(unused) }()
	select {
	case <-unused:
	case <-time.After(portsStopTimeout):
		fmt.Fprintln(os.Stderr, "a client of an open port does not read")
	}
	p.dialed.logClosed()
}

// list returns the open ports.
func (p *openPorts) list() []session.OpenPort {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.open)
}

// enter begins the use of the sandbox's ports. If it succeeds, the caller must call leave
// at the end.
func (p *openPorts) enter() (ended <-chan struct{}, leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == nil {
		return nil, nil, fault.New(fault.Conflict, "the agent does not run")
	}
	p.using.Add(1)
	return p.ended, p.using.Done, nil
}

// listening lists the ports on which programs in the sandbox listen.
func (p *openPorts) listening(ctx context.Context) ([]ports.Listening, error) {
	_, leave, err := p.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := p.storing.use(ctx); err != nil {
		return nil, err
	}
	defer p.storing.leave()
	found, err := p.dialer.List(ctx)
	if errors.Is(err, ports.ErrEnded) {
		err = fault.New(fault.Conflict, "the agent does not run")
	}
	return found, err
}

// offer opens a port of the sandbox on the host until updates returns.
func (p *openPorts) offer(ctx context.Context, r ports.Request) (updates func(visit func(ports.Update) error) error, err error) {
	if err := p.checkInbound(r.Port); err != nil {
		return nil, err
	}
	ended, leave, err := p.enter()
	if err != nil {
		return nil, err
	}
	notices := make(chan string, 16)
	forward, err := ports.Open(ctx, r, p.dial, p.slots, func(text string) {
		select {
		case notices <- text:
		default: // the client does not read
		}
	})
	if err != nil {
		leave()
		return nil, err
	}
	opened := session.OpenPort{Port: int(r.Port), Address: forward.Address()}
	return func(visit func(ports.Update) error) error {
		defer leave()
		p.logOpened(opened)
		defer func() { p.logClosed(opened, forward.Counts()) }()
		ctx, cancel := context.WithCancel(ctx)
		var serving sync.WaitGroup
		serving.Go(func() { forward.Serve(ctx) })
		err := visitUpdates(ctx, opened.Address, notices, ended, visit)
		cancel()
		serving.Wait()
		if err != nil {
			return err
		}
		counts := forward.Counts()
		return visit(ports.Update{Counts: &counts})
	}, nil
}

// dial connects to a port of the sandbox that its permissions allow. Traffic of the connection counts
// as activity until its end is reported.
func (p *openPorts) dial(ctx context.Context, port uint16) (inside relay.Conn, ended func(), err error) {
	if err := p.checkInbound(port); err != nil {
		return nil, nil, err
	}
	if err := p.storing.use(ctx); err != nil {
		return nil, nil, err
	}
	defer p.storing.leave()
	if inside, err = p.dialer.Dial(ctx, port); err != nil {
		return nil, nil, err
	}
	return inside, p.dialed.follow(inside), nil
}

// checkInbound refuses a port that the permissions of a sandbox do not allow.
func (p *openPorts) checkInbound(port uint16) error {
	spec := p.session.launch.Spec.Sandbox
	if spec == nil || spec.Permissions.AllowsInbound(port) {
		return nil
	}
	return fault.New(fault.Refused, "the permissions of this sandbox close port %d", port)
}

// visitUpdates visits the address and then the notices, until the agent or ctx has ended.
func visitUpdates(ctx context.Context, address string, notices <-chan string, ended <-chan struct{}, visit func(ports.Update) error) error {
	if err := visit(ports.Update{Address: address}); err != nil {
		return err
	}
	for {
		select {
		case text := <-notices:
			if err := visit(ports.Update{Notice: text}); err != nil {
				return err
			}
		case <-ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *openPorts) logOpened(opened session.OpenPort) {
	p.mu.Lock()
	p.open = append(p.open, opened)
	p.mu.Unlock()
	p.session.audit(audit.PortOpened, audit.Port{Port: opened.Port, Address: opened.Address})
	p.session.publishing.trigger()
}

func (p *openPorts) logClosed(closed session.OpenPort, counts ports.Counts) {
	p.mu.Lock()
	if i := slices.Index(p.open, closed); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
	p.mu.Unlock()
	p.session.audit(audit.PortClosed, audit.PortEnd{
		Port: closed.Port, Address: closed.Address, Connections: counts.Connections, Refused: counts.Refused,
		BytesUp: counts.Received, BytesDown: counts.Sent,
	})
	p.session.publishing.trigger()
}
