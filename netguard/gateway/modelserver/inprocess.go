package modelserver

import (
	"fmt"
	"io"
	"net/http"
	"sync"
)

// inProcess is a transport to a handler of this process, streaming, so that the built-in
// server is used in the same way as all others.
type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	w := &pipeWriter{request: r, body: writer, reader: reader, header: http.Header{}, result: make(chan result, 1)}
	go func() { // ends with the handler, which is notified by r's context and by failing writes
		defer func() {
			if p := recover(); p != nil {
				err := fmt.Errorf("the built-in server failed: %v", p)
				w.once.Do(func() { w.result <- result{err: err} })
				_ = writer.CloseWithError(err)
			}
			w.WriteHeader(http.StatusOK)
			_ = writer.Close()
			if r.Body != nil {
				_ = r.Body.Close()
			}
		}()
		in := r.Clone(r.Context())
		in.RequestURI = in.URL.RequestURI()
		in.RemoteAddr = "127.0.0.1:0"
		if in.Body == nil {
			in.Body = http.NoBody
		}
		t.handler.ServeHTTP(w, in)
	}()
	select {
	case result := <-w.result:
		return result.response, result.err
	case <-r.Context().Done():
		_ = reader.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
}

type pipeWriter struct {
	request *http.Request
	body    *io.PipeWriter
	reader  *io.PipeReader
	header  http.Header
	once    sync.Once
	result  chan result
}

type result struct {
	response *http.Response
	err      error
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	if status < 200 {
		return
	}
	w.once.Do(func() {
		w.result <- result{response: &http.Response{
			Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: w.header.Clone(), Body: w.reader, ContentLength: -1, Request: w.request,
		}}
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush does nothing, since a pipe has no buffer.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }
