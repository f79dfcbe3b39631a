package e2b

import (
	"net/http"
	"strconv"
	"time"

	"aibox/api/eventstream"
)

// In this header the packages request a keep-alive after that many seconds without another event.
const (
	keepAliveHeader  = "Keepalive-Ping-Interval"
	defaultKeepAlive = 90 * time.Second
	minKeepAlive     = time.Second
	maxKeepAlive     = time.Hour
)

// keepAlive returns the interval of keep-alives in a request.
func keepAlive(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(header.Get(keepAliveHeader), 10, 16)
	if err != nil {
		return defaultKeepAlive
	}
	return min(max(time.Duration(seconds)*time.Second, minKeepAlive), maxKeepAlive)
}

// newSender returns a sender of events and of the keep-alives that a request asks for. Its End must be
// called. A keep-alive that cannot be sent ends nothing: the caller has gone, which ends the call.
func newSender[E any](header http.Header, alive E, send func(E) error) *eventstream.Sender[E] {
	return eventstream.NewSender(send, func() E { return alive }, func() {}, keepAlive(header))
}
