package bakery

import "regexp"

// unreachedForms are how curl, npm, Node, pip and apt tell that a host could not be
// reached. The first group is the host.
var unreachedForms = []*regexp.Regexp{
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

// unreached is the host that the last lines of a failed step say could not be
// reached, as they say it; "" when they say no such thing.
func unreached(tail []string) string {
	for i := len(tail) - 1; i >= 0; i-- {
		for _, form := range unreachedForms {
			if found := form.FindStringSubmatch(tail[i]); found != nil {
				return found[1]
			}
		}
	}
	return ""
}
