package server

import (
	"context"
	"strings"
	"time"

	"aibox/api/auth"
	"aibox/session"
)

// request holds the facts about a request.
type request struct {
	id     string
	server *Server
	caller auth.Caller
	host   string // the Host header
	tls    bool
	// intercepted says that the call has passed the checks of connect.
	intercepted bool
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
	Took    time.Duration  `json:"took"`
	Kind    string         `json:"kind,omitempty"` // of the error; empty: it succeeded
	Err     error          `json:"-"`
}

// Record records a call that the server did not see itself.
func (s *Server) Record(ctx context.Context, call Call) { s.record(ctx, call) }

// maxRecorded is the maximum length of a text in the record, in bytes. The caller chooses paths
// and subjects, and the record keeps a limited number of bytes: a few calls with long ones would
// otherwise displace all earlier calls.
const maxRecorded = 256

// record records a call.
func (s *Server) record(ctx context.Context, call Call) {
	if s.options.Record == nil {
		return
	}
	call.Request = requestID(ctx)
	for _, text := range []*string{&call.Method, &call.Subject} {
		if len(*text) > maxRecorded {
			*text = strings.ToValidUTF8((*text)[:maxRecorded], "") + "…"
		}
	}
	if call.Err != nil {
		call.Kind = describe(call.Err).kind
	}
	s.options.Record(call)
}
