package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/lazyregexp"
	"aibox/internal/redact"
)

// Reasons why an answer is not passed on.
var (
	errRedirect = errors.New("the model server answered with a redirect, which aibox does not follow")
	errEncoded  = errors.New("the model server sent a compressed answer although aibox asked for a plain one, and aibox passes on only what it can search for the key")
	errStatus   = errors.New("the model server answered with a status that HTTP does not have")
	errProxy    = errors.New("the proxy on the way to the model server wants a name and a password; check HTTP_PROXY and HTTPS_PROXY")
)

// refusedAnswer returns the reason why an answer must not reach the agent, or nil.
func refusedAnswer(response *http.Response) error {
	switch status := response.StatusCode; {
	case status >= 300 && status < 400 && status != http.StatusNotModified, status == http.StatusSwitchingProtocols:
		return fmt.Errorf("%w (%d)", errRedirect, status)
	case status < http.StatusOK, status > 999: // net/http would send 200 instead, or panic
		return errStatus
	case status == http.StatusProxyAuthRequired:
		return errProxy // its page may repeat the credentials that it received
	}
	for _, encoding := range response.Header["Content-Encoding"] {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return errEncoded
		}
	}
	return nil
}

// inspect filters the headers of the upstream's answer and follows it to count its usage.
func (g *Gateway) inspect(response *http.Response) error {
	c := callOf(response.Request.Context())
	if err := refusedAnswer(response); err != nil {
		_ = response.Body.Close()
		return err
	}
	secrets := g.secrets() // after the request, which may have got a new key
	response.Header = passedHeader(response, secrets)
	response.Trailer = nil // the announced length
	c.header = response.Header
	response.Body = &countedBody{ReadCloser: secrets.Reader(response.Body), response: response, call: c}
	return nil
}

// The forms of header values that pass.
var (
	mediaType = lazyregexp.New(`^(?i:application/(?:json|x-ndjson|ndjson|problem\+json)|text/(?:event-stream|plain|html))(?i:; ?charset="?(?:utf-8|us-ascii)"?)?$`)
	wait      = lazyregexp.New(`^(?:[0-9]{1,10}(?:\.[0-9]{1,6})?|[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT)$`)
	truth     = lazyregexp.New(`^(?:true|false)$`)
	requestID = lazyregexp.New(`^[A-Za-z0-9._-]{1,80}$`)
	limit     = lazyregexp.New(`^(?:[0-9]{1,15}|(?:[0-9]{1,6}(?:\.[0-9]{1,9})?(?:ms|d|h|m|s)){1,5}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2}))$`)
)

// limitName matches the headers that report rate limits, which clients obey.
var limitName = lazyregexp.New(`^(?:X-Ratelimit-(?:Limit|Remaining|Reset)(?:-(?:Requests|Tokens))?|Anthropic-Ratelimit-(?:Requests|Tokens|Input-Tokens|Output-Tokens)-(?:Limit|Remaining|Reset))$`)

// headerForm returns the form that a header's value must have; nil when the header does not
// pass. Only listed names pass, so cookies, headers with the user's account and headers
// that a server invents do not.
func headerForm(name string) *lazyregexp.Regexp {
	switch name {
	case "Content-Type":
		return mediaType
	case "Retry-After", "Retry-After-Ms":
		return wait
	case "X-Should-Retry":
		return truth
	case "X-Request-Id", "Request-Id":
		return requestID
	}
	if limitName.MatchString(name) {
		return limit
	}
	return nil
}

// passedHeader returns the parts of an answer's header for the agent: values in the form of
// their header that contain no part of a secret, so that a secret cannot be sent in pieces.
func passedHeader(response *http.Response, secrets *redact.Set) http.Header {
	header := http.Header{}
	for name, values := range response.Header {
		if form := headerForm(name); form != nil && len(values) == 1 && form.MatchString(values[0]) && !secrets.Fragment(values[0]) {
			header[name] = slices.Clone(values)
		}
	}
	if response.Header.Get("Content-Type") != "" && header["Content-Type"] == nil {
		header.Set("Content-Type", "application/octet-stream")
	}
	if response.ContentLength >= 0 {
		header.Set("Content-Length", strconv.FormatInt(response.ContentLength, 10))
	}
	return header
}
