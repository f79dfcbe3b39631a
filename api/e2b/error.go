package e2b

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
)

// apiError is an error answer of a path that is not an RPC.
type apiError struct {
	status  int
	message string
}

func (e *apiError) Error() string { return strconv.Itoa(e.status) + ": " + e.message }

// writeError answers with an error as JSON, in the form that the packages read.
func writeError(w http.ResponseWriter, err error) {
	var answer *apiError
	if !errors.As(err, &answer) {
		answer = &apiError{statusOf(err), sentence(err)}
		if kindOf(err) == kindUnauthenticated { // calls inside a sandbox, which have another token, pass insideError first
			answer.message = noToken
		}
	}
	writeJSON(w, answer.status, map[string]any{"code": answer.status, "message": answer.message})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the caller has gone
}

// refuse returns the handler for a feature that aibox does not have.
func refuse(reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, &apiError{http.StatusNotImplemented, reason})
	}
}

// kinds of errors of aibox's API. See aibox/v1/error.proto.
const (
	kindInvalid         = "invalid"
	kindNotFound        = "not_found"
	kindConflict        = "conflict"
	kindLimit           = "limit"
	kindRefused         = "refused"
	kindEnvironment     = "environment"
	kindUnauthenticated = "unauthenticated"
)

// detail returns the error that aibox's API reported, or nil.
func detail(err error) *aiboxv1.Error {
	var failed *connect.Error
	if !errors.As(err, &failed) {
		return nil
	}
	for _, d := range failed.Details() {
		if value, err := d.Value(); err == nil {
			if found, ok := value.(*aiboxv1.Error); ok {
				return found
			}
		}
	}
	return nil
}

// kindOf returns the kind of an error of aibox's API.
func kindOf(err error) string {
	if d := detail(err); d != nil {
		return d.Kind
	}
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodeOutOfRange:
		return kindInvalid
	case connect.CodeNotFound:
		return kindNotFound
	case connect.CodeAlreadyExists, connect.CodeFailedPrecondition, connect.CodeAborted:
		return kindConflict
	case connect.CodeResourceExhausted:
		return kindLimit
	default:
		return ""
	}
}

// sentence returns an error's message with its hints.
func sentence(err error) string {
	if d := detail(err); d != nil {
		if d.Kind == kindUnauthenticated { // the hints of the API name a header that the packages do not send
			return d.Message
		}
		return strings.Join(append([]string{d.Message}, d.Hints...), ". ")
	}
	var failed *connect.Error
	if errors.As(err, &failed) {
		return failed.Message()
	}
	return err.Error()
}

// statuses are the HTTP statuses of codes. The packages retry after 503, which is useless
// while the machine is not ready, and take 502 for a sandbox that has ended.
var statuses = map[connect.Code]int{
	connect.CodeInvalidArgument:    http.StatusBadRequest,
	connect.CodeOutOfRange:         http.StatusBadRequest,
	connect.CodeUnauthenticated:    http.StatusUnauthorized,
	connect.CodePermissionDenied:   http.StatusForbidden,
	connect.CodeNotFound:           http.StatusNotFound,
	connect.CodeAlreadyExists:      http.StatusConflict,
	connect.CodeFailedPrecondition: http.StatusConflict,
	connect.CodeAborted:            http.StatusConflict,
	connect.CodeResourceExhausted:  http.StatusTooManyRequests,
	connect.CodeUnimplemented:      http.StatusNotImplemented,
	connect.CodeDeadlineExceeded:   http.StatusGatewayTimeout,
}

func statusOf(err error) int {
	if status, ok := statuses[connect.CodeOf(err)]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// errGone is the answer inside a sandbox that does not run. The packages report it as a
// sandbox that has ended.
var errGone = connect.NewError(connect.CodeUnavailable, errors.New("the sandbox does not run, or does not exist"))

// insideError converts an error of a call inside a sandbox for the packages. A call that
// fails because the sandbox is gone is errGone.
func (b *backend) insideError(ctx context.Context, err error) error {
	switch kind := kindOf(err); {
	case ctx.Err() != nil:
		return ctx.Err() // the RPC library reports which
	case kind != kindNotFound && kind != kindConflict && kind != kindInvalid && kind != kindEnvironment:
	case !b.runs(ctx):
		return errGone
	}
	code := connect.CodeOf(err)
	if code == connect.CodeUnavailable {
		code = connect.CodeInternal // otherwise a running sandbox is reported as ended
	}
	return connect.NewError(code, errors.New(sentence(err)))
}

// runs reports whether the sandbox of the call runs.
func (b *backend) runs(ctx context.Context) bool {
	found, err := b.sandboxes.Get(ctx, connect.NewRequest(&aiboxv1.GetSandboxRequest{SandboxId: callerOf(ctx).sandbox}))
	if err != nil {
		return connect.CodeOf(err) != connect.CodeNotFound
	}
	return found.Msg.State == aiboxv1.SandboxState_SANDBOX_STATE_RUNNING
}
