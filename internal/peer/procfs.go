package peer

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procfs reads the tables of sockets in a folder, /proc/net: tcp and tcp6 (proc(5)).
// An IPv6 socket may hold IPv4 connections, so both are read.
type procfs struct{ dir string }

func (p procfs) connected(local, remote netip.AddrPort) (socket, error) {
	return p.find(func(s socket) bool { return !s.listens && s.local == local && s.remote == remote })
}

// listener returns the socket bound to the address itself or to every address. If two users
// have one each, it is unknown which of them gets a connection.
func (p procfs) listener(address netip.AddrPort) (socket, error) {
	return p.find(func(s socket) bool {
		return s.listens && s.local.Port() == address.Port() && (s.local.Addr() == address.Addr() || s.local.Addr().IsUnspecified())
	})
}

// find returns the socket for which match returns true; if there are several of different
// users, it returns none.
func (p procfs) find(match func(socket) bool) (socket, error) {
	var found []socket
	for _, name := range []string{"tcp", "tcp6"} {
		file, err := os.Open(filepath.Join(p.dir, name))
		if os.IsNotExist(err) && name == "tcp6" {
			continue // a kernel without IPv6
		}
		if err != nil {
			return socket{}, fmt.Errorf("%w (%w)", ErrUnknown, err)
		}
		err = readTable(file, func(s socket) {
			if match(s) {
				found = append(found, s)
			}
		})
		_ = file.Close()
		if err != nil {
			return socket{}, fmt.Errorf("%w (%w)", ErrUnknown, err)
		}
	}
	if len(found) == 0 {
		return socket{}, ErrUnknown
	}
	for _, other := range found[1:] {
		if other.uid != found[0].uid || other.inode == 0 {
			return socket{}, ErrUnknown
		}
	}
	return found[0], nil
}

// readTable reads the lines of a table, the first of which is the header.
func readTable(table io.Reader, visit func(socket)) error {
	lines := bufio.NewScanner(table)
	lines.Scan()
	for lines.Scan() {
		s, err := readLine(lines.Text())
		if err != nil {
			return err
		}
		visit(s)
	}
	return lines.Err()
}

// readLine reads "sl local remote state queues timer retransmits uid timeout inode …".
func readLine(line string) (s socket, err error) {
	words := strings.Fields(line)
	if len(words) < 10 {
		return s, fmt.Errorf("a line of a table of sockets has %d words", len(words))
	}
	if s.local, err = readAddress(words[1]); err != nil {
		return s, err
	}
	if s.remote, err = readAddress(words[2]); err != nil {
		return s, err
	}
	s.listens = words[3] == "0A"
	uid, err := strconv.ParseUint(words[7], 10, 32)
	if err != nil {
		return s, fmt.Errorf("the user id of a socket: %w", err)
	}
	s.uid = uint32(uid)
	s.inode, err = strconv.ParseUint(words[9], 10, 64)
	return s, err
}

// readAddress reads "0100007F:1F90": words of 32 bits in the machine's order, and the
// port.
func readAddress(text string) (netip.AddrPort, error) {
	digits, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(digits)
	number, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, fmt.Errorf("%q is not the address of a socket", text)
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	address, _ := netip.AddrFromSlice(raw)
	return plain(netip.AddrPortFrom(address, uint16(number))), nil
}
