package rules

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/netguard"
)

// open creates the sockets of one session: TCP listeners, then UDP sockets, in the order of
// ports, then the rejecter's packet socket. All are bound to bridge, so sessions can use the
// same address and port, each on its own bridge.
func open(bridge string, ports GuardRequest) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
			files = nil
		}
	}()
	for _, port := range ports.TCP {
		file, err := bind(bridge, unix.SOCK_STREAM, port)
		if err != nil {
			return files, err
		}
		files = append(files, file)
	}
	for _, port := range ports.UDP {
		file, err := bind(bridge, unix.SOCK_DGRAM, port)
		if err != nil {
			return files, err
		}
		files = append(files, file)
	}
	file, err := openPackets(bridge, ports)
	if err != nil {
		return files, fmt.Errorf("opening a packet socket on %s: %w", bridge, err)
	}
	return append(files, file), nil
}

// releaseTime is how long to wait for a socket's last owner to close it: a killed process
// takes a moment to die, and a forked child has a copy until it executes its program. On a
// busy machine that takes seconds.
const releaseTime = 3 * time.Second

func bind(bridge string, kind, port int) (*os.File, error) {
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		file, err := tryBind(bridge, kind, port)
		if err == nil || !errors.Is(err, unix.EADDRINUSE) {
			return file, err
		}
		if time.Since(begin) > releaseTime {
			by := ""
			if programs := holders(bridge, kind, port); programs != "" {
				by = " by " + programs
			}
			return nil, fault.New(fault.Environment, "port %d is taken where Docker's bridges are%s", port, by).
				Hint("aibox ls   # another session may still hold bridge %s", bridge).
				Hint("docker ps  # a container that publishes port %d on all addresses takes it: publish on 127.0.0.1", port)
		}
	}
}

func tryBind(bridge string, kind, port int) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), fmt.Sprintf("%s:%d", bridge, port))
	addr := &unix.SockaddrInet4{Port: port, Addr: netguard.Address().As4()}
	err = unix.BindToDevice(fd, bridge)
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err == nil {
		err = unix.Bind(fd, addr)
	}
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, 1024)
	}
	if err == nil {
		return file, nil
	}
	file.Close()
	return nil, fmt.Errorf("listening on %s port %d: %w", bridge, port, err)
}

// openPackets creates a socket that receives the IPv4 packets from bridge to other ports.
// The kernel filters them, so allowed traffic costs nothing.
func openPackets(bridge string, ports GuardRequest) (*os.File, error) {
	link, err := linkIndex(bridge)
	if err != nil {
		return nil, err
	}
	filter, err := bpf.Assemble(refusedFilter(ports))
	if err != nil {
		return nil, err
	}
	// Protocol 0 receives nothing until the filter is in place and bind names IPv4.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), bridge)
	raw := make([]unix.SockFilter, len(filter))
	for i, ins := range filter {
		raw[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(raw)), Filter: &raw[0]})
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_IP), Ifindex: link})
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// snap is how much of a refused packet is read: the longest IPv4 header and a TCP header.
const snap = 128

// refusedFilter keeps the packets (from the IPv4 header on) that are not to one of
// ports on the guard's address.
func refusedFilter(ports GuardRequest) []bpf.Instruction {
	keep, drop := bpf.RetConstant{Val: snap}, bpf.RetConstant{Val: 0}
	addr := netguard.Address().As4()
	guard := uint32(addr[0])<<24 | uint32(addr[1])<<16 | uint32(addr[2])<<8 | uint32(addr[3])
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: 16, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: guard, SkipTrue: 1},
		keep,
		bpf.LoadMemShift{Off: 0},
	}
	for _, group := range []struct {
		protocol uint32
		ports    []int
	}{{unix.IPPROTO_TCP, ports.TCP}, {unix.IPPROTO_UDP, ports.UDP}} {
		for _, port := range group.ports {
			program = append(program,
				bpf.LoadAbsolute{Off: 9, Size: 1},
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: group.protocol, SkipTrue: 3},
				bpf.LoadIndirect{Off: 2, Size: 2},
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(port), SkipTrue: 1},
				drop,
			)
		}
	}
	return append(program, keep)
}

func networkOrder(v uint16) uint16 { return v<<8 | v>>8 }

func closeAll(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}
