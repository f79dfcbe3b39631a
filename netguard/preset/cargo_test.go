package preset

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Cargo's registries are those in its configuration and its environment, and the one
// compiled into it unless it is replaced.
func TestRegistriesOfCargoAreThoseOfItsConfiguration(t *testing.T) {
	const builtIn = "index.example.com"
	for name, c := range map[string]struct {
		configuration string
		env           []string
		want          string
	}{
		"none":                    {"", nil, "cargo: " + builtIn},
		"a mirror":                {"[source.crates-io]\nreplace-with = 'mirror'\n\n[source.mirror]\nregistry = \"sparse+https://mirror.example.org:8443/index/\"\n", nil, "cargo: mirror.example.org:8443"},
		"single quotes":           {"[source.crates-io]\nreplace-with = 'mirror'\n[source.mirror]\nregistry='https://git.example.org/index'\n", nil, "cargo: git.example.org"},
		"another registry":        {"[registries.own]\nindex = \"sparse+https://own.example.org/\"\n", nil, "cargo: own.example.org, " + builtIn},
		"another source replaced": {"[source.crates-io]\n[source.own]\nregistry = \"https://own.example.org\"\nreplace-with = \"vendored\"\n", nil, "cargo: own.example.org, " + builtIn},
		"the environment":         {"", []string{"CARGO_REGISTRIES_OWN_INDEX=sparse+https://own.example.org/"}, "cargo: own.example.org, " + builtIn},
		"that of the user":        {"", []string{CargoIndex + "=sparse+https://user.example.org/"}, "cargo: user.example.org"},
		"vendored crates":         {"[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = \"vendor\"\n", nil, "cargo: no host"},
		"a backslash":             {"# \\c\n[source.crates-io]\nreplace-with = 'mirror'\n[source.mirror]\nregistry = 'https://mirror.example.org'\n", nil, "cargo: mirror.example.org"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for file, content := range map[string]string{"cargo": "\x00sparse+https://iwords\x01\x00sparse+https://" + builtIn + "/other.words\x00", "curl": "#!/bin/sh\nexit 22\n", "config.toml": c.configuration} {
				if err := os.WriteFile(filepath.Join(home, file), []byte(content), 0o700); err != nil { //nolint:gosec // programs
					t.Fatal(err)
				}
			}
			p, _ := Find("cargo")
			query := p.Queries()[0]
			program := exec.Command(query.Argv[0], query.Argv[1:]...)
			program.Env = append([]string{"PATH=" + home + ":" + os.Getenv("PATH"), "HOME=/nonexistent", "CARGO_HOME=" + home}, c.env...)
			output, err := program.Output()
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Parse(query, output).String(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
