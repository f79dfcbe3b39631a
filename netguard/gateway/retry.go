package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"aibox/netguard/gateway/failure"
)

const (
	retryLimit = 2 // tries after the first one
	// retryWait is the longest wait requested by a server after which the gateway tries
	// again. A longer one is left to the agent.
	retryWait = 5 * time.Second
	// retryPause is the wait before the second try of a connection, doubled for the third.
	retryPause = 100 * time.Millisecond
)

// retrier sends a request again where that is safe: as long as the agent has received
// nothing, and the server either was not reached or has refused the request for a short
// time. A server that drops a connection may have computed an answer, which costs, so the
// agent decides about another try. A connection that turns out to be closed before anything
// was written to it is replaced by http.Transport itself. (It would also repeat what it knows
// to be idempotent; no header that says so of a POST passes the gateway.)
type retrier struct {
	http.RoundTripper
	// busy means that the server stayed busy through all tries of the latest request.
	// Agents try again as well, so until the server answers, each of their requests is
	// sent once: the tries would multiply.
	busy *atomic.Bool
}

// RoundTrip sends the request until it is answered or must not be sent again.
func (t retrier) RoundTrip(r *http.Request) (*http.Response, error) {
	c := callOf(r.Context())
	defer c.body.release()
	for {
		response, err := t.RoundTripper.RoundTrip(r)
		wait, again := t.retries(c, response, err)
		if !again || !replay(r) {
			t.busy.Store(wait > 0 && response != nil)
			return response, err
		}
		if response != nil {
			_ = response.Body.Close()
		}
		c.event.Retries++
		if err := sleep(r.Context(), wait); err != nil {
			return nil, err
		}
	}
}

// retries reports whether to try again, and the wait, which is 0 if waiting does not help.
func (t retrier) retries(c *call, response *http.Response, err error) (time.Duration, bool) {
	again := c.event.Retries < retryLimit
	if err != nil {
		return retryPause << c.event.Retries, again && neverSent(err)
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, 529:
	default:
		return 0, false
	}
	wait := retryAfter(response.Header, time.Now())
	if wait == 0 || wait > retryWait {
		return 0, false
	}
	opening, err := io.ReadAll(io.LimitReader(response.Body, failure.Limit))
	response.Body = readCloser{io.MultiReader(bytes.NewReader(opening), response.Body), response.Body}
	if err != nil || outcomeOf(response.StatusCode, response.Header, failure.Read(opening)) != Busy {
		return 0, false
	}
	return wait, again && !t.busy.Load()
}

// readCloser reads from one source and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}

// neverSent reports whether the server was not reached.
func neverSent(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED)
}

// replay gives the request a new copy of its body, and reports whether it could.
func replay(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	if r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	r.Body = body
	return err == nil
}

// sleep waits, or returns the error of ctx.
func sleep(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}
