package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// connectCommand makes init connect its input and output to a host through an HTTP proxy.
// It is for programs that do not support proxies but can run a command in place of
// connecting, as ssh can (ProxyCommand). The standard tools for that, such as nc and socat,
// are missing in most images.
const connectCommand = "connect"

const (
	connectTimeout = 2 * time.Minute // the proxy may ask the user
	maxProxyHead   = 16 << 10        // bytes of a proxy's response head
	maxProxyBody   = 4 << 10         // bytes of a refusal that are shown
)

// connect connects in and out to a host; its args are PROXY HOST PORT. It returns the exit
// code: 1 if the proxy refuses, after its explanation.
func connect(args []string, in io.Reader, out, errs io.Writer) int {
	if len(args) != 3 {
		fmt.Fprintln(errs, "usage: aibox-init connect PROXY HOST PORT")
		return 2
	}
	conn, err := dialThrough(args[0], net.JoinHostPort(args[1], args[2]))
	if err != nil {
		fmt.Fprintln(errs, "aibox:", err)
		return 1
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, in)
		_ = conn.CloseWrite()
	}()
	if _, err := io.Copy(out, conn); err != nil && !errors.Is(err, os.ErrClosed) {
		fmt.Fprintln(errs, "aibox: reading from", args[1]+":", err)
		return 1
	}
	return 0
}

// tunnel is a connection through a proxy.
type tunnel struct {
	*net.TCPConn
	buffered io.Reader
}

func (t tunnel) Read(p []byte) (int, error) { return t.buffered.Read(p) }

// WriteTo hides the connection's method, which would skip buffered data.
func (t tunnel) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, onlyReader{t.buffered}) }

type onlyReader struct{ io.Reader }

// dialThrough connects to a target through a proxy.
func dialThrough(proxy, target string) (tunnel, error) {
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(context.Background(), "tcp", proxy)
	if err != nil {
		return tunnel{}, fmt.Errorf("the sandbox has no egress proxy: %w", err)
	}
	tcp := conn.(*net.TCPConn)
	_ = conn.SetDeadline(time.Now().Add(connectTimeout))
	buffered := bufio.NewReaderSize(tcp, maxProxyHead)
	if err := negotiate(tcp, buffered, target); err != nil {
		conn.Close()
		return tunnel{}, err
	}
	_ = conn.SetDeadline(time.Time{})
	return tunnel{tcp, buffered}, nil
}

// negotiate sends the request for a tunnel and reads the response to the end of its head.
func negotiate(conn io.Writer, in *bufio.Reader, target string) error {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		return err
	}
	status, length, err := readProxyHead(in)
	if err != nil {
		return fmt.Errorf("the proxy gave no answer: %w", err)
	}
	version, rest, _ := strings.Cut(status, " ")
	if !strings.HasPrefix(version, "HTTP/1.") {
		return fmt.Errorf("the proxy's answer is not HTTP: %.80q", status)
	}
	if strings.HasPrefix(rest, "2") {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(in, min(length, maxProxyBody)))
	if text := strings.TrimSpace(string(body)); text != "" {
		return errors.New(text)
	}
	return fmt.Errorf("the proxy said %s", rest)
}

// readProxyHead reads the head of a response. It returns the status line and the length of
// the body.
func readProxyHead(in *bufio.Reader) (status string, length int64, err error) {
	for size := 0; size < maxProxyHead; {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return "", 0, err
		}
		size += len(line)
		text := strings.TrimSpace(string(line))
		if text == "" {
			return status, length, nil
		}
		if status == "" {
			status = text
		}
		if name, value, _ := strings.Cut(text, ":"); strings.EqualFold(name, "Content-Length") {
			length, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return "", 0, errors.New("its head is too long")
}
