package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/relay"
	"aibox/session/ports"
)

// dialProtocol is the protocol to which a dial request upgrades its connection: the bytes
// of the port.
const dialProtocol = "aibox-port/1"

// statusNothingListens answers a dial to a port on which no program listens.
const statusNothingListens = http.StatusBadGateway

// dialTimeout is how long a supervisor may take to answer a dial: the sandbox has most of
// this time to connect.
const dialTimeout = 20 * time.Second

// DialPort connects to a TCP port of the sandbox. It returns ports.ErrNothingListens if no
// program listens there. Otherwise the caller owns the connection; its data comes from the
// sandbox.
func (c Client) DialPort(ctx context.Context, port uint16) (relay.Conn, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, noAnswer(ctx, err)
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("the control socket is a %T", conn)
	}
	if !c.patient {
		_ = unixConn.SetDeadline(time.Now().Add(dialTimeout))
	}
	stop := context.AfterFunc(ctx, func() { _ = unixConn.SetDeadline(time.Now()) })
	dialed, err := requestPort(unixConn, port)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return dialed, unixConn.SetDeadline(time.Time{})
}

// requestPort asks the supervisor at the other end of conn for a port.
func requestPort(conn *net.UnixConn, port uint16) (relay.Conn, error) {
	target := url.URL{Scheme: "http", Host: "session", Path: "/v1/dial", RawQuery: url.Values{"port": {strconv.Itoa(int(port))}}.Encode()}
	request := &http.Request{
		Method: http.MethodPost, URL: &target, Host: target.Host,
		Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {dialProtocol}},
	}
	if err := request.Write(conn); err != nil {
		return nil, noAnswer(context.Background(), err)
	}
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, request)
	if err != nil {
		return nil, noAnswer(context.Background(), err)
	}
	switch response.StatusCode {
	case http.StatusSwitchingProtocols:
		return &portConn{conn, in}, nil
	case statusNothingListens:
		return nil, ports.ErrNothingListens
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	return nil, &RefusedError{response.StatusCode, strings.TrimSpace(string(text)), readHints(response.Header)}
}

// portConn is a connection whose first bytes may have arrived with the answer to the
// request.
type portConn struct {
	*net.UnixConn
	in *bufio.Reader
}

func (c *portConn) Read(p []byte) (int, error) {
	if c.in != nil {
		if c.in.Buffered() > 0 {
			return c.in.Read(p)
		}
		c.in = nil
	}
	return c.UnixConn.Read(p)
}

// WriteTo hides the method of the embedded connection, which would skip the first bytes.
func (c *portConn) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{c})
}

// serveDial connects a client to a port of the sandbox.
func serveDial(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		port, err := strconv.ParseUint(r.FormValue("port"), 10, 16)
		if err != nil || port == 0 || r.Header.Get("Upgrade") != dialProtocol {
			writeResult(w, fault.New(fault.Usage, "dial takes port, from 1 to 65535, and an upgrade to %s", dialProtocol))
			return
		}
		join, err := c.DialPort(r.Context(), uint16(port))
		if err != nil {
			if errors.Is(err, ports.ErrNothingListens) {
				http.Error(w, err.Error(), statusNothingListens)
				return
			}
			writeResult(w, err)
			return
		}
		conn, _, err := upgrade(w, dialProtocol)
		client, ok := conn.(relay.Conn)
		if err != nil || !ok {
			join(nil)
			return
		}
		join(client)
	}
}
