package e2b

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
)

// signature signs the URL of a file as the packages do.
func signature(path, operation, user, token, expires string) string {
	text := path + ":" + operation + ":" + user + ":" + token
	if expires != "" {
		text += ":" + expires
	}
	sum := sha256.Sum256([]byte(text))
	return url.QueryEscape(signaturePrefix + base64.RawStdEncoding.EncodeToString(sum[:]))
}

func TestHostsNameAPortAndASandbox(t *testing.T) {
	for host, want := range map[string]string{
		"3000-k3f9-sandbox.boxes.test": "k3f9-sandbox",
		"3000-K3F9-SANDBOX.Boxes.test": "k3f9-sandbox",
		"3000-k3f9.boxes.test:80":      "k3f9",
		"03000-k3f9.boxes.test":        "",
		"0-k3f9.boxes.test":            "",
		"65536-k3f9.boxes.test":        "",
		"3000-.boxes.test":             "",
		"3000-k3f9-.boxes.test":        "",
		"3000.boxes.test":              "",
		"boxes.test":                   "",
		"3000-a.b.boxes.test":          "",
		"3000-a/b.boxes.test":          "",
		"3000-k3f9.boxes.test.evil":    "",
		"+3000-k3f9.boxes.test":        "",
	} {
		if id, _, _ := (&Server{domains: []string{"boxes.test"}}).parseHost(host); id != want {
			t.Errorf("%s names %q, not %q", host, id, want)
		}
	}
}

func TestNetworkSettingsBecomePolicies(t *testing.T) {
	yes, no := true, false
	list := func(entries ...string) *[]string { return &entries }
	const (
		allowlist = aiboxv1.NetworkMode_NETWORK_MODE_ALLOWLIST
		public    = aiboxv1.NetworkMode_NETWORK_MODE_PUBLIC
		unset     = aiboxv1.NetworkMode_NETWORK_MODE_UNSPECIFIED
	)
	for name, c := range map[string]struct {
		internet    *bool
		network     *networkJSON
		mode        aiboxv1.NetworkMode
		allow, deny []string
		fails       bool
	}{
		"nothing":                 {mode: unset},
		"no setting":              {network: &networkJSON{}, mode: unset},
		"internet":                {internet: &yes, mode: public},
		"no internet":             {internet: &no, mode: allowlist},
		"a host":                  {network: &networkJSON{AllowOut: list("a.example")}, mode: allowlist, allow: []string{"a.example"}},
		"a host, and no internet": {internet: &no, network: &networkJSON{AllowOut: list("a.example")}, mode: allowlist, allow: []string{"a.example"}},
		"a host, and internet":    {internet: &yes, network: &networkJSON{AllowOut: list("a.example")}, mode: allowlist, allow: []string{"a.example"}},
		"an empty list":           {network: &networkJSON{AllowOut: list()}, mode: allowlist},
		"empty, and internet":     {internet: &yes, network: &networkJSON{AllowOut: list()}, mode: allowlist},
		"nothing denied, no host": {network: &networkJSON{AllowOut: list(), DenyOut: list()}, mode: allowlist},
		"nothing denied":          {network: &networkJSON{DenyOut: list()}, mode: unset},
		"everything denied":       {network: &networkJSON{DenyOut: list("0.0.0.0/0")}, mode: allowlist},
		"all but a host denied":   {network: &networkJSON{AllowOut: list("a.example"), DenyOut: list("0.0.0.0/0", "b.example")}, mode: allowlist, allow: []string{"a.example"}, deny: []string{"b.example"}},
		"a host denied":           {network: &networkJSON{DenyOut: list("b.example")}, mode: public, deny: []string{"b.example"}},
		"everything":              {network: &networkJSON{AllowOut: list("0.0.0.0/0")}, mode: public},
		"everything and nothing":  {internet: &no, network: &networkJSON{AllowOut: list("::/0")}, fails: true},
	} {
		got, err := networkPolicy(c.internet, c.network)
		if (err != nil) != c.fails || got.GetMode() != c.mode || !slices.Equal(got.GetAllow().GetHosts(), c.allow) || !slices.Equal(got.GetDeny().GetHosts(), c.deny) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if got.GetMode() == allowlist && got.Allow == nil {
			t.Errorf("%s: the tenant's list would be allowed", name)
		}
	}
}

