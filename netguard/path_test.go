package netguard

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

func TestCanonicalPath(t *testing.T) {
	for text, want := range map[string]string{
		"": "/", "/": "/", "/a/b": "/a/b", "/a/b/": "/a/b/", "//a///b//": "/a/b/", "/%41%2d%7e": "/A-~", "/a%3ab%2b": "/a%3Ab%2B",
		"/a b": "/a%20b", "/é": "/%C3%A9", "/@scope%2fname": "/@scope%2Fname", "/A": "/A", "/a;b=c": "/a;b=c", "/.git": "/.git", "/a..b": "/a..b", "/...": "/...",
	} {
		if have, err := canonicalPath(text); have != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", text, have, err, want)
		}
	}
	for _, text := range []string{
		"*", "a", "http://h/", "/a/../b", "/..", "/.", "/./a", "/%2e%2e/a", "/.%2E/a", "/..;/a", "/.;x=1/a", "/..%3b/a", "/%", "/%2", "/%zz", "/a%00", "/a%0d%0ab",
		"/a\nb", "/%ff", "/%c0%ae%c0%ae/a", "/%c2%85", "/%7f", "/\uff0e\uff0e/a", "/\u2025/a", "/" + strings.Repeat("a", maxPath),
	} {
		if have, err := canonicalPath(text); err == nil {
			t.Errorf("%.40q has the canonical form %q", text, have)
		}
	}
}

func TestPathGlobs(t *testing.T) {
	for glob, cases := range map[string]map[string]bool{
		"/repos/**": {
			"/repos": true, "/repos/": true, "/repos/a": true, "/repos/a/b/": true, "/repos//a": true, "/%72epos/a": true,
			"/": false, "/repos2": false, "/Repos/a": false, "/repos;x/a": false, "/repos%2fa": false, "/admin": false,
			"/repos/a%2fb": false, "/repos/a%2f..%2f..%2fadmin": false, "/repos/%252e%252e/admin": false, `/repos/a\b`: false, "/repos/a%5cb": false,
			"/repos/a;b": false, "/repos/a%3fb": false, "/repos/a%23b": false, "/repos/a\uff0fb": false, "/repos/a%20b": true, "/repos/é": true,
		},
		"/v*/x":                {"/v1/x": true, "/v12/x": true, "/v/x": false, "/v1/y": false, "/v1/2/x": false, "/v%31/x": true},
		"/a/*":                 {"/a/b": true, "/a": false, "/a/": false, "/a/b/": false, "/a/b/c": false, "/a/b%2fc": false, "/a/b;c": false},
		"/**/end":              {"/end": true, "/a/end": true, "/a/b/end": true, "/a/end/b": false},
		"/a/**/b/**/c":         {"/a/b/c": true, "/a/x/b/y/z/c": true, "/a/c/b": false, "/a/b/b/c/c": true},
		"/*a*b":                {"/xaxb": true, "/aab": false, "/xab": false, "/xaab": true, "/xayyb": true},
		"/p/group%2fname/**":   {"/p/group%2Fname/x": true, "/p/group%2fname": true, "/p/group/name/x": false, "/p/group%2Fother": false},
		"/":                    {"/": true, "//": true, "": true, "/a": false},
		"/**":                  {"/": true, "/a/b;c%2f": true},
		"/exact":               {"/exact": true, "/exact/": false},
		"/b\u00fccher":         {"/b%c3%bccher": true},
		"/a/" + "**/**/**/**/": {"/a/" + strings.Repeat("x/", 200): true, "/a" + strings.Repeat("/x", 200): false},
	} {
		g, err := parsePathGlob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range cases {
			canonical, err := canonicalPath(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if g.matches(canonical) != want {
				t.Errorf("%q matches %q: %v", glob, text, !want)
			}
		}
	}
	for _, glob := range []string{"/a**", "/**b/c", "/a?b", "/a#b", "/../a", "/a%2f*", "/%", "/*;x"} {
		if g, err := parsePathGlob(glob); err == nil {
			t.Errorf("%q was read as %q", glob, g)
		}
	}
}

// FuzzPath checks that the checked path is the forwarded path, and that a path below an
// allowed folder stays there for any way of decoding it.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/repos/a", "/repos/../admin", "/repos/%2e%2e/admin", "//repos//a", "/repos/..;/admin", "/repos/%252e%252e/admin", "/repos/a%2f..%2f..", "/repos/%c0%ae", "/\uff0e\uff0e/x", "/repos/a\\..\\b", "/a b%20"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		canonical, err := canonicalPath(text)
		if err != nil {
			return
		}
		if again, err := canonicalPath(canonical); err != nil || again != canonical {
			t.Fatalf("%q: %q becomes %q, %v", text, canonical, again, err)
		}
		decoded, err := url.PathUnescape(canonical)
		if err != nil {
			t.Fatalf("%q: %v", canonical, err)
		}
		if sent := (&url.URL{Path: decoded, RawPath: canonical}).EscapedPath(); sent != canonical {
			t.Fatalf("%q was decided, %q is forwarded", canonical, sent)
		}
		if !pathGlob("/repos/**").matches(canonical) {
			return
		}
		for range 3 {
			segments, _, _ := strings.Cut(decoded, ";")
			segments = strings.ReplaceAll(segments, `\`, "/")
			if cleaned := path.Clean(segments); cleaned != "/repos" && !strings.HasPrefix(cleaned, "/repos/") {
				t.Fatalf("%q is allowed below /repos, and can be read as %q", canonical, cleaned)
			}
			next, err := url.PathUnescape(decoded)
			if err != nil {
				break
			}
			decoded = next
		}
	})
}

func TestAPathHasNoAsteriskBesideAnEncodedSeparator(t *testing.T) {
	for entry, valid := range map[string]bool{"GET https://a.example.org/x%2f*": false, "GET https://a.example.org/*%5cx": false, "GET https://a.example.org/x%2fy/*": true} {
		if _, err := ParseAllow(entry); (err == nil) != valid {
			t.Errorf("%s: %v", entry, err)
		}
	}
}
