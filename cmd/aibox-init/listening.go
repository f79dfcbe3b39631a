package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/lifeline"
)

// maxSocketTable is how much of the kernel's list of sockets is read. Connections are in it,
// too, so an agent can make it long.
const maxSocketTable = 16 << 20

// listeningPorts lists the TCP ports on which programs in the sandbox listen.
func listeningPorts() lifeline.Ports {
	var all []lifeline.ListeningPort
	var errs []error
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		found, err := readSocketTable(name)
		if errors.Is(err, fs.ErrNotExist) { // without IPv6 there is no such file
			continue
		}
		errs = append(errs, err)
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b lifeline.ListeningPort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), strings.Compare(a.Address, b.Address))
	})
	all = slices.Compact(all)
	list := lifeline.Ports{Ports: all[:min(len(all), lifeline.MaxPorts)]}
	if err := errors.Join(errs...); err != nil {
		list.Error = err.Error()
	}
	return list
}

func readSocketTable(name string) ([]lifeline.ListeningPort, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return parseSocketTable(io.LimitReader(file, maxSocketTable))
}

// stateListen is the state of a listening socket in proc(5)'s net/tcp.
const stateListen = "0A"

// parseSocketTable returns the listening sockets of a table like /proc/net/tcp.
func parseSocketTable(table io.Reader) ([]lifeline.ListeningPort, error) {
	var found []lifeline.ListeningPort
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != stateListen {
			continue
		}
		address, err := parseSocketAddress(fields[1])
		if err != nil {
			return found, err
		}
		found = append(found, lifeline.ListeningPort{Address: address.Addr().Unmap().String(), Port: address.Port()})
	}
	return found, lines.Err()
}

// parseSocketAddress parses an address such as 0100007F:1F90. The kernel prints it in words
// of 4 bytes, each in the machine's byte order.
func parseSocketAddress(text string) (netip.AddrPort, error) {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	if err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("%q is not the address of a socket", text)
	}
	for word := range slices.Chunk(raw, 4) {
		binary.BigEndian.PutUint32(word, binary.NativeEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(raw)
	number, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is not the address of a socket", text)
	}
	return netip.AddrPortFrom(ip, uint16(number)), nil
}
