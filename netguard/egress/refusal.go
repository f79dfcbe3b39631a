package egress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"aibox/netguard"
)

// refusal is the reason why the proxy refuses a request.
type refusal struct {
	status  int
	code    string // a word
	reason  string // a clause
	rule    string
	hint    string            // what to do instead; empty if allowing the destination helps
	address netip.Addr        // that was refused; may be invalid
	verdict netguard.Verdict  // of the policy; the zero value if a rule of the proxy refuses
	request *netguard.Request // that the verdict is about; nil if only the destination counts
	budget  bool              // a budget of bytes is used up
}

func (r *refusal) Error() string { return r.reason }

// refuse returns the refusal of a verdict.
func refuse(v netguard.Verdict) *refusal {
	problem := &refusal{status: http.StatusForbidden, code: v.Reason.Name(), reason: v.Reason.String(), rule: v.Rule.String(), verdict: v}
	if v.Reason == netguard.NeighborAddress { // though the address can be listed
		problem.hint = "no list can allow an address of a network that this machine is in"
	}
	return problem
}

// forbid returns a refusal by a rule of the proxy itself.
func forbid(code, format string, args ...any) *refusal {
	return &refusal{status: http.StatusForbidden, code: code, reason: fmt.Sprintf(format, args...)}
}

// malformed returns the refusal of a request that the proxy cannot read.
func malformed(code, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, code: code, reason: fmt.Sprintf(format, args...)}
}

// asRefusal reports whether err is or wraps a refusal, and sets problem to it.
func asRefusal(err error, problem **refusal) bool { return errors.As(err, problem) }

func (r *refusal) withStatus(status int) *refusal { r.status = status; return r }

func (r *refusal) withHint(hint string) *refusal { r.hint = hint; return r }

// refusalBody is the body of the response to a refused request.
type refusalBody struct {
	Error   string `json:"error"`
	Method  string `json:"method,omitempty"`
	Host    string `json:"host,omitempty"`
	Port    uint16 `json:"port,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Code    string `json:"code"`
	Reason  string `json:"reason"`
	ID      string `json:"id,omitempty"`
	Command string `json:"command,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

func (r *refusal) body(method string, to netguard.Destination, id, command string) refusalBody {
	subject := "a request"
	if !to.Host.IsZero() {
		subject = to.String()
	}
	return refusalBody{
		Error: "aibox refused " + subject, Method: method, Host: to.Host.String(), Port: to.Port, Rule: r.rule,
		Code: r.code, Reason: r.reason, ID: id, Command: command, Hint: r.hint,
	}
}

// text returns the answer as plain text, one fact a line.
func (a refusalBody) text() string {
	var b strings.Builder
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", label+":", printable(value))
		}
	}
	fmt.Fprintf(&b, "%s: %s\n", printable(a.Error), printable(a.Reason))
	line("request", a.Method)
	line("rule", a.Rule)
	line("id", a.ID)
	line("hint", a.Hint)
	line("allow with", a.Command)
	return b.String()
}

// phrase returns the reason phrase of the status line. Go, Java, Python and pip print it
// when a proxy refuses CONNECT, and most programs print nothing else.
func (a refusalBody) phrase() string {
	text := a.Error + " (" + a.Reason + ")"
	if a.Command != "" {
		text += "; allow it with: " + a.Command
	} else if a.Hint != "" {
		text += "; " + a.Hint
	}
	const limit = 300
	text = printable(text)
	return text[:min(len(text), limit)]
}

// encode returns the body and its media type, for a client that accepts the given ones.
func (a refusalBody) encode(accept string) (body []byte, kind string) {
	if strings.Contains(accept, "application/json") {
		if encoded, err := json.Marshal(a); err == nil {
			return append(encoded, '\n'), "application/json"
		}
	}
	return []byte(a.text()), "text/plain; charset=utf-8"
}

// response returns the whole response to a client that accepts the given media types.
func (r *refusal) response(a refusalBody, accept string, keepAlive bool) []byte {
	body, kind := a.encode(accept)
	connection := "close"
	if keepAlive {
		connection = "keep-alive"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", r.status, a.phrase())
	fmt.Fprintf(&b, "Content-Type: %s\r\nContent-Length: %d\r\nConnection: %s\r\n", kind, len(body), connection)
	fmt.Fprintf(&b, "X-Content-Type-Options: nosniff\r\nProxy-Status: aibox; error=http_request_denied\r\n\r\n")
	b.Write(body)
	return b.Bytes()
}

// printable returns text in ASCII without control characters.
func printable(text string) string {
	clean := true
	for i := range len(text) {
		clean = clean && ' ' <= text[i] && text[i] <= '~'
	}
	if clean {
		return text
	}
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}
