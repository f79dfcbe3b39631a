package rules

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"aibox/netguard"
)

func aliasAddr() *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: netguard.Address().AsSlice(), Mask: net.CIDRMask(32, 32)}}
}

func hasAlias() (bool, error) {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return false, err
	}
	addrs, err := netlink.AddrList(lo, unix.AF_INET)
	if err != nil {
		return false, err
	}
	for _, addr := range addrs {
		if addr.Equal(*aliasAddr()) {
			return lo.Attrs().Flags&net.FlagUp != 0, nil
		}
	}
	return false, nil
}

func addAlias() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(lo, aliasAddr()); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("putting %s on lo: %w", netguard.Address(), err)
	}
	return nil
}

func removeAlias() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.AddrDel(lo, aliasAddr()); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
		return fmt.Errorf("taking %s off lo: %w", netguard.Address(), err)
	}
	return nil
}

func linkIndex(name string) (int, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return 0, err
	}
	return link.Attrs().Index, nil
}
