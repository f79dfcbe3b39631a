package run

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"aibox/internal/toolconfig"
	"aibox/netguard/preset"
	"aibox/session"
)

func TestOnlyTheRegistriesOfAllowedPresetsReachASession(t *testing.T) {
	env := map[string]string{
		"npm_config_registry": "https://npm.example.org/", "PIP_INDEX_URL": "https://pip.example.org/", "GOPROXY": "https://me:secret@go.example.org/",
		"GOSUMDB": "off", "CARGO_REGISTRIES_MIRROR_INDEX": "sparse+https://cargo.example.org/",
	}
	tools := toolconfig.Source{
		Root: fstest.MapFS{"home/.cargo/config.toml": {Data: []byte("[source.crates-io]\nreplace-with = 'mirror'\n")}},
		Env:  func(name string) string { return env[name] }, Home: "/home",
	}
	for _, c := range []struct {
		network string
		allow   []string
		want    []preset.Registry
	}{
		{"allowlist", []string{"npm", "github", "example.org"}, []preset.Registry{{Preset: "npm", Env: []string{"npm_config_registry=https://npm.example.org/"}}}},
		{"allowlist", []string{"pip", "cargo", "apt"}, []preset.Registry{
			{Preset: "pip", Env: []string{"PIP_INDEX_URL=https://pip.example.org/"}},
			{Preset: "cargo", Env: []string{preset.CargoIndex + "=sparse+https://cargo.example.org/"}},
		}},
		{"allowlist", []string{"github"}, nil},
		{"local", []string{"npm"}, nil},
	} {
		spec := &session.Spec{}
		spec.Network, spec.Allow = c.network, c.allow
		got, err := ownRegistries(spec, tools)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%v: %v\n%s", c.allow, err, diff)
		}
	}
	spec := &session.Spec{}
	spec.Network, spec.Allow = "allowlist", []string{"go"}
	if got, err := ownRegistries(spec, tools); err != nil || len(got) != 1 || got[0].Refused == "" || got[0].Env != nil {
		t.Errorf("a password: %+v, %v", got, err)
	}
	token := "glpat-" + "x7Kq2Vw9Zr4Tn8Ly1Mb6"
	env["npm_config_registry"] = "https://npm.example.org/" + token + "/"
	spec.Allow = []string{"npm"}
	if got, err := ownRegistries(spec, tools); err != nil || len(got) != 1 || got[0].Refused == "" || strings.Contains(got[0].Refused, token) || got[0].Env != nil {
		t.Errorf("a token in the path: %+v, %v", got, err)
	}
}
