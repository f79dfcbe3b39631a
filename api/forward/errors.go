package forward

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/ports"
)

// proxyError answers a request that could not be passed on, or whose answer was refused.
func (f *Forwarder) proxyError(w http.ResponseWriter, r *http.Request, err error) {
	h := hopOf(r)
	switch {
	case r.Context().Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded)): // of a body
		panic(http.ErrAbortHandler) // the client has disconnected, or has lost its right
	case errors.Is(err, ports.ErrNothingListens):
		f.fail(w, r, h, http.StatusBadGateway, fault.New(fault.Conflict, "nothing listens on port %d in the sandbox", h.target.port))
	case errors.Is(err, errRedirect):
		f.fail(w, r, h, http.StatusBadGateway, fault.New(fault.Refused, "%w: a token is not sent there", errRedirect))
	case fault.KindOf(err) == fault.NotFound:
		f.fail(w, r, h, http.StatusNotFound, fault.New(fault.NotFound, "there is no sandbox %q", h.target.sandbox))
	case fault.KindOf(err) == fault.Refused:
		f.fail(w, r, h, http.StatusForbidden, err)
	case fault.KindOf(err) == fault.Limit:
		f.fail(w, r, h, http.StatusTooManyRequests, err)
	case fault.KindOf(err) == fault.Conflict, errors.Is(err, session.ErrWrongState): // it is paused or has ended
		f.fail(w, r, h, http.StatusConflict, err)
	default:
		f.fail(w, r, h, http.StatusBadGateway, fault.New(fault.Environment, "port %d of the sandbox did not answer as HTTP", h.target.port))
	}
}

// fail answers a request that is not forwarded.
func (f *Forwarder) fail(w http.ResponseWriter, r *http.Request, of *hop, status int, err error) {
	if f.options.Refused != nil {
		f.options.Refused(r, of.caller.Caller, of.target.sandbox, of.target.port, err)
	}
	if f.options.WriteError != nil {
		f.options.WriteError(w, r, status, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	text := err.Error() + "\n"
	for _, hint := range fault.Hints(err) {
		text += hint + "\n"
	}
	_, _ = w.Write([]byte(strings.ToValidUTF8(text, "?")))
}
