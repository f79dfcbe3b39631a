package netguard

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseHostGivesOneFormToEverySpelling(t *testing.T) {
	for text, want := range map[string]string{
		"example.org":              "example.org",
		"EXAMPLE.Org.":             "example.org",
		"_x.example.org":           "_x.example.org",
		"bücher.example":           "xn--bcher-kva.example",
		"XN--BCHER-KVA.example":    "xn--bcher-kva.example",
		"ｅｘａｍｐｌｅ.org":              "example.org",
		"example。org":              "example.org",
		"8.8.8.8":                  "8.8.8.8",
		"[2606:4700::1111]":        "2606:4700::1111",
		"2606:4700:0:0:0:0:0:1111": "2606:4700::1111",
		"[::ffff:10.0.0.1]":        "::ffff:10.0.0.1",
		"a1.0x.example":            "a1.0x.example",
	} {
		host, err := ParseHost(text)
		if err != nil || host.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, host, err, want)
		}
		again, err := ParseHost(host.String())
		if err != nil || again != host {
			t.Errorf("%q: its form %q reads as %q, %v", text, host, again, err)
		}
	}
}

func TestParseHostRefusesHostsThatProgramsReadDifferently(t *testing.T) {
	for _, text := range []string{
		"", ".", "..", "a..b", ".a", "-a.b", "a-.b", "a b", "a\x00.b", "a\r\n.b", "a/b", "a:b", "user@a", "a%2eb", "a,b", "*", "*.a",
		strings.Repeat("a", 64) + ".org", strings.Repeat("a.", 127) + "org",
		"2130706433", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "010.8.8.8", "1.2.3.4.5", "256.1.1.1", "a.1", "a.0x", "a.0xfg0x1.0x1", "a.0xfffffffffffffffffff", "１２７.１",
		"1.2.3.4.", "[1.2.3.4]", "[::1", "::1]", "[::1]x", "fe80::1%eth0", "[fe80::1%25eth0]", "[]", "xn--a.example", "xn--zzzz----.example",
	} {
		if host, err := ParseHost(text); err == nil {
			t.Errorf("%q was read as %q", text, host)
		} else if len(err.Error()) > 400 {
			t.Errorf("%q: the error has %d characters", text, len(err.Error()))
		}
	}
}

func TestParseDestination(t *testing.T) {
	for text, want := range map[string]string{
		"Example.org:443": "example.org:443", "8.8.8.8:1": "8.8.8.8:1", "[2606:4700::1]:65535": "[2606:4700::1]:65535",
	} {
		if d, err := ParseDestination(text); err != nil || d.String() != want {
			t.Errorf("%q: %q, %v", text, d, err)
		}
	}
	for _, text := range []string{"example.org", "example.org:", "example.org:0", "example.org:65536", "example.org:+80", "example.org:080", "example.org: 80", "example.org:80:90", "::1:80", "[::1]", "[::1]80", ":80", "a:https"} {
		if d, err := ParseDestination(text); err == nil {
			t.Errorf("%q was read as %q", text, d)
		}
	}
}

func TestCheckAddressAllowsPublicAddressesOnly(t *testing.T) {
	for text, want := range map[string]Reason{
		"8.8.8.8": 0, "1.1.1.1": 0, "2606:4700::1111": 0, "223.255.255.255": 0,
		"127.0.0.1": LoopbackAddress, "127.255.255.254": LoopbackAddress, "::1": LoopbackAddress,
		"0.0.0.0": ReservedAddress, "10.200.200.1": PrivateAddress, "172.16.0.1": PrivateAddress, "172.31.255.255": PrivateAddress, "172.32.0.1": 0,
		"192.168.1.1": PrivateAddress, "fd00::1": PrivateAddress, "fec0::1": PrivateAddress,
		"100.64.0.1": SharedAddress, "100.127.255.255": SharedAddress, "100.128.0.1": 0,
		"169.254.1.1": LinkLocalAddress, "fe80::1": LinkLocalAddress,
		"169.254.169.254": MetadataAddress, "fd00:ec2::254": MetadataAddress, "100.100.100.200": MetadataAddress, "168.63.129.16": MetadataAddress,
		"169.254.170.2": MetadataAddress, "192.0.0.192": MetadataAddress, "fd20:ce::254": MetadataAddress,
		"192.0.0.1": ReservedAddress, "198.51.100.1": ReservedAddress, "203.0.113.1": ReservedAddress, "3fff::1": ReservedAddress,
		"224.0.0.1": MulticastAddress, "255.255.255.255": ReservedAddress, "240.0.0.1": ReservedAddress, "ff02::1": MulticastAddress,
		"::ffff:8.8.8.8": EmbeddedAddress, "::8.8.8.8": EmbeddedAddress, "::": EmbeddedAddress, "64:ff9b::808:808": EmbeddedAddress, "64:ff9b:1::1": EmbeddedAddress,
		"2002:808:808::1": EmbeddedAddress, "2001::1": EmbeddedAddress, "2001:db8::1": ReservedAddress, "2001:20::1": ReservedAddress,
		"192.0.2.1": ReservedAddress, "198.18.0.1": ReservedAddress, "192.88.99.1": EmbeddedAddress, "4000::1": ReservedAddress, "100::1": ReservedAddress,
	} {
		if reason := CheckAddress(netip.MustParseAddr(text)); reason != want {
			t.Errorf("%s: %q, want %q", text, reason.Name(), want.Name())
		}
	}
	if CheckAddress(netip.Addr{}) == 0 || CheckAddress(netip.MustParseAddr("2606:4700::1%eth0")) == 0 {
		t.Error("an invalid address or one with a zone is public")
	}
}
