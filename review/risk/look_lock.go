package risk

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// maxHosts bounds the host names that are remembered of one file.
const maxHosts = 10_000

// hosts collects the host names in text: those of addresses with a scheme, and
// those of git@host:path.
func hosts(text []byte, visit func(host string, at int)) {
	for at := 0; at < len(text); {
		i := bytes.Index(text[at:], []byte("://"))
		if i < 0 {
			break
		}
		at += i + 3
		if host := authority(text[at:]); host != "" {
			visit(host, at)
		}
	}
	for at := 0; at < len(text); {
		i := bytes.Index(text[at:], []byte("git@"))
		if i < 0 {
			break
		}
		at += i + 4
		if host := authority(text[at:]); host != "" {
			visit(host, at)
		}
	}
}

// maxAuthority is the longest user, password, host and port that is read.
const maxAuthority = 1024

// authority is the host at the beginning of text, in lower case and without user
// and port.
func authority(text []byte) string {
	text = text[:min(len(text), maxAuthority)]
	if end := bytes.IndexAny(text, "/?#\"'`<>()[]{},; \t\r\n\\|"); end >= 0 {
		text = text[:end]
	}
	if at := bytes.LastIndexByte(text, '@'); at >= 0 {
		text = text[at+1:]
	}
	host, _, _ := strings.Cut(string(text), ":")
	return strings.ToLower(strings.TrimRight(host, "."))
}

// newHosts compares the host names of a lock file with its earlier ones.
func newHosts(r *rule, f *File) []Risk {
	known := map[string]bool{}
	hosts(plainText(f.Old.Content), func(host string, _ int) {
		if len(known) < maxHosts {
			known[host] = true
		}
	})
	var fresh []string
	first := -1
	text := f.Text()
	hosts(text, func(host string, at int) {
		if known[host] {
			return
		}
		if first < 0 || at < first {
			first = at
		}
		if len(known) < maxHosts {
			known[host] = true
			fresh = append(fresh, host)
		}
	})
	if first < 0 {
		return nil
	}
	const most = 4
	slices.Sort(fresh)
	names := strings.Join(fresh[:min(most, len(fresh))], ", ")
	if len(fresh) > most {
		names += fmt.Sprintf(" and %d more", len(fresh)-most)
	}
	risk := r.at(1+bytes.Count(text[:first], []byte("\n")), names)
	if f.Old.Mode == "" {
		risk.Title = "a new lock file; these are the hosts it names"
		risk.Severity = Medium
	}
	return []Risk{risk}
}
