package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// answeringWorld has a server behind good.example.org:80 that answers each request for a path
// with the path's raw response.
func answeringWorld(t *testing.T, responses map[string]string) *world {
	t.Helper()
	w := newWorld(t, attackPolicy(t), nil)
	server := serveEach(t, func(conn net.Conn) {
		reader := bufio.NewReader(conn)
		for {
			request, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, responses[request.URL.Path])
		}
	})
	w.Route("good.example.org", 80, server.Addr().String())
	return w
}

// A client takes a response below 200 for an interim one, and its body for the next response.
func TestAResponseWithAStatusThatHTTPDoesNotHaveIsRefused(t *testing.T) {
	for _, status := range []string{"099", "099 x", "000", "-00", "+99", "+20 x"} {
		w := answeringWorld(t, map[string]string{
			"/":     "HTTP/1.1 " + status + "\r\nContent-Length: 41\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
			"/next": "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood",
		})
		conn := w.dialProxy()
		reader := bufio.NewReader(conn)
		ask := func(path string) (int, string) {
			fmt.Fprintf(conn, "GET http://good.example.org%s HTTP/1.1\r\n%s\r\n", path, goodHost)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatalf("%s: %v", status, err)
			}
			body, _ := io.ReadAll(response.Body)
			return response.StatusCode, string(body)
		}
		if code, body := ask("/"); code != http.StatusBadGateway || !strings.Contains(body, "a status that HTTP does not have") || w.code() != "bad-response" {
			t.Errorf("%s: %d %s", status, code, body)
		}
		if code, body := ask("/next"); code != http.StatusOK || body != "good" {
			t.Errorf("after %s: %d %s", status, code, body)
		}
	}
}

func TestAResponseThatHasNoBodyAnnouncesNone(t *testing.T) {
	w := answeringWorld(t, map[string]string{
		"/204":     "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
		"/chunked": "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
	})
	for _, path := range []string{"/204", "/chunked"} {
		responses := w.say("GET http://good.example.org"+path+" HTTP/1.1\r\n"+goodHost+"\r\n", 1)
		if len(responses) != 1 || responses[0].StatusCode != http.StatusNoContent || responses[0].Header.Get("Content-Length") != "" || len(responses[0].TransferEncoding) > 0 {
			t.Errorf("%s: %v", path, responses)
		}
	}
}

func TestATrailerDoesNotFrame(t *testing.T) {
	w := answeringWorld(t, map[string]string{
		"/": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
	})
	conn := w.dialProxy()
	_, _ = io.WriteString(conn, "GET http://good.example.org/ HTTP/1.1\r\n"+goodHost+"\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	var names []string
	for name := range response.Trailer {
		names = append(names, name)
	}
	if string(body) != "abc" || err != nil || !slices.Equal(names, []string{"X-Sum"}) {
		t.Errorf("%q, %v, trailers %v", body, err, response.Trailer)
	}
}

// Closing a connection with unread bytes resets it, and the client loses the answer.
func TestARefusalIsReadWhileItsRequestIsSent(t *testing.T) {
	w := answeringWorld(t, nil)
	for range 5 {
		conn := w.dialProxy()
		const size = 2_000_000
		fmt.Fprintf(conn, "POST http://other.example.org/ HTTP/1.1\r\nHost: other.example.org\r\nContent-Length: %d\r\n\r\n", size)
		if _, err := conn.Write(make([]byte, size)); err != nil {
			t.Error(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); response.StatusCode != http.StatusForbidden || err != nil {
			t.Errorf("%s %s %v", response.Status, body, err)
		}
		_ = conn.Close()
	}
}

// countedWrites is a connection that counts its writes.
type countedWrites struct {
	net.Conn
	writes int
}

func (c *countedWrites) Write(p []byte) (int, error) {
	c.writes++
	return len(p), nil
}

func (*countedWrites) SetWriteDeadline(time.Time) error { return nil }

func TestEachPieceOfAResponseIsOneWrite(t *testing.T) {
	const parts = 3
	body := strings.Repeat("x", parts*pieceSize)
	for name, c := range map[string]struct {
		length int64
		writes int
	}{
		"chunked":       {-1, 1 + parts + 1},       // the head at once, and the last chunk
		"with a length": {int64(len(body)), parts}, // the head with the first one
	} {
		conn := &countedWrites{}
		e := &exchange{proxy: New(Config{}), stream: &stream{conn: conn}, flow: &flow{}, request: httptest.NewRequest(http.MethodGet, "http://good.example.org/", nil)}
		response := &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: c.length, Body: io.NopCloser(struct{ io.Reader }{strings.NewReader(body)})}
		if err := e.respond(response, nil); err != nil || conn.writes != c.writes {
			t.Errorf("%s: %d writes, %v", name, conn.writes, err)
		}
	}
}
