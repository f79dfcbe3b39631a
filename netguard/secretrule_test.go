package netguard

import (
	"strings"
	"testing"

	"aibox/internal/secret"
)

func TestSecretRules(t *testing.T) {
	for text, want := range map[string]struct{ canonical, value string }{
		"T=api.example.org:Authorization":               {"T=api.example.org:443:Authorization=Bearer {}", "Bearer canary+1/2"},
		"T=API.example.org.:8443:x-api-key":             {"T=api.example.org:8443:x-api-key={}", "canary+1/2"},
		"T=https://api.example.org:X-Key":               {"T=api.example.org:443:X-Key={}", "canary+1/2"},
		"T=http://api.example.org:X-Key=token {}":       {"T=http://api.example.org:80:X-Key=token {}", "token canary+1/2"},
		"T=github.com:git":                              {"T=github.com:443:Authorization=Basic x-access-token:{}", "Basic eC1hY2Nlc3MtdG9rZW46Y2FuYXJ5KzEvMg=="},
		"T=example.org:Authorization=Basic user:{}":     {"T=example.org:443:Authorization=Basic user:{}", "Basic dXNlcjpjYW5hcnkrMS8y"},
		"T=example.org:Authorization=Basic {}":          {"T=example.org:443:Authorization=Basic {}", "Basic canary+1/2"},
		"T_2=[2606:4700::1]:X-Key=a={}":                 {"T_2=[2606:4700::1]:443:X-Key=a={}", "a=canary+1/2"},
		"T=[2606:4700::1]:8443:X-Key":                   {"T=[2606:4700::1]:8443:X-Key={}", "canary+1/2"},
		"T=xn--bcher-kva.example:PRIVATE-TOKEN":         {"T=xn--bcher-kva.example:443:PRIVATE-TOKEN={}", "canary+1/2"},
		"_T=registry.example.org:Authorization={}":      {"_T=registry.example.org:443:Authorization={}", "canary+1/2"},
		"T=registry.example.org:443:authorization":      {"T=registry.example.org:443:authorization=Bearer {}", "Bearer canary+1/2"},
		"T=registry.example.org:Cookie=session={}; a=b": {"T=registry.example.org:443:Cookie=session={}; a=b", "session=canary+1/2; a=b"},
	} {
		r, err := ParseSecretRule(text)
		if err != nil || r.String() != want.canonical {
			t.Errorf("%q: %q, %v; want %q", text, r, err, want.canonical)
			continue
		}
		if again, err := ParseSecretRule(r.String()); err != nil || again != r {
			t.Errorf("%q reads back as %q, %v", r, again, err)
		}
		if v, err := r.Value(secret.New("canary+1/2")); err != nil || v.Reveal() != want.value {
			t.Errorf("%q: %q, %v", text, v.Reveal(), err)
		}
	}
	for _, text := range []string{
		"", "T", "T=", "T=example.org", "T=example.org:", "T=example.org:443", "=example.org:X", "1T=example.org:X", "T-X=example.org:X", "T=*.example.org:X", "T=10.0.0.1:X",
		"T=example.org:Host", "T=example.org:content-length", "T=example.org:Transfer-Encoding", "T=example.org:Connection", "T=example.org:X Y", "T=example.org:X=a", "T=example.org:X={}{}",
		"T=example.org:X=", "T=example.org:X={}\r\nHost: a", "T=example.org:git={}", "T=[2606:4700::1]", "T=user@example.org:X", "T=example.org/a:X",
	} {
		if r, err := ParseSecretRule(text); err == nil {
			t.Errorf("%q was read as %q", text, r)
		}
	}
}

func TestASecretThatNoHeaderCanHoldIsRefused(t *testing.T) {
	r, err := ParseSecretRule("T=example.org:X-Key")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "canary\n", " canary", "can\r\nary: x", "can\x00ary"} {
		if v, err := r.Value(secret.New(text)); err == nil || strings.Contains(err.Error(), "canary") || !v.Empty() {
			t.Errorf("%q: %v", text, err)
		}
	}
}
