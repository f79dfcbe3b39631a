package bakery

import "aibox/internal/lazyregexp"

// unreachableForms match how curl, npm, Node, pip and apt report that a host could not
// be reached. The first group is the host.
var unreachableForms = []*lazyregexp.Regexp{
	lazyregexp.New(`Could not resolve (?:host|proxy): ([\w.-]+)`),
	lazyregexp.New(`Failed to connect to ([\w.-]+) port`),
	lazyregexp.New(`getaddrinfo (?:ENOTFOUND|EAI_AGAIN) ([\w.-]+)`),
	lazyregexp.New(`connect (?:ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH) ([\w.:-]+)`),
	lazyregexp.New(`request to https?://([\w.-]+)\S* failed`),
	lazyregexp.New(`HTTPS?ConnectionPool\(host='([\w.-]+)'`),
	lazyregexp.New(`Could not fetch URL https?://([\w.-]+)`),
	lazyregexp.New(`Temporary failure resolving '([\w.-]+)'`),
	lazyregexp.New(`(?:Could not connect to|Unable to connect to) ([\w.-]+):`),
}

// unreachableHost returns the host that the last lines of a failed step report as
// unreachable; "" if they report none.
func unreachableHost(tail []string) string {
	for i := len(tail) - 1; i >= 0; i-- {
		for _, form := range unreachableForms {
			if found := form.FindStringSubmatch(tail[i]); found != nil {
				return found[1]
			}
		}
	}
	return ""
}
