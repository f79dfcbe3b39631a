package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/session"
)

// failure describes how a kind of failure appears in each protocol.
type failure struct {
	kind   string
	code   connect.Code
	status int
}

// The failures. Their documentation is that of aiboxv1.Error.
var (
	failInvalid         = failure{"invalid", connect.CodeInvalidArgument, http.StatusBadRequest}
	failUnauthenticated = failure{"unauthenticated", connect.CodeUnauthenticated, http.StatusUnauthorized}
	failRefused         = failure{"refused", connect.CodePermissionDenied, http.StatusForbidden}
	failNotFound        = failure{"not_found", connect.CodeNotFound, http.StatusNotFound}
	failConflict        = failure{"conflict", connect.CodeFailedPrecondition, http.StatusConflict}
	failTooLarge        = failure{"too_large", connect.CodeResourceExhausted, http.StatusRequestEntityTooLarge}
	failLimit           = failure{"limit", connect.CodeResourceExhausted, http.StatusTooManyRequests}
	failCanceled        = failure{"canceled", connect.CodeCanceled, 499}
	failInternal        = failure{"internal", connect.CodeInternal, http.StatusInternalServerError}
	failFailed          = failure{"failed", connect.CodeAborted, http.StatusInternalServerError}
	failUnsupported     = failure{"unsupported", connect.CodeUnimplemented, http.StatusNotImplemented}
	failEnvironment     = failure{"environment", connect.CodeUnavailable, http.StatusServiceUnavailable}
	failTimeout         = failure{"timeout", connect.CodeDeadlineExceeded, http.StatusGatewayTimeout}
)

// failures lists all of them, for errors that have only a code; the first one with the code
// is used.
var failures = []failure{
	failInvalid, failUnauthenticated, failRefused, failNotFound, failConflict, failLimit, failTooLarge, failCanceled, failInternal,
	failFailed, failUnsupported, failEnvironment, failTimeout,
}

// failed is an error of the server itself.
type failed struct {
	failure
	message string
	hints   []string
}

func (f *failed) Error() string { return f.message }

var (
	errUnauthenticated = &failed{failUnauthenticated, "there is no valid token", []string{"send the header Authorization: Bearer TOKEN", "`aibox token create` creates a token"}}
	errMachine         = &failed{failEnvironment, "the server's machine has a problem; the server's log has the reason", nil}
	errTokens          = &failed{failEnvironment, "the token cannot be checked at the moment; the server's log has the reason", []string{"try again later"}}
	errInternal        = &failed{failInternal, "aibox failed; the server's log has the reason", nil}
	errUnsupported     = &failed{failUnsupported, "this server does not support that", nil}
)

func errNoRoute(r *http.Request) error {
	return &failed{failNotFound, "there is no " + r.Method + " " + r.URL.EscapedPath(), []string{"GET /openapi.yaml describes what there is"}}
}

// tooLarge returns the error for something that exceeds a size limit.
func tooLarge(message string) error { return &failed{failure: failTooLarge, message: message} }

// describe returns how an error appears.
func describe(err error) failure {
	var own *failed
	var known *connect.Error
	var tooBig *http.MaxBytesError
	var f *fault.Fault
	switch {
	case errors.As(err, &own):
		return own.failure
	case errors.Is(err, session.ErrWrongState):
		return failConflict
	case errors.As(err, &f):
		return ofKind(f.Kind)
	case errors.As(err, &tooBig):
		return failTooLarge
	case errors.As(err, &known) && known.Code() == connect.CodeResourceExhausted && len(known.Details()) == 0:
		return failTooLarge // the size of a message of a stream is all that connect itself limits
	case errors.As(err, &known):
		i := slices.IndexFunc(failures, func(f failure) bool { return f.code == known.Code() })
		return failures[max(i, 0)]
	case errors.Is(err, fs.ErrNotExist):
		return failNotFound
	case errors.Is(err, context.DeadlineExceeded):
		return failTimeout
	default:
		return ofKind(fault.KindOf(err))
	}
}

// ofKind returns how a fault of a kind appears.
func ofKind(kind fault.Kind) failure {
	switch kind {
	case fault.Usage:
		return failInvalid
	case fault.NotFound:
		return failNotFound
	case fault.Refused:
		return failRefused
	case fault.Limit:
		return failLimit
	case fault.Conflict:
		return failConflict
	case fault.Environment:
		return failEnvironment
	case fault.Interrupted:
		return failCanceled
	case fault.AgentFailed:
		return failFailed
	default:
		return failInternal
	}
}

