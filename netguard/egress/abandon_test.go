package egress

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A program gives up on a server that is slow. Such requests would otherwise wait for their
// servers as long as those keep the connection, up to the limit of connections.
func TestARequestEndsWithItsClient(t *testing.T) {
	for name, request := range map[string]string{
		"before the answer":         "GET http://good.example.org/silent HTTP/1.1\r\n" + goodHost + "\r\n",
		"after a body":              "POST http://good.example.org/silent HTTP/1.1\r\n" + goodHost + "Content-Length: 3\r\n\r\nabc",
		"after a body in chunks":    "POST http://good.example.org/silent HTTP/1.1\r\n" + goodHost + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"while nothing is streamed": "GET http://good.example.org/stream HTTP/1.1\r\n" + goodHost + "\r\n",
	} {
		begun, gone := make(chan struct{}), make(chan struct{})
		w, _ := forwardWorld(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if r.URL.Path == "/stream" {
				fmt.Fprint(w, "one")
				_ = http.NewResponseController(w).Flush()
			}
			close(begun)
			select {
			case <-r.Context().Done():
				close(gone)
			case <-t.Context().Done():
			}
		})
		conn := w.dialProxy()
		_, _ = io.WriteString(conn, request)
		<-begun
		if strings.Contains(request, "/stream") {
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(response.Body, make([]byte, len("one"))); err != nil {
				t.Fatal(err)
			}
		}
		conn.Close()
		select {
		case <-gone:
		case <-time.After(time.Minute):
			t.Errorf("%s: the request goes on", name)
			continue
		}
		if e := waitFor(t, w, Closed); e.Code != "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
