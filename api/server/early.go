package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"
)

// earlyErrors gives errors the shape that all errors have, if the handler of a service
// answers with them before the interceptor runs: for a message that cannot be read, for
// example. Connect has no hook for these.
func earlyErrors(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &earlyWriter{ResponseWriter: w, request: requestOf(r.Context())}
		before := maps.Clone(w.Header())
		handler.ServeHTTP(out, r)
		if out.request.intercepted {
			return
		}
		code, message, ok := earlyError(w.Header(), out.body)
		if !ok && out.status < http.StatusBadRequest {
			return
		}
		if !ok { // an error of HTTP itself: the type of the body or the method
			shown, status := shape(out.status, nil)
			shown.Id = requestID(r.Context())
			writeError(w, status, shown)
			return
		}
		clear(w.Header())
		maps.Copy(w.Header(), before)
		WriteError(w, r, causeOf(r, code, message))
	})
}

// earlyWriter keeps an answer back until the interceptor runs.
type earlyWriter struct {
	http.ResponseWriter
	request *request
	status  int
	body    []byte
}

func (e *earlyWriter) WriteHeader(status int) {
	if e.request.intercepted {
		e.ResponseWriter.WriteHeader(status)
		return
	}
	e.status = status
}

func (e *earlyWriter) Write(p []byte) (int, error) {
	if e.request.intercepted {
		return e.ResponseWriter.Write(p)
	}
	e.body = append(e.body, p[:min(len(p), maxErrorBody-len(e.body))]...)
	return len(p), nil
}

// Flush implements http.Flusher.
func (e *earlyWriter) Flush() {
	if e.request.intercepted {
		_ = http.NewResponseController(e.ResponseWriter).Flush()
	}
}

// Unwrap is for http.ResponseController.
func (e *earlyWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// envelopePrefix is the size of what precedes a message in a stream, in bytes.
const envelopePrefix = 5

// earlyError returns the error of an answer in any protocol of Connect; ok is false if there
// is none.
func earlyError(header http.Header, body []byte) (code connect.Code, message string, ok bool) {
	for _, prefix := range []string{http.TrailerPrefix, ""} { // of gRPC, and of gRPC-Web
		if number, err := strconv.ParseUint(header.Get(prefix+"Grpc-Status"), 10, 32); err == nil {
			message = header.Get(prefix + "Grpc-Message")
			if plain, err := url.PathUnescape(message); err == nil {
				message = plain
			}
			return connect.Code(number), message, true
		}
	}
	type failure struct {
		Code    connect.Code
		Message string
	}
	var given struct {
		failure
		Error *failure // of a stream
	}
	if len(body) > envelopePrefix && body[0] != '{' { // the end of a stream
		body = body[envelopePrefix:]
	}
	if json.Unmarshal(body, &given) != nil {
		return 0, "", false
	}
	if given.Error != nil {
		given.failure = *given.Error
	}
	return given.Code, given.Message, given.Code != 0
}

// causeOf returns the error behind one that connect has reported.
func causeOf(r *http.Request, code connect.Code, message string) error {
	if failure := requestOf(r.Context()).bodyFailure(); failure != nil {
		return failure
	}
	found := failInvalid
	if i := slices.IndexFunc(failures, func(f failure) bool { return f.code == code }); i >= 0 {
		found = failures[i]
	}
	if found == failLimit { // only the size of a message is limited before a call
		found = failTooLarge
	}
	sentence, hints := readable(strings.ToValidUTF8(message, "\uFFFD")) // it can quote the request
	return &failed{found, sentence, hints}
}