// toError converts an error for callers. Only the machine's user sees internal errors;
// others get an id, under which the log has the reason.
func toError(ctx context.Context, err error) (*aiboxv1.Error, failure) {
	found := describe(err)
	shown := &aiboxv1.Error{Kind: found.kind, Message: err.Error(), Hints: fault.Hints(err), Id: requestID(ctx)}
	var own *failed
	var known *connect.Error
	switch {
	case errors.As(err, &own):
		shown.Message, shown.Hints = own.message, own.hints
	case found == failInternal:
		if s := requestOf(ctx).server; s != nil {
			s.options.Log.Error("a call failed", "request", shown.Id, "error", err)
		}
		if auth.From(ctx).Tenant != session.LocalTenant {
			shown.Message, shown.Hints = errInternal.message, nil
		}
	case found == failEnvironment && auth.From(ctx).Tenant != session.LocalTenant && namesHost(err):
		if s := requestOf(ctx).server; s != nil {
			s.options.Log.Error("a call failed", "request", shown.Id, "error", err)
		}
		shown.Message, shown.Hints = errMachine.message, nil
	case found == failNotFound && errors.Is(err, fs.ErrNotExist) && fault.KindOf(err) != fault.NotFound:
		shown.Message = "it does not exist" // the error names a path of the host
	case errors.As(err, &known):
		sentence, hints := readable(known.Message())
		shown.Message, shown.Hints = sentence, append(shown.Hints, hints...)
	case found == failTimeout && fault.KindOf(err) == fault.Limit:
		shown.Message = "the call did not end within the time that it was given"
	}
	return shown, found
}

// namesHost reports whether the text of an error has a path of the host, as for a full disk.
func namesHost(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	var operation *net.OpError
	dials := errors.As(err, &operation) && strings.HasPrefix(operation.Net, "unix")
	return dials || errors.As(err, &path) || errors.As(err, &link) || diskerr.Is(err)
}

// Shown returns the error that a tenant may see in place of one that no call of the schema has
// answered: only the machine's user sees internal errors, and paths of the machine.
func (s *Server) Shown(ctx context.Context, tenant session.Tenant, err error) error {
	kind := fault.KindOf(err)
	if tenant == session.LocalTenant || kind != fault.Internal && (kind != fault.Environment || !namesHost(err)) {
		return err
	}
	s.options.Log.Error("a call failed", "request", requestID(ctx), "tenant", tenant, "error", err)
	if kind == fault.Environment {
		return fault.New(fault.Environment, "%s", errMachine.message)
	}
	return fault.New(fault.Internal, "%s", errInternal.message)
}

// toConnect returns an error for the protocols of Connect.
func toConnect(ctx context.Context, err error) *connect.Error {
	shown, found := toError(ctx, err)
	result := connect.NewError(found.code, errors.New(shown.GetMessage()))
	if detail, err := connect.NewErrorDetail(shown); err == nil {
		result.AddDetail(detail)
	}
	return result
}

// errorWriter writes errors to clients of the protocols of Connect.
var errorWriter = connect.NewErrorWriter()

// WriteError writes an error in the protocol of the request: that of a gRPC, gRPC-Web or
// Connect client, or the JSON of REST.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	requestOf(r.Context()).failure = err
	if isRPC(r) {
		_ = errorWriter.Write(w, r, toConnect(r.Context(), err))
		return
	}
	shown, found := toError(r.Context(), err)
	writeError(w, found.status, shown)
}

// isRPC reports whether a request is of gRPC, gRPC-Web or Connect: its path is
// /PACKAGE.SERVICE/METHOD.
func isRPC(r *http.Request) bool {
	service, method, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return ok && method != "" && !strings.Contains(method, "/") && strings.Contains(service, ".") && errorWriter.IsSupported(r)
}

// writeError writes an error as JSON.
func writeError(w http.ResponseWriter, status int, shown *aiboxv1.Error) {
	hints := shown.GetHints()
	if hints == nil {
		hints = []string{}
	}
	w.Header().Del("Content-Length")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"kind": shown.GetKind(), "message": shown.GetMessage(), "hints": hints, "id": shown.GetId(),
	}})
}
