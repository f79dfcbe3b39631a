package rules

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// holders describes the programs whose sockets keep a port from being bound on bridge, such
// as "http-server, process 12". It is empty if none can be seen: programs of other users, and
// sockets that are being passed to another process.
func holders(bridge string, kind, port int) string {
	list := netlink.SocketDiagTCP
	if kind == unix.SOCK_DGRAM {
		list = netlink.SocketDiagUDP
	}
	sockets, err := list(unix.AF_INET)
	if err != nil {
		return ""
	}
	index, err := linkIndex(bridge)
	if err != nil {
		return ""
	}
	inodes := map[string]bool{}
	for _, s := range sockets {
		onBridge := s.ID.Interface == 0 || s.ID.Interface == uint32(index) //nolint:gosec // an index is positive
		if int(s.ID.SourcePort) == port && onBridge {
			inodes[fmt.Sprintf("socket:[%d]", s.INode)] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(ownersOf(inodes))), "; ")
}

// ownersOf returns the processes that have one of these sockets open.
func ownersOf(sockets map[string]bool) map[string]bool {
	owners := map[string]bool{}
	if len(sockets) == 0 {
		return owners
	}
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, descriptor := range descriptors {
		target, err := os.Readlink(descriptor)
		if err != nil || !sockets[target] {
			continue
		}
		process := filepath.Dir(filepath.Dir(descriptor))
		name, _ := os.ReadFile(process + "/comm")
		owners[strings.TrimSpace(string(name))+", process "+filepath.Base(process)] = true
	}
	return owners
}
