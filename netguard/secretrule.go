package netguard

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"

	"aibox/internal/secret"
)

// SecretRule defines where the proxy adds a secret to requests: as one header, to one host.
// It holds no secret.
type SecretRule struct {
	Name        string // of the environment variable on the host that holds the secret
	Destination Destination
	TLS         bool   // false only if the user wrote http://
	Header      string // as the user wrote it
	template    string // of the header's value
}

// placeholder is replaced by the secret in a template.
const placeholder = "{}"

// gitTemplate sends a token as Git servers expect it: as the password of HTTP's basic
// authentication. They ignore the user name, or require this one.
const gitTemplate = "Basic x-access-token:" + placeholder

// forbiddenHeaders frame a message or choose its recipient.
var forbiddenHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Te", "Trailer", "Upgrade", "Expect", "Proxy-Authorization", "Proxy-Connection", "Keep-Alive"}

// ParseSecretRule parses NAME=HOST[:PORT]:HEADER[=TEMPLATE] or
// NAME=http://HOST[:PORT]:HEADER[=TEMPLATE]. HOST is a name or an address, not a wildcard.
// Without http:// the secret is sent only over TLS, and without a port only to port 443. In
// TEMPLATE, {} is replaced by the secret. Without TEMPLATE, it is "Bearer {}" for the
// header Authorization and "{}" for others. The user name and password in a template "Basic
// USER:{}" are encoded as the header needs it. The header "git" means Authorization with
// the template for tokens of Git servers.
func ParseSecretRule(text string) (SecretRule, error) {
	r := SecretRule{TLS: true}
	name, target, found := strings.Cut(text, "=")
	if !found {
		return r, fmt.Errorf("%q is not NAME=HOST:HEADER", clip(text))
	}
	if r.Name = name; !isVariable(name) {
		return r, fmt.Errorf("%q is not the name of an environment variable", clip(name))
	}
	target, r.template, _ = strings.Cut(target, "=")
	hasTemplate := strings.Count(text, "=") > 1
	if plain, ok := strings.CutPrefix(target, "http://"); ok {
		target, r.TLS = plain, false
	}
	target = strings.TrimPrefix(target, "https://")
	colon := strings.LastIndexByte(target, ':')
	if colon < 0 || strings.HasSuffix(target, "]") {
		return r, fmt.Errorf("%q has no header: want HOST:HEADER", clip(target))
	}
	if err := r.setDestination(target[:colon]); err != nil {
		return r, err
	}
	return r, r.setHeader(target[colon+1:], hasTemplate)
}

func (r *SecretRule) setDestination(text string) error {
	host, port, err := splitPort(text)
	if err != nil {
		return err
	}
	if strings.Contains(host, "*") {
		return fmt.Errorf("%q: a secret goes to one host, not to a pattern", clip(text))
	}
	if r.Destination.Host, err = ParseHost(host); err != nil {
		return err
	}
	if addr, ok := r.Destination.Host.Address(); ok && CheckAddress(addr) != 0 {
		return fmt.Errorf("%s can never be reached: %s", addr, CheckAddress(addr))
	}
	switch {
	case port != "":
		r.Destination.Port, err = parsePort(port)
	case r.TLS:
		r.Destination.Port = portHTTPS
	default:
		r.Destination.Port = portHTTP
	}
	return err
}

func (r *SecretRule) setHeader(name string, hasTemplate bool) error {
	switch {
	case name == "git" && hasTemplate:
		return errors.New(`the header "git" has its own template`)
	case name == "git":
		r.Header, r.template = "Authorization", gitTemplate
		return nil
	case !httpguts.ValidHeaderFieldName(name) || strings.Trim(name, "0123456789") == "":
		return fmt.Errorf("%q is not the name of a header", clip(name))
	}
	for _, forbidden := range forbiddenHeaders {
		if strings.EqualFold(name, forbidden) {
			return fmt.Errorf("a secret cannot be in the header %s", forbidden)
		}
	}
	r.Header = name
	switch {
	case hasTemplate && strings.Count(r.template, placeholder) != 1:
		return fmt.Errorf("the template %q does not have %s once, in place of the secret", clip(r.template), placeholder)
	case hasTemplate && !httpguts.ValidHeaderFieldValue(r.template):
		return errors.New("the template has a character that no header has")
	case hasTemplate:
	case strings.EqualFold(name, "Authorization"):
		r.template = "Bearer " + placeholder
	default:
		r.template = placeholder
	}
	return nil
}

// isVariable reports whether name is the name of an environment variable in any shell.
func isVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= lower(c) && lower(c) <= 'z' || c == '_' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return name != ""
}

// String returns the rule in its canonical form. ParseSecretRule parses it again.
func (r SecretRule) String() string {
	if r.Header == "" {
		return ""
	}
	scheme := ""
	if !r.TLS {
		scheme = "http://"
	}
	return r.Name + "=" + scheme + r.Destination.String() + ":" + r.Header + "=" + r.template
}

// Inspect returns the host whose TLS the proxy must inspect to add the secret, or false if
// it is sent in plain HTTP.
func (r SecretRule) Inspect() (Pattern, bool) {
	return Pattern{host: r.Destination.Host, port: portMatch(r.Destination.Port)}, r.TLS
}

// Value returns the header's value with the secret in it. A secret that no header can hold
// is an error that does not repeat it.
func (r SecretRule) Value(s secret.Value) (secret.Value, error) {
	text := s.Reveal()
	if text == "" || strings.TrimSpace(text) != text || !httpguts.ValidHeaderFieldValue(text) {
		return secret.Value{}, fmt.Errorf("the value of %s cannot be sent in a header: it is empty, or has spaces around it or a control character", r.Name)
	}
	filled := strings.Replace(r.template, placeholder, text, 1)
	if pair, ok := strings.CutPrefix(r.template, "Basic "); ok && strings.Contains(pair, ":") {
		pair = strings.Replace(pair, placeholder, text, 1)
		filled = "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
	}
	return secret.New(filled), nil
}
