package inspect

import (
	"errors"
	"io"
	"net/http"

	"aibox/internal/redact"
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
	// Nothing can be redacted in a compressed response.
	request.Header.Set("Accept-Encoding", "identity")
	return nil
}

// Response redacts the secrets for d in the response to a request to it.
func (i *Inspector) Response(d netguard.Destination, https bool, response *http.Response) {
	injected := i.secrets[target{d, https}]
	if injected == nil {
		return
	}
	response.Status = injected.redact.Text(response.Status)
	redactHeader(injected.redact, response.Header)
	if response.StatusCode == http.StatusSwitchingProtocols || response.Body == nil || response.Body == http.NoBody {
		return
	}
	response.Body = &redactedBody{injected.redact.Reader(response.Body), injected.redact, response}
}

// redactedBody also redacts the trailers, which exist once the body has ended.
type redactedBody struct {
	io.ReadCloser
	secrets  *redact.Set
	response *http.Response
}

func (b *redactedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		redactHeader(b.secrets, b.response.Trailer)
	}
	return n, err
}

func redactHeader(secrets *redact.Set, header http.Header) {
	for name, values := range header {
		clean := secrets.Text(name)
		for i, value := range values {
			values[i] = secrets.Text(value)
		}
		if clean != name {
			delete(header, name)
			header[clean] = values
		}
	}
}
