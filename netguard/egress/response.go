package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"time"
)

// respond sends the response to the client.
func (e *exchange) respond(response *http.Response, body *requestBody) error {
	e.begun = true
	w := bufio.NewWriterSize(&deadlineWriter{e}, 4<<10)
	modern := e.request.ProtoAtLeast(1, 1)
	trailers := slices.Sorted(maps.Keys(response.Trailer))
	removeHopByHop(response.Header)
	hasBody := e.request.Method != http.MethodHead && response.StatusCode >= 200 && response.StatusCode != http.StatusNoContent && response.StatusCode != http.StatusNotModified
	chunked := hasBody && response.ContentLength < 0 && modern
	keep := !e.request.Close && body.stop() && (modern || response.ContentLength >= 0 || !hasBody)
	fmt.Fprintf(w, "HTTP/1.1 %03d %s\r\n", response.StatusCode, reasonPhrase(response))
	if hasBody && response.ContentLength >= 0 {
		response.Header.Set("Content-Length", fmt.Sprint(response.ContentLength))
	}
	_ = response.Header.Write(w)
	if chunked {
		_, _ = io.WriteString(w, "Transfer-Encoding: chunked\r\n")
		if len(trailers) > 0 {
			fmt.Fprintf(w, "Trailer: %s\r\n", strings.Join(trailers, ", "))
		}
	}
	if keep {
		_, _ = io.WriteString(w, "Connection: keep-alive\r\n\r\n")
	} else {
		_, _ = io.WriteString(w, "Connection: close\r\n\r\n")
	}
	if hasBody && response.ContentLength < 0 { // the rest may take long
		_ = w.Flush()
	}
	if err := e.sendBody(w, response, hasBody, chunked); err != nil {
		return err
	}
	e.reusable = keep
	return nil
}

func reasonPhrase(response *http.Response) string {
	_, phrase, _ := strings.Cut(response.Status, " ")
	return printable(phrase)
}

func (e *exchange) sendBody(w *bufio.Writer, response *http.Response, hasBody, chunked bool) error {
	if !hasBody {
		return w.Flush()
	}
	if !chunked {
		if _, err := io.Copy(&flushWriter{w, w}, response.Body); err != nil {
			return err
		}
		return w.Flush()
	}
	chunks := httputil.NewChunkedWriter(w)
	if _, err := io.Copy(&flushWriter{chunks, w}, response.Body); err != nil {
		return err
	}
	_ = chunks.Close()
	_ = response.Trailer.Write(w)
	_, _ = io.WriteString(w, "\r\n")
	return w.Flush()
}

// flushWriter sends each piece at once, so that streams of events are not delayed.
type flushWriter struct {
	to     io.Writer
	buffer *bufio.Writer
}

func (w *flushWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err == nil {
		err = w.buffer.Flush()
	}
	return n, err
}

// deadlineWriter writes to the client, counts the bytes, and fails if the client does not read.
type deadlineWriter struct{ exchange *exchange }

func (w *deadlineWriter) Write(p []byte) (int, error) {
	conn := w.exchange.stream.conn
	_ = conn.SetWriteDeadline(time.Now().Add(w.exchange.proxy.limits.Idle))
	n, err := conn.Write(p)
	w.exchange.flow.down.Add(int64(n))
	return n, err
}

// upgrade passes a WebSocket through: the response's body is the connection. The relay reads
// from the client, so nothing else may still read the request's body.
func (e *exchange) upgrade(ctx context.Context, response *http.Response, body *requestBody) *refusal {
	upstream, ok := response.Body.(io.ReadWriteCloser)
	if !ok || !strings.EqualFold(response.Header.Get("Upgrade"), "websocket") || !e.upgrades {
		return forbid("upgrade", "the server switched to a protocol that was not asked for").withStatus(http.StatusBadGateway)
	}
	if !body.stop() {
		return forbid("upgrade", "the server switched to another protocol before the end of the request").withStatus(http.StatusBadGateway)
	}
	e.watch.end() // the relay reads from the client
	e.begun = true
	var w strings.Builder
	fmt.Fprintf(&w, "HTTP/1.1 101 Switching Protocols\r\n")
	removeHopByHop(response.Header)
	response.Header.Set("Connection", "Upgrade")
	response.Header.Set("Upgrade", "websocket")
	_ = response.Header.Write(&w)
	w.WriteString("\r\n")
	if _, err := io.WriteString(&deadlineWriter{e}, w.String()); err != nil {
		return nil //nolint:nilerr // the client has disconnected
	}
	return e.proxy.relay(ctx, e.flow, &bufferedConn{Conn: e.stream.conn, stream: e.stream}, upstream, false)
}
