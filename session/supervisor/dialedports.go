package supervisor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/relay"
	"aibox/session/ports"
)

// dialedPorts are connections of clients to ports of the sandbox, without a listener on the
// host.
type dialedPorts struct {
	ports *openPorts

	mu       sync.Mutex // guards the following fields
	byNumber map[uint16]*dialedPort
	open     []relay.Conn // to these ports, and to those that are open on the host
	last     time.Time    // end of the last connection
}

// dialedPort is a port to which clients have connected.
type dialedPort struct {
	counts ports.Counts
}

// dial connects to a port of the sandbox; see control.Session.
func (d *dialedPorts) dial(ctx context.Context, port uint16) (join func(client relay.Conn), err error) {
	ended, leave, err := d.ports.enter()
	if err != nil {
		return nil, err
	}
	select {
	case d.ports.slots <- struct{}{}:
	default:
		leave()
		return nil, fault.New(fault.Limit, "%d connections to ports of the sandbox are open, the limit of a session", ports.MaxConnections)
	}
	release := func() {
		<-d.ports.slots
		leave()
	}
	inside, done, err := d.ports.dial(ctx, port)
	if err != nil {
		release()
		if errors.Is(err, ports.ErrEnded) {
			err = fault.New(fault.Conflict, "the sandbox has ended")
		}
		return nil, err
	}
	d.add(port)
	return func(client relay.Conn) {
		defer release()
		var received, sent int64
		if client == nil {
			_ = inside.Close()
		} else {
			received, sent = joinUntil(ended, client, inside)
		}
		done()
		d.remove(port, received, sent)
	}, nil
}

// joinUntil joins two connections until both streams have ended or ended is closed.
func joinUntil(ended <-chan struct{}, client, inside relay.Conn) (received, sent int64) {
	joined, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ended:
			_ = client.Close()
			_ = inside.Close()
		case <-joined:
		}
	}()
	received, sent = relay.Join(client, inside)
	close(joined)
	<-watched
	return received, sent
}

// add counts a connection. The first one to a port is logged.
func (d *dialedPorts) add(port uint16) {
	d.mu.Lock()
	p := d.byNumber[port]
	first := p == nil
	if first {
		p = &dialedPort{}
		d.byNumber[port] = p
	}
	p.counts.Connections++
	d.mu.Unlock()
	if first {
		d.ports.session.audit(audit.PortOpened, audit.Port{Port: int(port)})
	}
}

// remove counts the traffic of a connection that has ended.
func (d *dialedPorts) remove(port uint16, received, sent int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.byNumber[port]
	if p == nil { // logClosed did not wait for it any longer
		return
	}
	p.counts.Received += received
	p.counts.Sent += sent
}

// follow counts the traffic of a connection as activity, until its end is reported.
func (d *dialedPorts) follow(conn relay.Conn) (ended func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = append(d.open, conn)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.last = time.Now()
		d.open = slices.DeleteFunc(d.open, func(other relay.Conn) bool { return other == conn })
	}
}

// logClosed logs the traffic of each port, without that of connections that are still open.
func (d *dialedPorts) logClosed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, port := range slices.Sorted(maps.Keys(d.byNumber)) {
		counts := d.byNumber[port].counts
		d.ports.session.audit(audit.PortClosed, audit.PortEnd{
			Port: int(port), Connections: counts.Connections, BytesUp: counts.Received, BytesDown: counts.Sent,
		})
	}
	clear(d.byNumber)
}

// lastActive returns when a connection last had traffic; zero if there was none. The kernel
// reports it, so the bytes do not have to be copied through this process.
func (d *dialedPorts) lastActive(now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.last
	for _, conn := range d.open {
		if idle, ok := idleTime(conn); ok && now.Add(-idle).After(last) {
			last = now.Add(-idle)
		}
	}
	return last
}

// idleTime returns the time without traffic on a connection.
func idleTime(conn relay.Conn) (idle time.Duration, ok bool) {
	raw, canControl := conn.(syscall.Conn)
	if !canControl {
		return 0, false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = control.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			idle, ok = time.Duration(min(info.Last_data_sent, info.Last_data_recv))*time.Millisecond, true
		}
	})
	return idle, ok && err == nil
}
