package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/netutil"

	"aibox/netguard"
)

// Query is a DNS question that was refused.
type Query struct {
	Name string // printable ASCII, at most 256 bytes, without the trailing dot
	Type string // A, AAAA, TXT, … or TYPE123
}

// DNS answers the guard's names (netguard.Names) with netguard.Address and every
// other name with NXDOMAIN. The zero value works and logs nothing.
type DNS struct {
	// Log receives every refused question, also repeated ones, from several goroutines. The
	// sandbox controls their number, so Log must count them rather than keep each.
	Log func(Query)

	pace *queryPace // of one Serve
}

const (
	nameLimit      = 256
	connections    = 16              // TCP connections at a time; others wait
	connectionTime = 5 * time.Second // maximum time without a query
	timeToLive     = 60              // seconds, of the guard's names
	maxQuery       = 1232            // bytes; the size that the answers announce
	maxRecords     = 4               // a question has one, and another for EDNS

	explanation = "aibox: use the HTTP proxy" // of a refusal (RFC 8914)
)

// Serve answers on the sockets, either of which may be nil, until ctx ends; it
// closes both and waits for its goroutines. The error is nil when ctx ended.
func (d DNS) Serve(ctx context.Context, udp net.PacketConn, tcp net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.pace = new(queryPace)
	errs := make([]error, 2)
	var wait sync.WaitGroup
	if udp != nil {
		defer context.AfterFunc(ctx, func() { _ = udp.Close() })()
		wait.Go(func() { errs[0] = d.serveUDP(udp); cancel() })
	}
	if tcp != nil {
		defer context.AfterFunc(ctx, func() { _ = tcp.Close() })()
		wait.Go(func() { errs[1] = d.serveTCP(ctx, netutil.LimitListener(tcp, connections)); cancel() })
	}
	wait.Wait()
	for i, err := range errs {
		if errors.Is(err, net.ErrClosed) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

func (d DNS) serveUDP(conn net.PacketConn) error {
	packet := make([]byte, dns.MaxMsgSize)
	for {
		n, from, err := conn.ReadFrom(packet)
		if err != nil {
			return err
		}
		if answer := d.answer(packet[:n]); answer != nil {
			_, _ = conn.WriteTo(answer, from) // the client repeats the query if the answer is lost
		}
	}
}

func (d DNS) serveTCP(ctx context.Context, listener net.Listener) error {
	var wait sync.WaitGroup
	defer wait.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil && pause(ctx, err) {
			continue
		}
		if err != nil {
			return err
		}
		wait.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			d.serveConn(conn)
		})
	}
}

// serveConn answers the queries of one TCP connection, each with a length prefix (RFC 1035,
// 4.2.2).
func (d DNS) serveConn(conn net.Conn) {
	for {
		_ = conn.SetDeadline(time.Now().Add(connectionTime))
		var length uint16
		if binary.Read(conn, binary.BigEndian, &length) != nil {
			return
		}
		packet := make([]byte, length)
		if _, err := io.ReadFull(conn, packet); err != nil {
			return
		}
		answer := d.answer(packet)
		if answer == nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answer returns the answer to one packet when it is due, nil if none must be sent, and logs a
// refusal.
func (d DNS) answer(packet []byte) []byte {
	d.pace.wait()
	answer, refused := answer(packet)
	if refused != nil && d.Log != nil {
		d.Log(*refused)
	}
	return answer
}

// isShort reports whether a packet has the size of a question, which is quick to parse. Thousands of
// records whose names point to each other take milliseconds.
func isShort(packet []byte) bool {
	records := 0
	for at := 4; at < 12; at += 2 {
		records += int(binary.BigEndian.Uint16(packet[at:]))
	}
	return len(packet) <= maxQuery && records <= maxRecords
}

// answer returns the answer to one packet, nil if none must be sent, and the query if it was
// refused.
func answer(packet []byte) ([]byte, *Query) {
	var query, reply dns.Msg
	if len(packet) < 12 {
		return nil, nil
	}
	if !isShort(packet) || query.Unpack(packet) != nil {
		reply.Id, reply.Response, reply.Rcode = binary.BigEndian.Uint16(packet), true, dns.RcodeFormatError
		if packet[2]&0x80 != 0 {
			return nil, nil // it is an answer; if servers answered those, two could answer each other forever
		}
		return pack(&reply), nil
	}
	if query.Response {
		return nil, nil
	}
	if query.Opcode != dns.OpcodeQuery || len(query.Question) != 1 {
		reply.SetRcode(&query, dns.RcodeNotImplemented)
		return pack(&reply), nil
	}
	reply.SetReply(&query)
	reply.Authoritative, reply.RecursionAvailable = true, true
	opt := query.IsEdns0()
	if opt != nil {
		reply.SetEdns0(maxQuery, false)
		if opt.Version() != 0 {
			reply.Rcode = dns.RcodeBadVers
			return pack(&reply), nil
		}
	}
	q := query.Question[0]
	name := strings.ToLower(strings.TrimSuffix(q.Name, "."))
	if q.Qclass != dns.ClassINET || !slices.Contains(netguard.Names(), name) {
		reply.Rcode = dns.RcodeNameError
		if opt != nil {
			explained := reply.IsEdns0()
			explained.Option = append(explained.Option, &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeProhibited, ExtraText: explanation})
		}
		return pack(&reply), &Query{Name: name[:min(len(name), nameLimit)], Type: dns.Type(q.Qtype).String()}
	}
	if q.Qtype == dns.TypeA || q.Qtype == dns.TypeANY {
		reply.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: timeToLive},
			A:   netguard.Address().AsSlice(),
		}}
	}
	return pack(&reply), nil
}

func pack(reply *dns.Msg) []byte {
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}
