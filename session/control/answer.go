package control

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"aibox/internal/fault"
)

// RefusedError is the supervisor's refusal of a request.
type RefusedError struct {
	Status  int
	Message string
	Hints   []string
}

func (e *RefusedError) Error() string { return "the session's supervisor refused: " + e.Message }

func (e *RefusedError) Kind() fault.Kind {
	for kind, status := range statuses {
		if status == e.Status {
			return kind
		}
	}
	return fault.Internal
}

// statuses are the kinds of errors that reach the client, with their HTTP statuses.
var statuses = map[fault.Kind]int{
	fault.Usage:       http.StatusBadRequest,
	fault.Refused:     http.StatusForbidden,
	fault.NotFound:    http.StatusNotFound,
	fault.Conflict:    http.StatusConflict,
	fault.Limit:       http.StatusTooManyRequests,
	fault.Environment: http.StatusServiceUnavailable,
}

// serveAnswer accepts the user's answer to a request.
func serveAnswer(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.FormValue("id"))
		answer := r.FormValue("answer")
		if answer == "" {
			var yes bool
			var yesErr error
			yes, yesErr = strconv.ParseBool(r.FormValue("yes"))
			err = errors.Join(err, yesErr)
			answer = "no"
			if yes {
				answer = "yes"
			}
		}
		if err != nil {
			err = fault.New(fault.Usage, "an answer needs id, a number, and answer, a word")
		} else {
			err = c.Answer(id, answer)
		}
		writeResult(w, err)
	}
}

// serveExtend extends the session's time limit.
func serveExtend(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, err := time.ParseDuration(r.FormValue("by"))
		if err != nil {
			err = fault.New(fault.Usage, "by must be a duration, such as 30m")
		} else {
			err = c.Extend(by)
		}
		writeResult(w, err)
	}
}

// hintHeader holds one hint of an error.
const hintHeader = "Aibox-Hint"

// writeResult writes the result of a client's request.
func writeResult(w http.ResponseWriter, err error) {
	for _, hint := range fault.Hints(err) {
		w.Header().Add(hintHeader, url.QueryEscape(hint))
	}
	status, text := http.StatusAccepted, ""
	if err != nil {
		status, text = http.StatusInternalServerError, err.Error()+"\n"
		if known, ok := statuses[fault.KindOf(err)]; ok {
			status = known
		}
	}
	// With its length, the answer is complete before the handler returns; see serveInput.
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}
