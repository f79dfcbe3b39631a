package inspect

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"aibox/netguard"
)

// Request adds the secrets for d to a request that is about to be forwarded to it. https is
// false for plain HTTP.
func (i *Inspector) Request(d netguard.Destination, https bool, request *http.Request) error {
	injected := i.secrets[target{d, https}]
	if injected == nil {
		return nil
	}
	for _, h := range injected.headers {
		request.Header[h.name] = []string{h.value.Reveal()}
		delete(request.Trailer, h.name)
	}
	// Nothing can be redacted in a compressed response, so Response refuses one.
	request.Header.Set("Accept-Encoding", "identity")
	for _, name := range messagesAccepted {
		request.Header.Del(name)
	}
	// Nor in a part of one that begins or ends within the secret.
	request.Header.Del("Range")
	request.Header.Del("If-Range")
	return nil
}

// gRPC and Connect can compress each message of a body by itself. These are the headers with
// which a client accepts that, and those with which a server names an encoding.
var (
	messagesAccepted = []string{"Grpc-Accept-Encoding", "Connect-Accept-Encoding"}
	encodings        = []string{"Content-Encoding", "Grpc-Encoding", "Connect-Content-Encoding"}
)

// The errors name nothing that the server sent, which could be the secret.
var (
	errEncoded  = errors.New("the server sent a compressed or encoded answer, although the proxy asked for a plain one, and aibox cannot redact the secret for this host in it")
	errPartial  = errors.New("the server sent a part of an answer, although the proxy asked for all of it, and aibox cannot redact the secret for this host in it")
	errSwitched = errors.New("the server switched to another protocol, such as WebSocket, and aibox cannot redact the secret for this host in it")
)

// Response redacts the secrets for d in the response to a request to it. It returns an error
// if the response could hold one where redact does not see it.
func (i *Inspector) Response(d netguard.Destination, https bool, response *http.Response) error {
	injected := i.secrets[target{d, https}]
	if injected == nil {
		return nil
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return errSwitched
	}
	if response.StatusCode == http.StatusPartialContent {
		return errPartial
	}
	if encoded(response) {
		return errEncoded
	}
	response.Status = injected.redact.Text(response.Status)
	injected.redactHeader(response.Header)
	injected.redactHeader(response.Trailer) // the announced names
	if response.Body != nil && response.Body != http.NoBody {
		response.Body = &redactedBody{injected.redact.Reader(response.Body), injected, response}
	}
	return nil
}

// Error redacts the secrets for d in the error of a request to it, which quotes an answer that
// cannot be read.
func (i *Inspector) Error(d netguard.Destination, https bool, err error) error {
	if injected := i.secrets[target{d, https}]; injected != nil {
		return redactedError{err, injected.redact.Text(err.Error())}
	}
	return err
}

type redactedError struct {
	error
	text string
}

func (e redactedError) Error() string { return e.text }

func (e redactedError) Unwrap() error { return e.error }

// encoded reports whether a response has a body in another encoding than the one that
// Request asks for.
func encoded(response *http.Response) bool {
	isHead := response.Request != nil && response.Request.Method == http.MethodHead
	if isHead || response.StatusCode == http.StatusNotModified || response.ContentLength == 0 {
		return false
	}
	for _, name := range encodings {
		for _, encoding := range response.Header[name] {
			if encoding != "" && !strings.EqualFold(encoding, "identity") {
				return true
			}
		}
	}
	return false
}

// redactedBody also redacts the trailers, which exist once the body has ended.
type redactedBody struct {
	io.ReadCloser
	secrets  *injection
	response *http.Response
}

func (b *redactedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.secrets.redactHeader(b.response.Trailer)
	}
	return n, err
}

// redactHeader redacts names in any letter case: HTTP/2 has them in lower case, Go capitalizes
// them.
func (i *injection) redactHeader(header http.Header) {
	for name, values := range header {
		clean := i.names.Text(name)
		for n, value := range values {
			values[n] = i.redact.Text(value)
		}
		if clean != name {
			delete(header, name)
			header[clean] = values
		}
	}
}
