package forward

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzRemoveCredentials compares with how net/http reads the remaining cookies: no program
// in the sandbox gets one of aibox's, or a token.
func FuzzRemoveCredentials(f *testing.F) {
	for _, line := range []string{"a=1; " + cookieName + "=2; b=3", strings.ToUpper(cookieName) + "=x", " " + secureCookieName + " = y;;", "=" + cookieName, "a=\"" + cookieName + "=1\""} {
		f.Add(line, "x")
	}
	f.Add("", "Bearer "+aliceToken)
	f.Fuzz(func(t *testing.T, line, value string) {
		r := http.Request{Header: http.Header{"Cookie": {line}, "X-Other": {value}, "Authorization": {value}}}
		removeCredentials(r.Header)
		for _, c := range r.Cookies() {
			if isOwnCookie(c.Name) {
				t.Errorf("%q keeps %s", line, c.Name)
			}
		}
		for name, values := range r.Header {
			if name != "Cookie" && tokenForm.MatchString(strings.Join(values, " ")) {
				t.Errorf("%s: %q passes", name, values)
			}
		}
	})
}

// FuzzKeepCookies compares with how net/http reads the remaining cookies.
func FuzzKeepCookies(f *testing.F) {
	for _, line := range []string{"a=1; Domain=example.org; Path=/", cookieName + "=1", "a=1; dOmAiN =x", "a=1;domain", secureCookieName + "=1; Secure", "=1", "a=1; Path=/; Domain=.b; Domain=c"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		header := http.Header{"Set-Cookie": {line}}
		keepCookies(header)
		response := http.Response{Header: header}
		for _, c := range response.Cookies() {
			if c.Domain != "" || isOwnCookie(c.Name) {
				t.Errorf("%q keeps %q of %q", line, c.Name, c.Domain)
			}
		}
		if strings.ContainsAny(header.Get("Set-Cookie"), "\x00\r\n") {
			t.Errorf("%q passes", header)
		}
	})
}

// FuzzWithoutGrant checks that no parser finds the grant in the rest, and that every other
// parameter is there.
func FuzzWithoutGrant(f *testing.F) {
	for _, query := range []string{"a=1&" + grantParameter + "=x&b=2", "%61=1", "&&", strings.ToUpper(grantParameter) + "=1", "a;" + grantParameter + "=1", "+" + grantParameter + "=1"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		left, _ := url.ParseQuery(withoutGrant(query)) // it returns the parameters that it can read
		want, _ := url.ParseQuery(query)
		want.Del(grantParameter)
		if left.Encode() != want.Encode() {
			t.Errorf("%q becomes %q, with %q and not %q", query, withoutGrant(query), left.Encode(), want.Encode())
		}
	})
}
