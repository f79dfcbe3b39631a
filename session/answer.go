package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"aibox/internal/fault"
)

// Answer is the user's word on a request of a running session. It counts once: a
// request that is not open any more is a Conflict.
func (s *Sessions) Answer(ctx context.Context, id ID, request int, yes bool) error {
	return s.tell(id, func(c client) error { return c.answer(ctx, request, yes) })
}

// Extend gives a running session more time. It answers the session's own request
// for that, if there is one.
func (s *Sessions) Extend(ctx context.Context, id ID, by time.Duration) error {
	return s.tell(id, func(c client) error { return c.extend(ctx, by) })
}

// tell sends a word to the supervisor of a session that has to run.
func (s *Sessions) tell(id ID, send func(client) error) error {
	dir := s.store.dir(id)
	err := errNoSupervisor
	if held(dir) {
		err = send(s.store.dial(id))
	}
	var said *refusedError
	switch {
	case errors.As(err, &said):
		return fault.New(said.kind(), "%s", said.text).Hint("`aibox ls` shows how %s stands", id)
	case errors.Is(err, errSilent):
		return s.silent(id)
	case errors.Is(err, errNoSupervisor):
		return fault.New(fault.Conflict, "%s does not run any more", id).Hint("`aibox ls` shows how it stands")
	default:
		return err
	}
}

// refusedError is the supervisor's no.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return "the session's supervisor refused: " + e.text }

func (e *refusedError) kind() fault.Kind {
	switch e.status {
	case http.StatusBadRequest:
		return fault.Usage
	case http.StatusConflict:
		return fault.Conflict
	default:
		return fault.Internal
	}
}

// serveAnswer takes the user's word on a request.
func serveAnswer(c controls) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.FormValue("id"))
		yes, yesErr := strconv.ParseBool(r.FormValue("yes"))
		if err = errors.Join(err, yesErr); err != nil {
			err = fault.New(fault.Usage, "an answer takes id, a number, and yes, true or false")
		} else {
			err = c.answer(id, yes)
		}
		accept(w, err)
	}
}

// serveExtend gives the session more time.
func serveExtend(c controls) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, err := time.ParseDuration(r.FormValue("by"))
		if err != nil {
			err = fault.New(fault.Usage, "by must be a duration, such as 30m")
		} else {
			err = c.extend(by)
		}
		accept(w, err)
	}
}

// accept says what became of what a client asked for.
func accept(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		w.WriteHeader(http.StatusAccepted)
	case fault.KindOf(err) == fault.Usage:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case fault.KindOf(err) == fault.Conflict:
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		http.Error(w, fmt.Sprint(err), http.StatusInternalServerError)
	}
}
