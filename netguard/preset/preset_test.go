package preset

import (
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/netguard"
)

func TestPresetsAreNamesThatNoHostHas(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		if strings.ContainsAny(p.Name, ".:/") || seen[p.Name] || p.Summary == "" || strings.HasSuffix(p.Summary, ".") {
			t.Errorf("%q: %q", p.Name, p.Summary)
		}
		seen[p.Name] = true
		if entry, err := ParseAllow(p.Name); err != nil || entry.Preset != p.Name || entry.String() != p.Name {
			t.Errorf("%q is read as %v, %v", p.Name, entry, err)
		}
		if p.Asks() != (len(p.Hosts) == 0) {
			t.Errorf("%q has %d hosts and %d queries", p.Name, len(p.Hosts), len(p.Queries()))
		}
		if r := p.Static(); len(r.Refused) > 0 || len(r.Rules) != len(p.Hosts) {
			t.Errorf("%v: %q", r, r.Refused)
		}
	}
}

func TestAWrongEntryGetsAHintWithTheLikelyOne(t *testing.T) {
	for word, want := range map[string]string{
		"*": "--network public", "*.com": "domain of one owner", "ftp://example.org/path": "did you mean example.org?", "example.org:https": "did you mean example.org:443?",
		"ssh://git@example.org": "did you mean example.org:22?", ".example.org": "did you mean *.example.org?", "nmp": "did you mean npm?", "NPM": "did you mean npm?",
		"githb": "did you mean github?", "localhost": "the presets are", "10.0.0.1": "HOST:PORT", "example.org:0": "HOST:PORT", "": "HOST:PORT", "npm:443": "presets are",
		"a.*.org": "HOST:PORT", "git@example.org": "did you mean example.org?",
	} {
		_, err := ParseAllow(word)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), "\n"), want) {
			t.Errorf("%q: %v, %q", word, err, fault.Hints(err))
		}
	}
	for word, want := range map[string]string{"npm": "preset", "https://example.org": "did you mean example.org?"} {
		_, err := ParseDeny(word)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error()+strings.Join(fault.Hints(err), "\n"), want) {
			t.Errorf("%q: %v, %q", word, err, fault.Hints(err))
		}
	}
	for _, word := range []string{"*", "*.com", "com", "10.0.0.1", "example.org:22"} {
		if _, err := ParseDeny(word); err != nil {
			t.Errorf("%q cannot be denied: %v", word, err)
		}
	}
}

// parsed are the outputs of real tools, and the hosts in them.
var parsed = []struct{ preset, output, want string }{
	{"npm", `{"registry":"https://registry.example.com/","@acme:registry":"https://npm.acme.example:8443/x","//npm.acme.example/:_authToken":"(protected)","proxy":"http://proxy.example.net"}`, "npm: npm.acme.example:8443, registry.example.com"},
	{"npm", "undefined\n", "npm: no host"},
	{"pip", "https://pypi.example.com/simple\nhttps://files.example.com\n", "pip: pypi.example.com, files.example.com"},
	{"pip", "https://user:secret@mirror.example.com/root/pypi/+simple/\n", "pip: mirror.example.com"},
	{"go", "https://proxy.example.com,direct\nsum.example.com\n", "go: proxy.example.com, sum.example.com"},
	{"go", "https://a.example.com|https://b.example.com:8443/x,off\nsum.example.com+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8 https://sum.acme.example/db\n", "go: a.example.com, b.example.com:8443, sum.acme.example"},
	{"go", "off\noff\n", "go: no host"},
	{"go", "direct\nsum.example.com+033de0ae+Ac4z\n", "go: sum.example.com"},
	{"cargo", "sparse+https://index.example.com/\nhttps://static.example.com/crates\n", "cargo: index.example.com, static.example.com"},
	{"apt", "http://deb.example.com/debian\nhttp://deb.example.com/debian-security\nfile:/srv/packages\ncdrom:[x]/\n", "apt: deb.example.com"},
}

func TestHostsAreReadFromTheOutputOfTools(t *testing.T) {
	for _, c := range parsed {
		p, _ := Find(c.preset)
		if got := p.Parse(p.Queries()[0], []byte(c.output)).String(); got != c.want {
			t.Errorf("%q gives %q, want %q", c.output, got, c.want)
		}
	}
}

func TestAHostileImageAddsNoWildcardAndNoPrivateAddress(t *testing.T) {
	for _, p := range All() {
		for _, q := range p.Queries() {
			for _, output := range []string{
				"*\n", "*.com\n", "*.example.org\n", "https://*.example.org/\n", "https://10.0.0.1/\n", "10.0.0.1:443\n", "https://169.254.169.254/latest\n", "https://[::1]/\n", "localhost\n",
				"https://localhost:8080/\n", "com\n", "https://example.org:*\n", "https://2130706433/\n", "file:///etc/passwd\n", "https://metadata\n", "\x00\x1b[2J\xff\n", "ftp://example.org\n",
				`{"registry":"https://10.0.0.1"}`, `{"registry":"*"}`, `{"registry":["https://example.org"]}`, `{"registry":"https://*.com"}`,
			} {
				r := p.Parse(q, []byte(output))
				if len(r.Rules) > 0 {
					t.Errorf("%s: %q allows %v", p.Name, output, r)
				}
			}
			if r := p.Parse(q, []byte(strings.Repeat("https://example.org/\n", 60_000))); len(r.Rules) > 0 || len(r.Refused) != 1 {
				t.Errorf("%s: a megabyte gives %v, %q", p.Name, r, r.Refused)
			}
			var many strings.Builder
			for i := range 1000 {
				many.WriteString("https://h" + strings.Repeat("x", i%40) + ".example.org/\n")
			}
			if r := p.Parse(q, []byte(many.String())); len(r.Rules) > maxHosts {
				t.Errorf("%s: an image adds %d hosts", p.Name, len(r.Rules))
			}
		}
	}
}

// For any output of an image, each rule is one that a user could have written: one host,
// and no private address.
func FuzzParse(f *testing.F) {
	for _, c := range parsed {
		f.Add(c.preset, []byte(c.output))
	}
	f.Add("npm", []byte(`{"registry":"https://*"}`))
	f.Add("pip", []byte("https://[::ffff:10.0.0.1]:443/\n"))
	f.Fuzz(func(t *testing.T, name string, output []byte) {
		p, ok := Find(name)
		if !ok {
			return
		}
		for _, q := range p.Queries() {
			r := p.Parse(q, output)
			for _, rule := range r.Rules {
				text := rule.Pattern.String()
				again, err := netguard.ParseAllow(text)
				if err != nil || again != rule.Pattern || strings.Contains(text, "*") || rule.Source != "preset "+name {
					t.Fatalf("%q allows %q: %v", output, text, err)
				}
			}
		}
	})
}
