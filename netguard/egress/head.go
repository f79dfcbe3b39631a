package egress

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
)

// maxHead is how many bytes the head of a request may have: the request line, all header
// fields and the empty line.
const maxHead = 32 << 10

// maxFields is how many header fields a request may have.
const maxFields = 128

// head is the head of a request, before net/http reads it.
type head struct {
	method  string
	target  string // as sent
	host    string // the Host field, as sent
	hasHost bool
	accept  string
}

// peekHead waits for the head of the next request and returns it without consuming it. The
// reader's buffer has maxHead bytes. The error is a *refusal or the reader's.
func peekHead(r *bufio.Reader) ([]byte, error) {
	var searched int
	for {
		if raw := bufferedHead(r, searched); raw != nil {
			return raw, nil
		}
		arrived := r.Buffered()
		if arrived >= maxHead {
			return nil, tooLarge()
		}
		searched = max(0, arrived-3)
		if _, err := r.Peek(arrived + 1); err != nil {
			return nil, err
		}
	}
}

// bufferedHead is peekHead without waiting. It returns nil if the head is not complete. The end
// of the head is not within the first bytes, as many as searched.
func bufferedHead(r *bufio.Reader, searched int) []byte {
	buffered, _ := r.Peek(r.Buffered())
	if end := bytes.Index(buffered[searched:], []byte("\r\n\r\n")); end >= 0 {
		return buffered[:searched+end+4]
	}
	return nil
}

func tooLarge() *refusal {
	return malformed("head-too-large", "the head of a request has at most %d bytes", maxHead).withStatus(http.StatusRequestHeaderFieldsTooLarge)
}

// parseHead checks the head of a request, with its empty line, and returns the parts that
// determine the decision. It refuses anything that two HTTP parsers could read in different
// ways, even if a server might accept it: bare CR or LF, folded lines, spaces around names,
// control characters, repeated Host or Content-Length, Transfer-Encoding with
// Content-Length or with anything but "chunked" (RFC 9112, sections 2.2, 3.2, 5 and 6).
func parseHead(raw []byte) (head, *refusal) {
	text, ok := strings.CutSuffix(string(raw), "\r\n\r\n")
	if !ok {
		return head{}, malformed("bad-head", "the head of the request is not complete")
	}
	lines := strings.Split(text, "\r\n")
	if len(lines) > maxFields+1 {
		return head{}, malformed("too-many-fields", "a request has at most %d header fields", maxFields).withStatus(http.StatusRequestHeaderFieldsTooLarge)
	}
	h, http10, problem := parseRequestLine(lines[0])
	if problem != nil {
		return head{}, problem
	}
	return h, h.parseFields(lines[1:], http10)
}

func parseRequestLine(line string) (h head, http10 bool, _ *refusal) {
	method, rest, ok := strings.Cut(line, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	switch {
	case !ok || !ok2 || !isToken(method) || len(method) > 32:
		return h, false, malformed("bad-request-line", "the request line is not METHOD TARGET HTTP/1.1")
	case version != "HTTP/1.1" && version != "HTTP/1.0":
		return h, false, malformed("bad-version", "the proxy speaks HTTP/1.1 and HTTP/1.0").withStatus(http.StatusHTTPVersionNotSupported)
	case target == "" || !isVisible(target):
		return h, false, malformed("bad-target", "the target of the request has a character that no URL has")
	}
	return head{method: method, target: target}, version == "HTTP/1.0", nil
}

func (h *head) parseFields(lines []string, http10 bool) *refusal {
	var lengths, encodings int
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) { // also a folded line, and a space before the colon
			return malformed("bad-field", "a header field is not NAME: VALUE on one line")
		}
		value = strings.Trim(value, " \t")
		if !isFieldValue(value) {
			return malformed("bad-field", "the header field %s has a control character", name)
		}
		switch strings.ToLower(name) {
		case "host":
			if h.hasHost {
				return malformed("repeated-host", "the request has more than one Host field")
			}
			h.host, h.hasHost = value, true
		case "content-length":
			if lengths++; lengths > 1 || !isDigits(value) || len(value) > 18 {
				return malformed("bad-length", "Content-Length is not one number")
			}
		case "transfer-encoding":
			if encodings++; encodings > 1 || http10 || !strings.EqualFold(value, "chunked") {
				return malformed("bad-encoding", "Transfer-Encoding is not just \"chunked\"")
			}
		case "accept":
			h.accept = value
		}
	}
	switch {
	case lengths+encodings > 1:
		return malformed("length-and-encoding", "the request has both Content-Length and Transfer-Encoding")
	case h.method == http.MethodConnect && lengths+encodings > 0:
		return malformed("connect-with-body", "a CONNECT request has no body")
	case !h.hasHost && !http10 && h.method != http.MethodConnect:
		return malformed("no-host", "the request has no Host field")
	}
	return nil
}

// isToken reports whether text is a token (RFC 9110, section 5.6.2).
func isToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return text != ""
}

func isVisible(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

func isFieldValue(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
