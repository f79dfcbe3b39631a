package bakery

import "regexp"

// unreachableForms match how curl, npm, Node, pip and apt report that a host could not
// be reached. The first group is the host.
var unreachableForms = []*regexp.Regexp{
	regexp.MustCompile(`Could not resolve (?:host|proxy): ([\w.-]+)`),
	regexp.MustCompile(`Failed to connect to ([\w.-]+) port`),
	regexp.MustCompile(`getaddrinfo (?:ENOTFOUND|EAI_AGAIN) ([\w.-]+)`),
	regexp.MustCompile(`connect (?:ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH) ([\w.:-]+)`),
	regexp.MustCompile(`request to https?://([\w.-]+)\S* failed`),
	regexp.MustCompile(`HTTPS?ConnectionPool\(host='([\w.-]+)'`),
	regexp.MustCompile(`Could not fetch URL https?://([\w.-]+)`),
	regexp.MustCompile(`Temporary failure resolving '([\w.-]+)'`),
	regexp.MustCompile(`(?:Could not connect to|Unable to connect to) ([\w.-]+):`),
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
