package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// proxy answers one CONNECT with response, and then echoes in upper case. requests receives
// the request line.
func proxy(t *testing.T, response string) (address string, requests <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	lines := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
		in := bufio.NewReader(conn)
		line, _ := in.ReadString('\n')
		lines <- strings.TrimSpace(line)
		for strings.TrimSpace(line) != "" {
			line, _ = in.ReadString('\n')
		}
		_, _ = io.WriteString(conn, response)
		if strings.Contains(response, " 200 ") {
			rest, _ := io.ReadAll(in)
			_, _ = conn.Write(bytes.ToUpper(rest))
			_ = conn.Close()
		}
	}()
	return listener.Addr().String(), lines
}

func TestAProgramThatKnowsNoProxyConnectsThroughIt(t *testing.T) {
	address, requests := proxy(t, "HTTP/1.1 200 OK\r\nA: b\r\n\r\nbanner ")
	var out, errs bytes.Buffer
	if code := connect([]string{address, "git.example", "22"}, strings.NewReader("hello"), &out, &errs); code != 0 || out.String() != "banner HELLO" || errs.Len() > 0 {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
	}
	if request := <-requests; request != "CONNECT git.example:22 HTTP/1.1" {
		t.Errorf("requested %q", request)
	}
}

func TestARefusalOfTheProxyIsShown(t *testing.T) {
	for response, want := range map[string]string{
		"HTTP/1.1 403 no\r\ncontent-length: 21\r\n\r\nrefused: not listed\n\nmore": "aibox: refused: not listed\n",
		"HTTP/1.1 502 unreachable\r\n\r\n":                                         "aibox: the proxy said 502 unreachable\n",
		"SSH-2.0-x\r\n\r\n":                                                        "is not HTTP",
		"HTTP/1.1 403 " + strings.Repeat("x", 20<<10) + "\n":                       "no answer",
	} {
		address, _ := proxy(t, response)
		var out, errs bytes.Buffer
		if code := connect([]string{address, "git.example", "22"}, strings.NewReader(""), &out, &errs); code != 1 || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%.40q: exit code %d, %q, %q", response, code, out.String(), errs.String())
		}
	}
	var errs bytes.Buffer
	if code := connect([]string{"127.0.0.1"}, nil, io.Discard, &errs); code != 2 {
		t.Errorf("without a host: %d", code)
	}
	if _, err := dialThrough("127.0.0.1:1", "git.example:22"); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("without a proxy: %v", err)
	}
}
