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
	"sync"
	"time"
)

// checkStatus refuses a response whose status is not that of a final response, or 101. Go's
// parsers accept others, and clients differ in whether such a response has a body, and whether
// another one follows.
func checkStatus(response *http.Response) *refusal {
	status := response.StatusCode
	if status >= http.StatusOK && status <= 999 || status == http.StatusSwitchingProtocols {
		return nil
	}
	// Without the number, which could be a secret of digits: of HTTP/2, it has up to 19.
	return forbid("bad-response", "the server answered with a status that HTTP does not have").withStatus(http.StatusBadGateway)
}

// writers are the reused buffers of responses, each with room for a piece of the body and its frame,
// so that a piece is one write.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, pieceSize+8<<10) }}

// respond sends the response to the client.
func (e *exchange) respond(response *http.Response, body *requestBody) error {
	e.begun = true
	w, _ := writers.Get().(*bufio.Writer)
	w.Reset(&deadlineWriter{e})
	defer func() {
		w.Reset(nil)
		writers.Put(w)
	}()
	modern := e.request.ProtoAtLeast(1, 1)
	removeFraming(response.Trailer) // those announced
	trailers := slices.Sorted(maps.Keys(response.Trailer))
	removeHopByHop(response.Header)
	hasBody := e.request.Method != http.MethodHead && response.StatusCode >= 200 && response.StatusCode != http.StatusNoContent && response.StatusCode != http.StatusNotModified
	chunked := hasBody && response.ContentLength < 0 && modern
	keep := !e.request.Close && body.stop() && (modern || response.ContentLength >= 0 || !hasBody)
	fmt.Fprintf(w, "HTTP/1.1 %03d %s\r\n", response.StatusCode, reasonPhrase(response))
	setLength(response, hasBody)
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

// setLength makes Content-Length the length of the body that follows, or removes it. A server of
// HTTP/2 can send any values, since they do not frame its body, but they would frame the client's.
func setLength(response *http.Response, hasBody bool) {
	values := response.Header["Content-Length"]
	switch {
	case hasBody && response.ContentLength >= 0:
		response.Header.Set("Content-Length", fmt.Sprint(response.ContentLength))
	case hasBody, response.StatusCode == http.StatusNoContent, len(values) != 1, !isDigits(values[0]):
		response.Header.Del("Content-Length")
	}
}

// removeFraming removes the fields that no trailer may have (RFC 9110, section 6.5.1).
func removeFraming(trailer http.Header) {
	removeHopByHop(trailer)
	trailer.Del("Content-Length")
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
		if err := copyPieces(&flushWriter{w, w}, response.Body); err != nil {
			return err
		}
		return w.Flush()
	}
	chunks := httputil.NewChunkedWriter(w)
	if err := copyPieces(&flushWriter{chunks, w}, response.Body); err != nil {
		return err
	}
	_ = chunks.Close()
	removeFraming(response.Trailer) // also those that were not announced
	_ = response.Trailer.Write(w)
	_, _ = io.WriteString(w, "\r\n")
	return w.Flush()
}

// copyPieces is io.Copy with a piece of the pool.
func copyPieces(to io.Writer, from io.Reader) error {
	piece, _ := pieces.Get().(*[pieceSize]byte)
	defer pieces.Put(piece)
	_, err := io.CopyBuffer(to, from, piece[:])
	return err
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
