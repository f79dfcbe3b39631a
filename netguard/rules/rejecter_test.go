package rules

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"golang.org/x/net/bpf"

	"aibox/netguard"
)

// ipv4 makes a packet from 10.0.0.2 to dst.
func ipv4(dst string, protocol byte, body ...byte) []byte {
	packet := make([]byte, 20, 20+len(body))
	packet[0], packet[8], packet[9] = 0x45, 64, protocol
	binary.BigEndian.PutUint16(packet[2:], uint16(20+len(body)))
	copy(packet[12:], []byte{10, 0, 0, 2})
	addr := netip.MustParseAddr(dst).As4()
	copy(packet[16:], addr[:])
	return append(packet, body...)
}

func tcp(port uint16, flags byte, payload int) []byte {
	segment := make([]byte, 20+payload)
	binary.BigEndian.PutUint16(segment[0:], 40000)
	binary.BigEndian.PutUint16(segment[2:], port)
	binary.BigEndian.PutUint32(segment[4:], 1000)
	binary.BigEndian.PutUint32(segment[8:], 5000)
	segment[12], segment[13] = 5<<4, flags
	return segment
}

func udp(port uint16) []byte {
	return []byte{0x9c, 0x40, byte(port >> 8), byte(port), 0, 12, 0, 0, 1, 2, 3, 4}
}

func TestRejectedPacketIsAnsweredInItsProtocol(t *testing.T) {
	for _, test := range []struct {
		name        string
		packet      []byte
		refusal     Refusal
		kind        byte // protocol of the answer, 0 for none
		flags, code byte
		seq, ack    uint32
	}{
		{"a connection", ipv4("1.2.3.4", 6, tcp(443, 2, 0)...), Refusal{Protocol: netguard.TCP, Dst: netip.MustParseAddrPort("1.2.3.4:443")}, 6, 4 | 16, 0, 0, 1001},
		{"data without a connection", ipv4("1.2.3.4", 6, tcp(443, 16, 5)...), Refusal{Protocol: netguard.TCP, Dst: netip.MustParseAddrPort("1.2.3.4:443")}, 6, 4, 0, 5000, 0},
		{"a connection with data", ipv4("1.2.3.4", 6, tcp(443, 2, 5)...), Refusal{Protocol: netguard.TCP, Dst: netip.MustParseAddrPort("1.2.3.4:443")}, 6, 4 | 16, 0, 0, 1006},
		{"a reset", ipv4("1.2.3.4", 6, tcp(443, 4, 0)...), Refusal{Protocol: netguard.TCP, Dst: netip.MustParseAddrPort("1.2.3.4:443")}, 0, 0, 0, 0, 0},
		{"a datagram", ipv4("8.8.8.8", 17, udp(53)...), Refusal{Protocol: netguard.UDP, Dst: netip.MustParseAddrPort("8.8.8.8:53")}, 1, 0, 3, 0, 0},
		{"a ping", ipv4("8.8.8.8", 1, 8, 0, 0, 0, 0, 1, 0, 1), Refusal{Dst: netip.MustParseAddrPort("8.8.8.8:0")}, 1, 0, 13, 0, 0},
		{"an ICMP error", ipv4("8.8.8.8", 1, 3, 3, 0, 0, 0, 0, 0, 0), Refusal{Dst: netip.MustParseAddrPort("8.8.8.8:0")}, 0, 0, 0, 0, 0},
		{"a group", ipv4("224.0.0.251", 17, udp(5353)...), Refusal{Protocol: netguard.UDP, Dst: netip.MustParseAddrPort("224.0.0.251:5353")}, 0, 0, 0, 0, 0},
		{"SCTP", ipv4("8.8.8.8", 132, 0, 1, 0, 2), Refusal{Dst: netip.MustParseAddrPort("8.8.8.8:0")}, 1, 0, 13, 0, 0},
	} {
		refusal, answer := reject(test.packet)
		if refusal != test.refusal {
			t.Errorf("%s: %+v", test.name, refusal)
		}
		if (answer == nil) != (test.kind == 0) || answer != nil && answer[9] != test.kind {
			t.Errorf("%s: answer %x", test.name, answer)
			continue
		}
		if answer == nil {
			continue
		}
		if fold(sum(0, answer[:20])) != 0xffff {
			t.Errorf("%s: bad checksum of the header", test.name)
		}
		if test.kind == 1 && (answer[20] != 3 || answer[21] != test.code || fold(sum(0, answer[20:])) != 0xffff) {
			t.Errorf("%s: ICMP %x", test.name, answer[20:])
		}
		if test.kind == 6 {
			pseudo := sum(0, answer[12:20]) + 6 + 20
			if answer[33] != test.flags || binary.BigEndian.Uint32(answer[24:]) != test.seq || binary.BigEndian.Uint32(answer[28:]) != test.ack || fold(sum(pseudo, answer[20:])) != 0xffff {
				t.Errorf("%s: TCP %x", test.name, answer[20:])
			}
		}
	}
}

func FuzzRejectNeverAmplifies(f *testing.F) {
	f.Add(ipv4("1.2.3.4", 6, tcp(443, 2, 0)...))
	f.Add(ipv4("1.2.3.4", 17, udp(53)...))
	f.Add(ipv4("1.2.3.4", 1, 8, 0))
	f.Add([]byte{0x4f, 0, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, packet []byte) {
		_, answer := reject(packet)
		if answer == nil {
			return
		}
		if len(answer) > len(packet)+36 {
			t.Errorf("%d bytes to %d", len(answer), len(packet))
		}
		if _, again := reject(answer); again != nil {
			t.Errorf("the answer %x is answered by %x: two doormen would talk for ever", answer, again)
		}
	})
}

func TestFilterKeepsExactlyTheDisallowedRunes(t *testing.T) {
	vm, err := bpf.NewVM(refusedFilter(GuardRequest{TCP: []int{11434, 53}, UDP: []int{53}}))
	must(t, err)
	options := ipv4("10.200.200.1", 6, append([]byte{1, 1, 1, 1}, tcp(11434, 2, 0)...)...)
	options[0] = 0x46 // one word of options before the ports
	for _, test := range []struct {
		name   string
		packet []byte
		kept   bool
	}{
		{"the gateway", ipv4("10.200.200.1", 6, tcp(11434, 2, 0)...), false},
		{"the gateway behind IP options", options, false},
		{"DNS by TCP", ipv4("10.200.200.1", 6, tcp(53, 2, 0)...), false},
		{"DNS by UDP", ipv4("10.200.200.1", 17, udp(53)...), false},
		{"another port", ipv4("10.200.200.1", 6, tcp(11435, 2, 0)...), true},
		{"the gateway's port by UDP", ipv4("10.200.200.1", 17, udp(11434)...), true},
		{"another address", ipv4("10.200.200.2", 6, tcp(11434, 2, 0)...), true},
		{"ping", ipv4("10.200.200.1", 1, 8, 0, 0, 0), true},
	} {
		n, err := vm.Run(test.packet)
		if err != nil || (n > 0) != test.kept {
			t.Errorf("%s: kept %d bytes, %v", test.name, n, err)
		}
	}
}

func BenchmarkReject(b *testing.B) {
	packet := ipv4("1.2.3.4", 6, tcp(443, 2, 0)...)
	for b.Loop() {
		reject(packet)
	}
}