func TestTheMetadataOfAListIsDecodedTwice(t *testing.T) {
	inner := url.Values{url.QueryEscape("a b&c"): {"1%2B1%3D2"}}.Encode()
	got, err := parseMetadata(inner)
	if err != nil || !slices.Equal(got, []string{"a+b&c=1+1=2"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"a;b", "%zz=1", "%3D=1", "a%253D=1", "=1"} {
		if got, err := parseMetadata(bad); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

func FuzzHost(f *testing.F) {
	f.Add("3000-k3f9-sandbox.boxes.test")
	f.Fuzz(func(t *testing.T, host string) {
		id, port, ok := (&Server{domains: []string{"boxes.test"}}).parseHost(host)
		if ok && (port < 1 || port > 65535 || !isLabel(id) || strings.ContainsAny(id, "./%:")) {
			t.Errorf("%q names %q and %d", host, id, port)
		}
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add("user%253D=1&b=2")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := parseMetadata(text)
		for _, entry := range entries {
			if key, _, ok := strings.Cut(entry, "="); err == nil && (!ok || key == "") {
				t.Errorf("%q has the entry %q", text, entry)
			}
		}
	})
}

func FuzzFilter(f *testing.F) {
	f.Add("state=running%2Cpaused&limit=5&nextToken=x&metadata=a%3D1&order=desc&startedAfter=2006-01-02T15%3A04%3A05Z", "7")
	f.Add("state=ended&limit=-1", "-1")
	f.Add("limit=0x10&state=,", "99999999999999999999")
	f.Fuzz(func(t *testing.T, text, offset string) {
		if n, err := parseOffset(offset, 10); err == nil && (n < 0 || n > 10) {
			t.Errorf("the page %q begins at %d", offset, n)
		}
		query, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		filter, err := parseFilter(query)
		if err != nil {
			return
		}
		if r := filter.request; r.PageSize < 0 || r.PageSize > maxPage || (r.PageSize == 0) != (query.Get("limit") == "") {
			t.Errorf("%q has pages of %d", text, r.PageSize)
		}
		if n := len(filter.request.States); n < 1 || n > len(listStates) {
			t.Errorf("%q has the states %v", text, filter.request.States)
		}
	})
}

func FuzzToken(f *testing.F) {
	tokens := newTokens(make([]byte, KeySize))
	now := time.Unix(1_000_000, 0)
	issued := tokens.issue(forInside, "a", "caller")
	f.Add("", "v1_", "")
	f.Add(strings.Repeat("A", 80), signaturePrefix+strings.Repeat("A", 43), "1000001")
	f.Add("x", signaturePrefix+strings.Repeat("A", 43), "999999")
	f.Add("x", signaturePrefix+strings.Repeat("A", 43), "-1")
	f.Fuzz(func(t *testing.T, token, signature, expires string) {
		if caller, err := tokens.open(forInside, "a", token); err == nil {
			t.Errorf("%q opens to %q", token, caller)
		}
		if _, found, err := tokens.verify(signed{path: "/x", operation: "read", signature: signature, expires: expires}, "a", now); err == nil {
			t.Errorf("%q until %q is a signature with %q", signature, expires, found)
		}
		// With the right signature, only the time decides.
		sum := sha256.Sum256([]byte("/x:read::" + issued + ":" + expires))
		_, _, err := tokens.verify(signed{path: "/x", operation: "read", signature: signaturePrefix + base64.RawStdEncoding.EncodeToString(sum[:]), expires: expires}, "a", now)
		if at, wrong := strconv.ParseInt(expires, 10, 64); (err == nil) != (wrong == nil && at >= now.Unix()) {
			t.Errorf("a signature until %q: %v", expires, err)
		}
	})
}

func TestACallerWithManyTokensEndsNoURLsOfOthers(t *testing.T) {
	tokens := newTokens(make([]byte, KeySize))
	signed := func(token string) signed {
		sum := sha256.Sum256([]byte("/x:read::" + token))
		return signed{path: "/x", operation: "read", signature: signaturePrefix + base64.RawStdEncoding.EncodeToString(sum[:])}
	}
	check := func(name, token string, valid bool) {
		t.Helper()
		if _, _, err := tokens.verify(signed(token), "", time.Now()); (err == nil) != valid {
			t.Errorf("the URL of %s: %v", name, err)
		}
	}
	few := tokens.issue(forInside, "a", "few")
	oldest := tokens.issue(forInside, "b0", "many")
	for i := range maxIssued {
		tokens.issue(forInside, "b"+strconv.Itoa(i), "many")
	}
	late := tokens.issue(forInside, "c", "late")
	check("an early caller", few, true)
	check("a late caller", late, true)
	check("the caller with many, its first one", oldest, false)
	if len(tokens.issued) != maxIssued {
		t.Errorf("%d tokens of %d callers are kept", len(tokens.issued), len(tokens.of))
	}
}

// Everyone can send a signature, and there can be many tokens, so each must cost little: the check
// holds up all others.
func TestASignatureOfALongPathNeedsLittleMemoryForEachToken(t *testing.T) {
	tokens := newTokens(make([]byte, KeySize))
	const count, length = 1000, 30_000
	for i := range count {
		tokens.issue(forInside, "s"+strconv.Itoa(i), "caller")
	}
	wrong := signed{path: strings.Repeat("x", length), operation: "read", signature: signaturePrefix + base64.RawStdEncoding.EncodeToString(make([]byte, sha256.Size))}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := tokens.verify(wrong, "", time.Now()); err == nil {
		t.Error("a wrong signature counts")
	}
	runtime.ReadMemStats(&after)
	if needed := after.TotalAlloc - before.TotalAlloc; needed > count*length/10 {
		t.Errorf("%d bytes are needed", needed)
	}
}

func TestTheDomainOfSandboxesHasThePortAtWhichTheServerIsReached(t *testing.T) {
	s := &Server{domains: []string{"localhost", "boxes.example"}}
	for host, want := range map[string]string{
		"localhost": "localhost", "LOCALHOST:8080": "localhost:8080", "boxes.example:443": "boxes.example:443", "127.0.0.1:8080": "localhost:8080",
		"[::1]": "localhost", "[::1]:8080": "localhost:8080", "": "localhost",
	} {
		if got := s.domainOf(&http.Request{Host: host}); got != want {
			t.Errorf("%q: %q", host, got)
		}
	}
}
