package server

import (
	"encoding/json"
	"net/http"
	"slices"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
)

// restErrors gives the errors of a REST handler the shape that all errors have.
func restErrors(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &errorShaper{ResponseWriter: w}
		handler.ServeHTTP(out, r)
		if out.status == 0 {
			return
		}
		of := requestOf(r.Context())
		shown, status := shape(out.status, out.body)
		switch failure := of.bodyFailure(); {
		case of.intercepted:
		case failure != nil && describe(failure) != failTooLarge:
			cause, found := toError(r.Context(), failure)
			shown, status = cause, found.status
		case shown.Kind == failLimit.kind: // as in causeOf
			shown.Kind, status = failTooLarge.kind, failTooLarge.status
		}
		shown.Id = of.id
		writeError(w, status, shown)
	})
}

// errorShaper buffers the answer of a handler that failed.
type errorShaper struct {
	http.ResponseWriter
	status int // of a failure
	body   []byte
}

// maxErrorBody is how many bytes of a failure's body are read.
const maxErrorBody = 64 << 10

func (e *errorShaper) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		e.status = status
		return
	}
	e.ResponseWriter.WriteHeader(status)
}

func (e *errorShaper) Write(p []byte) (int, error) {
	if e.status == 0 {
		return e.ResponseWriter.Write(p)
	}
	e.body = append(e.body, p[:min(len(p), maxErrorBody-len(e.body))]...)
	return len(p), nil
}

// Flush implements http.Flusher.
func (e *errorShaper) Flush() {
	if e.status == 0 {
		_ = http.NewResponseController(e.ResponseWriter).Flush()
	}
}

// Unwrap is for http.ResponseController.
func (e *errorShaper) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// shape returns the error and the HTTP status of a failure. The body is the JSON of
// google.rpc.Status or anything else.
func shape(status int, body []byte) (*aiboxv1.Error, int) {
	var given struct {
		Code    connect.Code
		Message string
		Details []struct {
			Type    string `json:"@type"`
			Kind    string
			Message string
			Hints   []string
		}
		Error *struct { // the answer of errNoRoute
			Kind, Message string
			Hints         []string
		}
	}
	_ = json.Unmarshal(body, &given) // a body that is not JSON has no message
	for _, detail := range given.Details {
		if i := slices.IndexFunc(failures, func(f failure) bool { return f.kind == detail.Kind }); i >= 0 {
			return &aiboxv1.Error{Kind: detail.Kind, Message: detail.Message, Hints: detail.Hints}, failures[i].status
		}
	}
	if given.Error != nil {
		return &aiboxv1.Error{Kind: given.Error.Kind, Message: given.Error.Message, Hints: given.Error.Hints}, status
	}
	i := slices.IndexFunc(failures, func(f failure) bool { return f.status == status })
	if given.Code != 0 {
		i = slices.IndexFunc(failures, func(f failure) bool { return f.code == given.Code })
	}
	found := failInvalid
	if i >= 0 {
		found = failures[i]
	}
	shown := &aiboxv1.Error{Kind: found.kind}
	shown.Message, shown.Hints = readable(given.Message)
	switch {
	case given.Message != "":
	case status == http.StatusUnsupportedMediaType:
		shown.Message = "the type of the body is not supported"
		shown.Hints = []string{"send the header Content-Type: application/json"}
	case status == http.StatusMethodNotAllowed:
		shown.Message = "the path has no such method"
		shown.Hints = []string{"GET /openapi.yaml describes what there is"}
	default:
		shown.Message = http.StatusText(status)
	}
	return shown, status
}
