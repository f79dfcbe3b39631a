package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"time"

	"aibox/internal/amount"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// dial connects and gives the connection ctx's deadline.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	return conn, nil
}

func askTCP(ctx context.Context, target string) (string, error) {
	conn, err := dial(ctx, "tcp", target)
	if err != nil {
		return "", err
	}
	return "connected", conn.Close()
}

// askHTTP is a minimal HTTP/1.1 client: net/http would make the sandbox's PID 1 twice as
// large and slower to start.
func askHTTP(ctx context.Context, proxy, target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return "", fmt.Errorf("%q is not an http URL", target)
	}
	address, uri := u.Host, u.RequestURI()
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "80")
	}
	if proxy != "" {
		address, uri = proxy, target
	}
	status, head, err := exchange(ctx, address, fmt.Sprintf(
		"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", uri, u.Host))
	if err == nil && proxy != "" && isProxysOwn(head) {
		err = proxyRefusal(status)
	}
	return "HTTP " + status, err
}

// isProxysOwn reports whether a response with this head is the proxy's own and not the
// server's (RFC 9209).
func isProxysOwn(head []byte) bool {
	return bytes.Contains(bytes.ToLower(head), []byte("\r\nproxy-status: aibox"))
}

func askConnect(ctx context.Context, proxy, target string) (string, error) {
	status, _, err := exchange(ctx, proxy, fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target))
	if err != nil {
		return "", err
	}
	if status[0] != '2' {
		return "", proxyRefusal(status)
	}
	return "the proxy said " + status, nil
}

// proxyRefusal returns the error for the status of a proxy that did not connect. Only 403
// is a refusal. Any other can mean that the proxy allows the target and cannot reach it.
func proxyRefusal(status string) error {
	text := "the proxy said " + status
	if status != "403" {
		return errors.New(text)
	}
	return refusal{text}
}

// maxHead is the maximum size of the head of a response.
const maxHead = 8 << 10

// exchange sends a request head. It returns the three digits of the status, and the first
// maxHead bytes of the response's head.
func exchange(ctx context.Context, address, request string) (status string, head []byte, err error) {
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return "", nil, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		return "", nil, err
	}
	line := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, line); err != nil {
		return "", nil, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return "", nil, fmt.Errorf("%q is not an HTTP answer", line)
	}
	head = append(head, line...)
	for part := make([]byte, 1024); len(head) < maxHead && !bytes.Contains(head, []byte("\r\n\r\n")); {
		n, err := conn.Read(part)
		head = append(head, part[:n]...)
		if err != nil {
			break // the status is known
		}
	}
	return string(line[9:]), head, nil
}

func askUDP(ctx context.Context, target string) (string, error) {
	answer, err := datagram(ctx, target, []byte("aibox"))
	return fmt.Sprintf("%d bytes came back", len(answer)), err
}

func askDNS(ctx context.Context, server, name string) (string, error) {
	query, err := dnsQuery(name)
	if err != nil {
		return "", err
	}
	answer, err := datagram(ctx, server, query)
	if err != nil {
		return "", err
	}
	var parser dnsmessage.Parser
	header, err := parser.Start(answer)
	if err != nil {
		return "", fmt.Errorf("not a DNS answer: %w", err)
	}
	if header.RCode != dnsmessage.RCodeSuccess {
		return "", refusal{nameServerSaid(header.RCode)}
	}
	if err := parser.SkipAllQuestions(); err != nil {
		return "", err
	}
	answers, err := parser.AllAnswers()
	if err != nil {
		return "", err
	}
	if len(answers) == 0 {
		return "", refusal{"the name server knows no address of the name"}
	}
	return amount.Of(len(answers), "record"), nil
}

// nameServerSaid describes a name server's answer without a record, for display.
func nameServerSaid(code dnsmessage.RCode) string {
	switch code {
	case dnsmessage.RCodeNameError:
		return "name unknown to the name server"
	case dnsmessage.RCodeRefused:
		return "refused by the name server"
	case dnsmessage.RCodeServerFailure:
		return "the name server failed"
	default:
		return fmt.Sprintf("the name server said no (code %d)", code)
	}
}

func dnsQuery(name string) ([]byte, error) {
	parsed, err := dnsmessage.NewName(name + ".")
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	message := dnsmessage.Message{
		Header: dnsmessage.Header{ID: uint16(time.Now().UnixNano()), RecursionDesired: true},
		Questions: []dnsmessage.Question{
			{Name: parsed, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
		},
	}
	return message.Pack()
}

func datagram(ctx context.Context, target string, payload []byte) ([]byte, error) {
	conn, err := dial(ctx, "udp", target)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Write(payload); err != nil {
		return nil, err
	}
	answer := make([]byte, 1500)
	n, err := conn.Read(answer)
	return answer[:n], err
}

// askICMP sends an echo request through a ping socket. If the sandbox must not open one, its
// own kernel refuses; raw sockets need a capability that no sandbox has.
func askICMP(ctx context.Context, target, follow string) (string, error) {
	address, err := netip.ParseAddr(target)
	if err != nil || !address.Is4() {
		return "", fmt.Errorf("%q is not an IPv4 address", target)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		return "", fmt.Errorf("no socket for ICMP: %w", err)
	}
	defer unix.Close(fd)
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(DefaultTimeout)
	}
	// Type 8, code 0, checksum 0xf7ff, identifier 0, sequence 0: RFC 792.
	echo := []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: address.As4()}); err != nil {
		return "", err
	}
	if _, err := unix.Write(fd, echo); err != nil {
		return "", err
	}
	if follow != "" {
		if _, err := askTCP(ctx, follow); classify(err) == refused {
			deadline = earlier(deadline, time.Now().Add(FollowTimeout))
		}
	}
	wait := unix.NsecToTimeval(max(time.Until(deadline), time.Millisecond).Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return "", err
	}
	n, err := unix.Read(fd, make([]byte, 1500))
	if errors.Is(err, unix.EAGAIN) || (err == nil && n == 0) {
		return "", errSilence
	}
	if err != nil {
		return "", err
	}
	return "a reply came", nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
