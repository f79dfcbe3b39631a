package netguard

import "testing"

func TestPatternPrintsInItsCanonicalForm(t *testing.T) {
	for text, want := range map[string]string{
		"Example.ORG.": "example.org", "example.org:8443": "example.org:8443", "*.Example.org": "*.example.org", "*.example.org:*": "*.example.org:*",
		"8.8.8.8": "8.8.8.8", "[2606:4700::1]:22": "[2606:4700::1]:22", "2606:4700::1": "2606:4700::1", "bücher.example": "xn--bcher-kva.example",
		"user.github.io": "user.github.io", "*.user.github.io": "*.user.github.io", "github.io": "github.io",
	} {
		for name, parse := range map[string]func(string) (Pattern, error){"allow": ParseAllow, "deny": ParseDeny} {
			p, err := parse(text)
			if err != nil || p.String() != want {
				t.Errorf("%s %q: %q, %v; want %q", name, text, p, err, want)
				continue
			}
			if again, err := parse(p.String()); err != nil || again != p {
				t.Errorf("%s %q reads back as %q, %v", name, p, again, err)
			}
		}
	}
}

func TestAnEntryThatIsTooWideIsRefused(t *testing.T) {
	for _, text := range []string{"*", "*:443", "*.com", "*.co.uk", "*.github.io", "*.s3.amazonaws.com", "*.run.app", "com", "co.uk", "*.internal", "127.0.0.1", "10.0.0.1:443", "[::1]:80", "169.254.169.254", "[::ffff:8.8.8.8]"} {
		if p, err := ParseAllow(text); err == nil {
			t.Errorf("%q is allowed as %q", text, p)
		}
	}
	for _, text := range []string{"*", "*:443", "*.com", "com", "127.0.0.1"} {
		if _, err := ParseDeny(text); err != nil {
			t.Errorf("%q cannot be denied: %v", text, err)
		}
	}
	for _, text := range []string{"", "a.*.org", "*a.org", "**.example.org", "*.*.example.org", "https://example.org", "example.org/path", "example.org:", "example.org:0", "*.8.8.8.8", "*.", "user@example.org", "a b.org", "example.org:http"} {
		if p, err := ParseDeny(text); err == nil {
			t.Errorf("%q was read as %q", text, p)
		}
	}
}
