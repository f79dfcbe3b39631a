package rules

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"aibox/netguard"
)

func aliasAddr() *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: netguard.Address().AsSlice(), Mask: net.CIDRMask(32, 32)}}
}

// findAlias returns the guard's address on lo, nil if it is not assigned, and whether it
// answers.
func findAlias() (alias *netlink.Addr, up bool, err error) {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, false, err
	}
	addrs, err := readDump("addresses", func() ([]netlink.Addr, error) { return netlink.AddrList(lo, unix.AF_INET) })
	if err != nil {
		return nil, false, err
	}
	for _, addr := range addrs {
		if addr.Equal(*aliasAddr()) {
			return &addr, lo.Attrs().Flags&net.FlagUp != 0, nil
		}
	}
	return nil, false, nil
}

// rateLabel begins the label of the address, which stores the previous ICMP limit: it
// exists exactly as long as the limit is changed, and needs no file. That is why the
// address is added before all other changes, and removed after them.
const rateLabel = "lo:"

// addAlias assigns the address, labeled with the previous ICMP limit.
func addAlias(rateBefore int) change {
	label := rateLabel + strconv.Itoa(rateBefore)
	return ipChange(fmt.Sprintf("addr add %s/32 label %s dev lo", netguard.Address(), label), func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		addr := aliasAddr()
		addr.Label = label
		if err := netlink.AddrAdd(lo, addr); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("putting %s on lo: %w", netguard.Address(), err)
		}
		return nil
	})
}

// removeAlias removes the address and restores the ICMP limit.
func removeAlias() ([]change, error) {
	alias, _, err := findAlias()
	if err != nil || alias == nil {
		return nil, err
	}
	rate, err := strconv.Atoi(strings.TrimPrefix(alias.Label, rateLabel))
	if err != nil {
		rate = icmpRateDefault
	}
	var changes []change
	if icmpRate() == icmpRateOff && rate != icmpRateOff { // it still has our own value
		changes = append(changes, setICMPRate(rate))
	}
	return append(changes, ipChange(fmt.Sprintf("addr del %s/32 dev lo", netguard.Address()), func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		if err := netlink.AddrDel(lo, aliasAddr()); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("taking %s off lo: %w", netguard.Address(), err)
		}
		return nil
	})), nil
}

// sessionListening reports whether any process has a socket on the guard's address, as each
// running session does. Sockets close with their process, so a crash leaves none.
func sessionListening() (bool, error) {
	octets := netguard.Address().As4()
	// The kernel prints addresses as one number in the machine's order.
	address := fmt.Sprintf(" %08X:", binary.NativeEndian.Uint32(octets[:]))
	for _, name := range []string{"/proc/self/net/tcp", "/proc/self/net/udp"} {
		table, err := os.ReadFile(name)
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line)
			// State 0A listens, 07 is a UDP socket that is not connected.
			if len(fields) > 3 && (fields[3] == "0A" || fields[3] == "07") && strings.HasPrefix(" "+fields[1], address) {
				return true, nil
			}
		}
	}
	return false, nil
}

// occupiedBridges returns the sessions' bridges that have a sandbox on them. A sandbox
// whose supervisor was killed has no sockets left.
func occupiedBridges() ([]string, error) {
	links, err := readDump("interfaces", netlink.LinkList)
	if err != nil {
		return nil, err
	}
	bridges := map[int]string{}
	for _, link := range links {
		if name := link.Attrs().Name; strings.HasPrefix(name, netguard.BridgePrefix) {
			bridges[link.Attrs().Index] = name
		}
	}
	var occupied []string
	for _, link := range links {
		if name := bridges[link.Attrs().MasterIndex]; name != "" && !slices.Contains(occupied, name) {
			occupied = append(occupied, name)
		}
	}
	return occupied, nil
}

func linkIndex(name string) (int, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return 0, err
	}
	return link.Attrs().Index, nil
}
