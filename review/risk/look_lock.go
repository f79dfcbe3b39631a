package risk

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxHosts bounds the host names that are remembered of one file.
const maxHosts = 10_000

// hosts collects the host names in text: those of addresses with a scheme, which may lack its
// slashes for HTTP, and those of git@host:path. insecure reports the scheme http.
func hosts(text []byte, visit func(host string, at int, insecure bool)) {
	each := func(mark string, found func(at int)) {
		for at := 0; at < len(text); {
			i := bytes.Index(text[at:], []byte(mark))
			if i < 0 {
				return
			}
			at += i + len(mark)
			found(at)
		}
	}
	each(":", func(at int) {
		rest := text[at:]
		scheme := schemeBefore(text[:at-1])
		switch {
		case scheme != "": // Node.js ignores the number of slashes, as browsers do
			rest = bytes.TrimLeft(rest, `/\`)
			rest = rest[:min(len(rest), maxHost)]
		case bytes.HasPrefix(rest, []byte("//")):
			rest = rest[2:]
		default:
			return
		}
		if host := authority(rest); host != "" {
			visit(host, at, scheme == "http")
		}
	})
	each("git@", func(at int) {
		if host := authority(text[at:]); host != "" {
			visit(host, at, false)
		}
	})
}

// schemeBefore is the word at the end of text if it is a scheme of the web, in lower case.
func schemeBefore(text []byte) string {
	for _, scheme := range []string{"https", "http"} {
		head := len(text) - len(scheme)
		if head >= 0 && strings.EqualFold(string(text[head:]), scheme) && (head == 0 || !isASCIILetter(text[head-1])) {
			return scheme
		}
	}
	return ""
}

// maxAuthority is the longest user, password, host and port that is read; maxHost that of the
// web, since an agent can repeat a scheme without slashes.
const (
	maxAuthority = 1024
	maxHost      = 512
)

// authority is the host at the beginning of text, in lower case and without user
// and port.
func authority(text []byte) string {
	text = text[:min(len(text), maxAuthority)]
	end := bytes.IndexAny(text, "/?#\"'`<>()[]{},; \t\r\n\\|")
	if end >= 0 && text[end] == '[' && (end == 0 || text[end-1] == '@') { // an address of IPv6
		host, _, _ := bytes.Cut(text[end+1:], []byte("]"))
		return "[" + strings.ToLower(string(host)) + "]"
	}
	if end >= 0 {
		text = text[:end]
	}
	if at := bytes.LastIndexByte(text, '@'); at >= 0 {
		text = text[at+1:]
	}
	host, _, _ := strings.Cut(string(text), ":")
	return strings.ToLower(strings.TrimRight(host, "."))
}

// escapes are the escapes by hexadecimal digits, with the number of digits.
type escapes map[byte]int

var (
	commonEscapes = escapes{'x': 2, 'u': 4, 'U': 8} // of TOML and YAML; those of JSON are among them
	javaEscapes   = escapes{'u': 4}                 // of properties, where \x is an x
)

// readings are the texts that tools may read in a lock file: a backslash is an escape in JSON, but
// itself in requirements.txt and in YAML without quotes. All have the same lines.
func readings(text []byte) [][]byte {
	all := [][]byte{text}
	if bytes.IndexByte(text, '\\') >= 0 {
		all = append(all, commonEscapes.removed(text))
	}
	if bytes.Contains(text, []byte(`\x`)) || bytes.Contains(text, []byte(`\U`)) {
		all = append(all, javaEscapes.removed(text))
	}
	return all
}

// removed is text without escapes, by which an address is not seen. The lines keep their numbers.
func (e escapes) removed(text []byte) []byte {
	out := make([]byte, 0, len(text))
	joined := 0 // lines
	for i := 0; i < len(text); {
		c := text[i]
		i++
		if c == '\n' {
			out = append(out, bytes.Repeat([]byte("\n"), 1+joined)...)
			joined = 0
			continue
		}
		if c != '\\' || i == len(text) {
			out = append(out, c)
			continue
		}
		c = text[i]
		i++
		digits := e[c]
		code, err := strconv.ParseUint(string(text[i:min(i+digits, len(text))]), 16, 32)
		switch {
		case digits > 0 && err == nil:
			if code > ' ' { // Node.js drops tabs and line ends in an address
				out = utf8.AppendRune(out, rune(code))
			}
			i += digits
		case c == '\n' || c == '\r': // the text continues after the blanks of the next line
			if c == '\r' && i < len(text) && text[i] == '\n' {
				i++
			}
			joined++
			for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
				i++
			}
		case strings.IndexByte("nrtbf", c) >= 0:
		default:
			out = append(out, c)
		}
	}
	return append(out, bytes.Repeat([]byte("\n"), joined)...)
}

// newHosts compares the host names of a lock file with its earlier ones. A host by HTTP is another
// one than the same host by HTTPS.
func newHosts(r *rule, f *File) []Risk {
	known := map[string]bool{}
	for _, text := range readings(plainText(f.Old.Content)) {
		hosts(text, func(host string, _ int, insecure bool) {
			if len(known) >= maxHosts {
				return
			}
			known[host] = true
			if insecure {
				known["http://"+host] = true
			}
		})
	}
	var fresh []string
	first := 0 // line
	for _, text := range readings(f.Text()) {
		at := len(text)
		hosts(text, func(host string, i int, insecure bool) {
			if insecure {
				host = "http://" + host
			}
			if known[host] {
				return
			}
			at = min(at, i)
			if len(known) < maxHosts {
				known[host] = true
				fresh = append(fresh, host)
			}
		})
		if line := 1 + bytes.Count(text[:at], []byte("\n")); at < len(text) && (first == 0 || line < first) {
			first = line
		}
	}
	if first == 0 {
		return nil
	}
	const most = 4
	slices.Sort(fresh)
	names := strings.Join(fresh[:min(most, len(fresh))], ", ")
	if len(fresh) > most {
		names += fmt.Sprintf(" and %d more", len(fresh)-most)
	}
	risk := r.at(first, names)
	if f.Old.Mode == "" {
		risk.Title = "a new lock file; these are the hosts it names"
		risk.Severity = Medium
	}
	return []Risk{risk}
}
