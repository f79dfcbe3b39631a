package toolconfig

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func source(files, env map[string]string) Source {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Source{Root: root, Env: func(name string) string { return env[name] }, Home: "/home/me"}
}

func TestTheModuleProxyComesFromTheSettingsOfGo(t *testing.T) {
	const file = "home/me/.config/go/env"
	for name, c := range map[string]struct {
		files, env, want map[string]string
	}{
		"nothing set":     {},
		"go env -w":       {files: map[string]string{file: "GOFLAGS=-mod=mod\nGOPROXY=https://a.example,direct\nGOSUMDB=off\n"}, want: map[string]string{"GOPROXY": "https://a.example,direct", "GOSUMDB": "off"}},
		"the environment": {files: map[string]string{file: "GOPROXY=https://a.example\n"}, env: map[string]string{"GOPROXY": "https://b.example"}, want: map[string]string{"GOPROXY": "https://b.example"}},
		"another file":    {files: map[string]string{file: "GOPROXY=https://a.example\n", "etc/go": "GOPROXY=https://b.example\n"}, env: map[string]string{"GOENV": "/etc/go"}, want: map[string]string{"GOPROXY": "https://b.example"}},
		"no file":         {files: map[string]string{file: "GOPROXY=https://a.example\n"}, env: map[string]string{"GOENV": "off"}},
		"another folder":  {files: map[string]string{"conf/go/env": "GOPROXY=https://a.example\n"}, env: map[string]string{"XDG_CONFIG_HOME": "/conf"}, want: map[string]string{"GOPROXY": "https://a.example"}},
		"an empty value":  {files: map[string]string{file: "GOPROXY=\n"}},
	} {
		if c.want == nil {
			c.want = map[string]string{}
		}
		if diff := cmp.Diff(c.want, source(c.files, c.env).Go()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheIndexOfCargoIsThatOfTheRegistryThatReplacesItsOwn(t *testing.T) {
	const file, index = "home/me/.cargo/config.toml", "sparse+https://a.example/"
	for name, c := range map[string]struct {
		files, env map[string]string
		want       string
	}{
		"nothing set":           {},
		"a source":              {files: map[string]string{file: "[source.crates-io]\nreplace-with = 'm'\n[source.m]\nregistry = '" + index + "'\n"}, want: index},
		"a chain of sources":    {files: map[string]string{file: "[source.crates-io]\nreplace-with = 'm'\n[source.m]\nreplace-with = 'n'\n[source.n]\nregistry = '" + index + "'\n"}, want: index},
		"a circle of sources":   {files: map[string]string{file: "[source.crates-io]\nreplace-with = 'm'\n[source.m]\nreplace-with = 'n'\n[source.n]\nreplace-with = 'm'\n"}},
		"a registry":            {files: map[string]string{file: "[source.crates-io]\nreplace-with = 'own-one'\n[registries.own-one]\nindex = '" + index + "'\n"}, want: index},
		"a variable":            {files: map[string]string{file: "[source.crates-io]\nreplace-with = 'own-one'\n"}, env: map[string]string{"CARGO_REGISTRIES_OWN_ONE_INDEX": index}, want: index},
		"the old name":          {files: map[string]string{"home/me/.cargo/config": "[source.crates-io]\nreplace-with = 'm'\n[source.m]\nregistry = '" + index + "'\n"}, want: index},
		"another folder":        {files: map[string]string{"opt/cargo/config.toml": "[source.crates-io]\nreplace-with = 'm'\n[source.m]\nregistry = '" + index + "'\n"}, env: map[string]string{"CARGO_HOME": "/opt/cargo"}, want: index},
		"a folder of crates":    {files: map[string]string{file: "[source.crates-io]\nreplace-with = 'm'\n[source.m]\ndirectory = 'vendor'\n"}},
		"a further registry":    {files: map[string]string{file: "[registries.own]\nindex = '" + index + "'\n"}},
		"what cargo cannot use": {files: map[string]string{file: "[source.crates-io\n"}},
	} {
		if got := source(c.files, c.env).Cargo(); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
