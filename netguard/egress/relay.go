package egress

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// relay passes bytes in both directions between the sandbox and a server.
type relay struct {
	proxy   *Proxy
	flow    *flow
	metered bool         // charge the budgets for the bytes
	active  atomic.Int64 // when a byte last passed, in nanoseconds
	ended   atomic.Int32 // directions that have ended
}

// errEnded reports that one end has closed the connection.
var errEnded = &refusal{code: "ended"}

// relay passes bytes until both ends have finished, an error, or the end of ctx. It closes
// both ends, and returns the reason why the proxy ended the flow, or nil.
func (p *Proxy) relay(ctx context.Context, f *flow, client net.Conn, upstream io.ReadWriteCloser, metered bool) *refusal {
	r := &relay{proxy: p, flow: f, metered: metered}
	r.active.Store(time.Now().UnixNano())
	closeBoth := func() {
		_ = client.Close()
		_ = upstream.Close()
	}
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	pass := func(to io.Writer, from io.Reader, d direction) {
		problem := r.pass(to, from, d)
		if problem != nil && problem != errEnded {
			f.stop(problem)
		}
		// After the second direction, both ends are closed anyway.
		if problem != nil || r.ended.Add(1) == 1 && !closeWrite(to) {
			closeBoth()
		}
	}
	if buffered, ok := client.(*bufferedConn); ok && len(buffered.prefix) > 0 { // without waiting for a goroutine
		begin := buffered.prefix
		buffered.prefix = nil
		if problem := r.pump(upstream, up).send(begin); problem != nil {
			if problem != errEnded {
				f.stop(problem)
			}
			return cause(ctx)
		}
	}
	var wait sync.WaitGroup
	wait.Go(func() { pass(upstream, client, up) })
	pass(client, upstream, down)
	wait.Wait()
	return cause(ctx)
}

// pass passes bytes in one direction until its end. It returns nil at the end of the stream.
func (r *relay) pass(to io.Writer, from io.Reader, d direction) *refusal {
	p := r.pump(to, d)
	from, problem := p.sendBuffered(from)
	if problem != nil {
		return problem
	}
	toTCP, ok := beneath(to).(*net.TCPConn)
	if fromTCP, ok2 := from.(*net.TCPConn); ok && ok2 {
		return p.splice(toTCP, fromTCP)
	}
	return p.copy(from)
}

func (r *relay) pump(to io.Writer, d direction) *pump {
	p := &pump{relay: r, to: to, direction: d, passed: &r.flow.up}
	if d == down {
		p.passed = &r.flow.down
	}
	return p
}

func (r *relay) idle() time.Duration {
	return time.Since(time.Unix(0, r.active.Load()))
}

// pump is one direction of a relay.
type pump struct {
	relay     *relay
	to        io.Writer
	direction direction
	passed    *atomic.Int64
	extended  time.Time // when the deadline of the next read was set
	// extendedWrite is when the deadline of the next write was set.
	extendedWrite time.Time
}

const pieceSize = 32 << 10

var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// pieceBuffers are the pieces of the pool for httputil.
type pieceBuffers struct{}

func (pieceBuffers) Get() []byte {
	piece, _ := pieces.Get().(*[pieceSize]byte)
	return piece[:]
}

func (pieceBuffers) Put(buffer []byte) { pieces.Put((*[pieceSize]byte)(buffer)) }

// sendBuffered sends what was already read from a connection, and returns the reader of the
// rest.
func (p *pump) sendBuffered(from io.Reader) (io.Reader, *refusal) {
	buffered, ok := from.(*bufferedConn)
	if !ok {
		return from, nil
	}
	if second := buffered.second; second != nil {
		if problem := second.follow(clientRecords{p, buffered}); problem != nil {
			return nil, problem
		}
	}
	begin, rest := buffered.detach()
	return rest, p.send(begin)
}

// copy passes bytes through memory.
func (p *pump) copy(from io.Reader) *refusal {
	piece, _ := pieces.Get().(*[pieceSize]byte)
	defer pieces.Put(piece)
	for {
		p.extend(from)
		n, err := from.Read(piece[:])
		if problem := p.send(piece[:n]); problem != nil {
			return problem
		}
		if err != nil {
			if done, problem := p.finished(err); done {
				return problem
			}
		}
	}
}

// finished reports whether an error of a read ends the direction, and the reason.
func (p *pump) finished(err error) (bool, *refusal) {
	var problem *refusal
	switch limit := p.relay.proxy.limits.Idle; {
	case err == io.EOF: //nolint:errorlint // Read returns it bare
		return true, nil
	case asRefusal(err, &problem):
		return true, problem
	case !isTimeout(err):
		return true, errEnded
	case p.relay.idle() >= limit:
		return true, forbid("idle", "no byte passed for %v, the limit", limit)
	}
	p.extended = time.Time{}
	return false, nil // the other direction is in use
}

// extend sets the deadline of the next read.
func (p *pump) extend(from io.Reader) {
	limit := p.relay.proxy.limits.Idle
	if now := time.Now(); now.Sub(p.extended) > limit/8 {
		p.extended = now
		if conn, ok := from.(interface{ SetReadDeadline(time.Time) error }); ok {
			_ = conn.SetReadDeadline(now.Add(limit))
		}
	}
}

// grant takes up to n bytes from the budgets.
func (p *pump) grant(n int64) (int64, *refusal) {
	if !p.relay.metered {
		return n, nil
	}
	return p.relay.proxy.budget.reserve(p.relay.flow.to.Host, p.direction, n)
}

// refund returns granted bytes that were not sent.
func (p *pump) refund(n int64) {
	if p.relay.metered && n > 0 {
		p.relay.proxy.budget.refund(p.relay.flow.to.Host, p.direction, n)
	}
}

// send writes as much of a piece as the budgets allow.
func (p *pump) send(piece []byte) *refusal {
	for len(piece) > 0 {
		granted, problem := p.grant(int64(len(piece)))
		if problem != nil {
			return problem
		}
		p.extendWrite()
		n, err := p.to.Write(piece[:granted])
		p.count(int64(n))
		p.refund(granted - int64(n))
		if err != nil {
			return p.writeProblem(err)
		}
		piece = piece[n:]
	}
	return nil
}

func (p *pump) count(n int64) {
	p.passed.Add(n)
	p.relay.active.Store(time.Now().UnixNano())
}

// extendWrite sets the deadline of the next write.
func (p *pump) extendWrite() {
	limit := p.relay.proxy.limits.Idle
	if now := time.Now(); now.Sub(p.extendedWrite) > limit/8 {
		p.extendedWrite = now
		if conn, ok := p.to.(interface{ SetWriteDeadline(time.Time) error }); ok {
			_ = conn.SetWriteDeadline(now.Add(limit))
		}
	}
}

// writeProblem returns the reason why an error of a write ends the flow.
func (p *pump) writeProblem(err error) *refusal {
	var problem *refusal
	switch {
	case asRefusal(err, &problem):
		return problem
	case isTimeout(err):
		return forbid("idle", "one end has read nothing for %v, the limit", p.relay.proxy.limits.Idle)
	}
	return errEnded
}

// closeWrite reports to the other end that no more data follows. It returns false if the
// connection cannot do that.
func closeWrite(to io.Writer) bool {
	conn, ok := beneath(to).(interface{ CloseWrite() error })
	return ok && conn.CloseWrite() == nil
}
