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

// alias is the guard's address on lo.
type alias struct {
	assigned bool
	up       bool // it answers
	own      bool // assigned by the guard
	rate     int  // the previous ICMP limit that its label stores
}

// findAlias returns the current address.
func findAlias() (alias, error) {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return alias{}, err
	}
	addrs, err := readDump("addresses", func() ([]netlink.Addr, error) { return netlink.AddrList(lo, unix.AF_INET) })
	if err != nil {
		return alias{}, err
	}
	for _, addr := range addrs {
		if addr.Equal(*aliasAddr()) {
			rate, own := parseLabel(addr.Label)
			return alias{assigned: true, up: lo.Attrs().Flags&net.FlagUp != 0, own: own, rate: rate}, nil
		}
	}
	return alias{}, nil
}

// rateLabel begins the label of the address, which stores the previous ICMP limit: it
// exists exactly as long as the limit is changed, and needs no file. That is why the
// address is added before all other changes, and removed after them. An address without it
// is the user's: it stays, and because nothing could store the limit, that stays, too.
const rateLabel = "lo:a" // a label has at most 15 characters, and the limit at most 11

// earlierLabel is the label of earlier versions, with the kernel's own limit. Their other labels
// could be those of the user's own ifconfig.
var earlierLabel = "lo:" + strconv.Itoa(icmpRateDefault)

// parseLabel returns the ICMP limit in the label of an address, and whether the guard has
// assigned the address.
func parseLabel(label string) (rate int, own bool) {
	if label == earlierLabel {
		return icmpRateDefault, true
	}
	text, ok := strings.CutPrefix(label, rateLabel)
	if !ok {
		return 0, false
	}
	rate, err := strconv.Atoi(text)
	return rate, err == nil
}

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

// removeAlias removes the address that the guard has assigned and restores the ICMP limit.
func removeAlias() ([]change, error) {
	found, err := findAlias()
	if err != nil || !found.own {
		return nil, err
	}
	var changes []change
	if icmpRate() == icmpRateOff && found.rate != icmpRateOff { // it still has our own value
		changes = append(changes, setICMPRate(found.rate))
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
