package rules

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"aibox/netguard"
)

// rejecter reads packets that a sandbox sends to forbidden destinations and answers them
// with a rejection.
type rejecter struct {
	file   *os.File // AF_PACKET, from the network header on, filtered by refusedFilter
	closed atomic.Bool
}

func (d *rejecter) close() error {
	d.closed.Store(true)
	return d.file.Close()
}

// answersPerSecond limits the work; beyond it only the kernel's slower answers are sent.
const answersPerSecond = 2000

func (d *rejecter) serve(ctx context.Context, log func(Refusal)) error {
	stop := context.AfterFunc(ctx, func() { _ = d.close() })
	defer stop()
	conn, err := d.file.SyscallConn()
	if err != nil {
		return err
	}
	budget, refilled := answersPerSecond, time.Now()
	packet := make([]byte, snap)
	for {
		n, from, err := read(conn, packet)
		if err != nil && d.closed.Load() {
			return nil
		}
		if errors.Is(err, unix.ENETDOWN) || errors.Is(err, unix.ENOBUFS) {
			continue // the bridge goes down with its last sandbox, and may come back
		}
		if err != nil {
			return err
		}
		now := time.Now()
		if now.Sub(refilled) >= time.Second {
			budget, refilled = answersPerSecond, now
		}
		if budget == 0 {
			continue
		}
		budget--
		refusal, answer := reject(packet[:n])
		if !refusal.Dst.IsValid() {
			continue
		}
		if answer != nil && from != nil {
			_ = conn.Write(func(fd uintptr) bool {
				_ = unix.Sendto(int(fd), answer, 0, from) // a client repeats its packet if the answer is lost
				return true
			})
		}
		if log != nil {
			refusal.Time = now
			log(refusal)
		}
	}
}

// rawConn is the part of syscall.RawConn that serve uses.
type rawConn interface {
	Read(func(fd uintptr) bool) error
}

func read(conn rawConn, packet []byte) (n int, from *unix.SockaddrLinklayer, err error) {
	waitErr := conn.Read(func(fd uintptr) bool {
		var addr unix.Sockaddr
		n, addr, err = unix.Recvfrom(int(fd), packet, 0)
		from, _ = addr.(*unix.SockaddrLinklayer)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	if waitErr != nil {
		return 0, nil, waitErr
	}
	if from != nil {
		from.Protocol = networkOrder(unix.ETH_P_IP)
	}
	return n, from, err
}

// reject parses the beginning of an IPv4 packet and returns the answer: a reset for TCP
// (RFC 9293, 3.10.7.1), an ICMP error for the rest. It returns nil for packets that must not
// be answered: errors, resets, fragments, multicast (RFC 1122, 3.2.2).
func reject(packet []byte) (Refusal, []byte) {
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return Refusal{}, nil
	}
	headerLen := int(packet[0]&0xf) * 4
	total := int(binary.BigEndian.Uint16(packet[2:]))
	if headerLen < 20 || total < headerLen || len(packet) < headerLen {
		return Refusal{}, nil
	}
	src, dst := netip.AddrFrom4([4]byte(packet[12:16])), netip.AddrFrom4([4]byte(packet[16:20]))
	silent := binary.BigEndian.Uint16(packet[6:])&0x1fff != 0 || dst.IsMulticast() || dst == netip.AddrFrom4([4]byte{255, 255, 255, 255}) ||
		src.IsUnspecified() || src.IsMulticast() || src.IsLoopback()
	refusal := Refusal{Dst: netip.AddrPortFrom(dst, 0)}
	body := packet[headerLen:]
	code := byte(13) // administratively prohibited
	switch protocol := packet[9]; {
	case protocol == unix.IPPROTO_TCP && len(body) >= 20:
		refusal.Protocol, refusal.Dst = netguard.TCP, netip.AddrPortFrom(dst, binary.BigEndian.Uint16(body[2:]))
		if silent {
			return refusal, nil
		}
		return refusal, reset(packet, body, total-headerLen)
	case protocol == unix.IPPROTO_UDP && len(body) >= 8:
		refusal.Protocol, refusal.Dst = netguard.UDP, netip.AddrPortFrom(dst, binary.BigEndian.Uint16(body[2:]))
		code = 3 // port unreachable
	case protocol == unix.IPPROTO_ICMP && (len(body) < 1 || !isQuery(body[0])):
		silent = true
	}
	if silent {
		return refusal, nil
	}
	return refusal, unreachable(packet, headerLen, code)
}

// isQuery reports whether an ICMP message of kind can be answered with an error.
func isQuery(kind byte) bool { return kind == 8 || kind == 13 || kind == 15 || kind == 17 }

func reset(packet, tcp []byte, segment int) []byte {
	const fin, syn, rst, ack = 1, 2, 4, 16
	flags := tcp[13]
	if flags&rst != 0 {
		return nil
	}
	answer := reply4(packet, unix.IPPROTO_TCP, 20)
	out := answer[20:]
	copy(out[0:2], tcp[2:4])
	copy(out[2:4], tcp[0:2])
	out[12], out[13] = 5<<4, rst
	if flags&ack != 0 {
		copy(out[4:8], tcp[8:12])
	} else {
		length := uint32(max(segment-int(tcp[12]>>4)*4, 0))
		if flags&syn != 0 {
			length++
		}
		if flags&fin != 0 {
			length++
		}
		binary.BigEndian.PutUint32(out[8:], binary.BigEndian.Uint32(tcp[4:])+length)
		out[13] |= ack
	}
	pseudo := sum(0, answer[12:20]) + unix.IPPROTO_TCP + 20
	binary.BigEndian.PutUint16(out[16:], ^fold(sum(pseudo, out)))
	return answer
}

func unreachable(packet []byte, headerLen int, code byte) []byte {
	quoted := packet[:min(len(packet), headerLen+8)]
	answer := reply4(packet, unix.IPPROTO_ICMP, 8+len(quoted))
	icmp := answer[20:]
	icmp[0], icmp[1] = 3, code
	copy(icmp[8:], quoted)
	binary.BigEndian.PutUint16(icmp[2:], ^fold(sum(0, icmp)))
	return answer
}

// reply4 returns a packet with an IPv4 header and length bytes, from the packet's
// destination to its sender.
func reply4(packet []byte, protocol byte, length int) []byte {
	answer := make([]byte, 20+length)
	answer[0] = 4<<4 | 5
	binary.BigEndian.PutUint16(answer[2:], uint16(len(answer)))
	answer[6], answer[8], answer[9] = 0x40, 64, protocol // don't fragment; 64 hops
	copy(answer[12:16], packet[16:20])
	copy(answer[16:20], packet[12:16])
	binary.BigEndian.PutUint16(answer[10:], ^fold(sum(0, answer[:20])))
	return answer
}

// sum and fold are the Internet checksum (RFC 1071).
func sum(start uint32, data []byte) uint32 {
	for ; len(data) >= 2; data = data[2:] {
		start += uint32(binary.BigEndian.Uint16(data))
	}
	if len(data) == 1 {
		start += uint32(data[0]) << 8
	}
	return start
}

func fold(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
