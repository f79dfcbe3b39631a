package bakery_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPipIndexComesFromPipSettings(t *testing.T) {
	const user, old, system = "home/me/.config/pip/pip.conf", "home/me/.pip/pip.conf", "etc/pip.conf"
	index := func(url string) map[string]string { return map[string]string{"PIP_INDEX_URL": url} }
	tests := map[string]struct {
		files map[string]string
		env   map[string]string
		want  map[string]string
		notes int
	}{
		"nothing set": {files: map[string]string{system: "[global]\ncert = /etc/ssl/certs/ca-certificates.crt\nfind-links = /opt\n"}},
		"all four": {
			files: map[string]string{user: "[global]\n# mine\nindex_url = https://a.example/simple\nextra-index-url =\n  https://b.example\n  https://c.example\n\n" +
				"[install]\ntrusted-host = a.example\n[download]\nindex-url = https://no.example\n[global]\nproxy = proxy.example:3128\n"},
			want: map[string]string{
				"PIP_INDEX_URL": "https://a.example/simple", "PIP_EXTRA_INDEX_URL": "https://b.example https://c.example",
				"PIP_TRUSTED_HOST": "a.example", "PIP_PROXY": "proxy.example:3128",
			},
		},
		"the nearest file wins":  {files: map[string]string{system: "[global]\nindex-url=https://a.example", old: "[global]\nindex-url=https://b.example", user: "[global]\nindex-url=https://c.example"}, want: index("https://c.example")},
		"a command's section":    {files: map[string]string{user: "[install]\nindex-url=https://a.example\n[global]\nindex-url=https://b.example\n"}, want: index("https://a.example")},
		"the environment":        {files: map[string]string{user: "[global]\nindex-url=https://a.example"}, env: map[string]string{"PIP_INDEX_URL": "https://b.example"}, want: index("https://b.example")},
		"another folder":         {files: map[string]string{"home/me/conf/pip/pip.conf": "[global]\nindex-url=https://a.example"}, env: map[string]string{"XDG_CONFIG_HOME": "/home/me/conf"}, want: index("https://a.example")},
		"a password":             {files: map[string]string{user: "[global]\nindex-url=https://me:secret@a.example/\n"}, notes: 1},
		"a password for a proxy": {env: map[string]string{"PIP_PROXY": "http://me:secret@a.example:1"}, notes: 1},
		"this machine":           {env: map[string]string{"PIP_INDEX_URL": "http://127.0.0.1:3141/root/pypi"}, notes: 1},
		"a shell's syntax":       {env: map[string]string{"PIP_INDEX_URL": "https://a.example/$(id)", "PIP_TRUSTED_HOST": "$(id) b.example"}, want: map[string]string{"PIP_TRUSTED_HOST": "b.example"}, notes: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := host(test.files, test.env)
			if len(test.want) != len(h.Pip) || !maps.Equal(test.want, h.Pip) || len(h.Notes) != test.notes {
				t.Errorf("%s\nnotes %q", cmp.Diff(test.want, h.Pip), h.Notes)
			}
			if strings.Contains(strings.Join(h.Notes, ""), "secret") {
				t.Errorf("a password is printed: %q", h.Notes)
			}
		})
	}
}

// A malformed pip.conf must not break a bake.
func FuzzPip(f *testing.F) {
	f.Add("[global]\nindex-url = https://a.example\n  https://b.example\n")
	f.Add("[global]\nproxy = http://a.example/`id`\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, value := range host(map[string]string{"etc/pip.conf": text}, nil).Pip {
			if strings.ContainsAny(value, "$`'\"\\;&|<>\n") {
				t.Errorf("a shell would act on %q", value)
			}
		}
	})
}
