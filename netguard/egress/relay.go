package egress

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// relay passes bytes both ways until both ends have closed, an error, or the end of ctx. It
// closes upstream. If metered, it charges the budgets. It returns why the proxy ended the
// flow, or nil.
func (p *Proxy) relay(ctx context.Context, f *flow, client net.Conn, upstream io.ReadWriteCloser, metered bool) *refusal {
	r := &relay{proxy: p, flow: f, metered: metered}
	r.active.Store(time.Now().UnixNano())
	closeBoth := func() {
		_ = client.Close()
		_ = upstream.Close()
	}
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	var wait sync.WaitGroup
	pump := func(to io.Writer, from io.Reader, d direction) {
		problem := r.pump(to, from, d)
		if problem != nil && problem != errEnded {
			f.stop(problem)
		}
		if problem != nil || !closeWrite(to) {
			closeBoth()
		}
	}
	wait.Go(func() { pump(upstream, client, up) })
	pump(client, upstream, down)
	wait.Wait()
	return cause(ctx)
}

// errEnded reports that one end has closed the connection.
var errEnded = &refusal{}

type relay struct {
	proxy   *Proxy
	flow    *flow
	metered bool
	active  atomic.Int64 // when a byte last passed, in nanoseconds
}

var pieces = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// pump passes bytes in one direction until the end. It returns why the proxy ended it, or
// nil.
func (r *relay) pump(to io.Writer, from io.Reader, d direction) *refusal {
	piece, _ := pieces.Get().(*[32 << 10]byte)
	defer pieces.Put(piece)
	counter := &r.flow.up
	if d == down {
		counter = &r.flow.down
	}
	for {
		r.extend(from)
		n, err := from.Read(piece[:])
		if n > 0 {
			r.active.Store(time.Now().UnixNano())
			problem := r.send(to, piece[:n], d, counter)
			if problem != nil {
				return problem
			}
		}
		switch {
		case err == nil:
		case isTimeout(err) && r.idle() < r.proxy.limits.Idle:
		case isTimeout(err):
			return forbid("idle", "no byte passed for %v, the limit", r.proxy.limits.Idle)
		default:
			return nil
		}
	}
}

func (r *relay) idle() time.Duration {
	return time.Since(time.Unix(0, r.active.Load()))
}

func (r *relay) extend(from io.Reader) {
	if conn, ok := from.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = conn.SetReadDeadline(time.Now().Add(r.proxy.limits.Idle))
	}
}

// send writes a piece as far as the budgets allow.
func (r *relay) send(to io.Writer, piece []byte, d direction, counter *atomic.Int64) *refusal {
	for len(piece) > 0 {
		granted := int64(len(piece))
		if r.metered {
			var problem *refusal
			if granted, problem = r.proxy.budget.reserve(r.flow.to.Host, d, granted); problem != nil {
				return problem
			}
		}
		if conn, ok := to.(interface{ SetWriteDeadline(time.Time) error }); ok {
			_ = conn.SetWriteDeadline(time.Now().Add(r.proxy.limits.Idle))
		}
		n, err := to.Write(piece[:granted])
		counter.Add(int64(n))
		if err != nil {
			return errEnded
		}
		piece = piece[n:]
	}
	return nil
}

// closeWrite tells the other end that nothing more comes. It reports false if the connection
// cannot do that.
func closeWrite(to io.Writer) bool {
	for {
		switch conn := to.(type) {
		case interface{ CloseWrite() error }:
			return conn.CloseWrite() == nil
		case *bufferedConn:
			to = conn.Conn
		case *prefixedConn:
			to = conn.Conn
		default:
			return false
		}
	}
}
