package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"aibox/api/auth"
	"aibox/api/budget"
	"aibox/session"
)

// request holds the facts about a request.
type request struct {
	id     string
	method string // the HTTP method and the path
	server *Server
	caller auth.Caller
	host   string // the Host header
	tls    bool
	body   *bodyReader // nil if it has none
	// intercepted says that the call has passed the checks of connect.
	intercepted bool
	recorded    atomic.Bool // something about it is in the record
	failure     error       // the last one that WriteError has written
}

// messages are the bytes of the body that are in memory; nil if they are not limited.
func (r *request) messages() *budget.Call {
	if r.body == nil {
		return nil
	}
	return r.body.messages
}

// bodyFailure returns why the body could not be read to its end, if a limit is the reason.
func (r *request) bodyFailure() error {
	if r.body == nil {
		return nil
	}
	return r.body.failed
}

type requestKey struct{}

// requestOf returns the request that a context belongs to.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// requestID returns the id of a context's request.
func requestID(ctx context.Context) string { return requestOf(ctx).id }

// Call is a call for the record.
type Call struct {
	Request string         `json:"request"`          // its id
	Tenant  session.Tenant `json:"tenant,omitempty"` // empty: it was not authenticated
	Token   string         `json:"token,omitempty"`  // the id of the token; empty: none
	Method  string         `json:"method"`           // of the schema, the HTTP method and path or port, or the tool of MCP
	Subject string         `json:"subject,omitempty"`
	Made    string         `json:"made,omitempty"` // the id of what it has made, unless that is the subject
	Took    time.Duration  `json:"took"`
	Kind    string         `json:"kind,omitempty"` // of the error; empty: it succeeded
	// Omitted is the number of failures of the kind that were not recorded. Such a call has no method.
	Omitted int   `json:"omitted,omitempty"`
	Err     error `json:"-"`
	// Acted reports that the work of a call that can change something has begun.
	Acted bool `json:"-"`
}

// Record records a call that the server did not see itself.
func (s *Server) Record(ctx context.Context, call Call) { s.record(ctx, call) }

// maxRecorded is the maximum length of a text in the record, in bytes. The caller chooses paths
// and subjects, and the record keeps a limited number of bytes: a few calls with long ones would
// otherwise displace all earlier calls.
const maxRecorded = 256

// record records a call.
func (s *Server) record(ctx context.Context, call Call) {
	of := requestOf(ctx)
	of.recorded.Store(true)
	if s.options.Record == nil {
		return
	}
	call.Request = of.id
	if call.Made == call.Subject || call.Err != nil {
		call.Made = ""
	}
	for _, text := range []*string{&call.Method, &call.Subject} {
		if len(*text) > maxRecorded {
			*text = strings.ToValidUTF8((*text)[:maxRecorded], "") + "…"
		}
	}
	if call.Err != nil {
		found := describe(call.Err)
		call.Kind = found.kind
		if late := call.Acted && slices.Contains(late, found); !late && !s.failures.admit(&call, time.Now()) {
			return
		}
	}
	s.options.Record(call)
}

// recordFailure records a request of a caller that has failed and is not in the record yet: the
// message could not be read, for example, or there is no such method. status is that of the answer.
func (s *Server) recordFailure(r *http.Request, status int) {
	of := requestOf(r.Context())
	failed := of.failure != nil || status >= http.StatusBadRequest
	if !failed || of.intercepted || of.recorded.Load() || of.caller.Tenant == "" {
		return
	}
	err := of.failure
	if err == nil { // another handler has written the answer
		err = failureOf(status)
	}
	s.record(r.Context(), Call{Tenant: of.caller.Tenant, Token: of.caller.Token, Method: of.method, Err: err})
}

// failureOf returns the error for the status of an answer.
func failureOf(status int) error {
	found := failInvalid
	if i := slices.IndexFunc(failures, func(f failure) bool { return f.status == status }); i >= 0 {
		found = failures[i]
	}
	return &failed{failure: found, message: http.StatusText(status)}
}
