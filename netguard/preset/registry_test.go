package preset

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheUsersRegistryBecomesVariablesOfItsTool(t *testing.T) {
	settings := map[string]string{
		"npm_config_registry": "https://mirror.example.org/npm/",
		"PIP_INDEX_URL":       "https://mirror.example.org:8443/simple", "PIP_TRUSTED_HOST": "mirror.example.org", "PIP_PROXY": "http://proxy.example.org",
		"GOPROXY": "https://mirror.example.org/go|https://other.example.org,direct", "GOSUMDB": "sum.example.org+1a+Ac/4= https://sums.example.org",
		CargoIndex: "sparse+https://mirror.example.org/index/",
	}
	for name, want := range map[string][]string{
		"npm":    {"npm_config_registry=https://mirror.example.org/npm/"},
		"pip":    {"PIP_INDEX_URL=https://mirror.example.org:8443/simple", "PIP_TRUSTED_HOST=mirror.example.org"},
		"go":     {"GOPROXY=" + settings["GOPROXY"], "GOSUMDB=" + settings["GOSUMDB"]},
		"cargo":  {CargoIndex + "=sparse+https://mirror.example.org/index/"},
		"github": nil,
	} {
		p, _ := Find(name)
		got, ok := p.Registry(settings)
		if !slices.Equal(got.Env, want) || got.Refused != "" || ok != (want != nil) {
			t.Errorf("%s: %+v", name, got)
		}
		if got, ok := p.Registry(nil); ok {
			t.Errorf("%s without settings: %+v", name, got)
		}
	}
}

// A sandbox reaches no hosts of modules themselves, so with these settings the preset would
// allow nothing.
func TestAGoCommandWithoutAModuleProxySetsUpNone(t *testing.T) {
	p, _ := Find("go")
	for _, proxy := range []string{"direct", "off", "direct,off"} {
		if got, ok := p.Registry(map[string]string{"GOPROXY": proxy}); ok {
			t.Errorf("%s: %+v", proxy, got)
		}
		got, ok := p.Registry(map[string]string{"GOPROXY": proxy, "GOSUMDB": "off"})
		if want := []string{"GOSUMDB=off"}; !ok || !slices.Equal(got.Env, want) {
			t.Errorf("%s: %+v", proxy, got)
		}
	}
}

func TestAPasswordInARegistryStaysOutside(t *testing.T) {
	for _, c := range []struct{ preset, variable, value string }{
		{"npm", "npm_config_registry", "https://me:CANARY@mirror.example.org/"},
		{"npm", "npm_config_registry", "https://CANARY@mirror.example.org/"},
		{"npm", "npm_config_registry", "https://me:CAN ARY%@mirror.example.org/"},
		{"npm", "npm_config_registry", "https://mirror.example.org/?key=CANARY"},
		{"npm", "npm_config_registry", "https://mirror.example.org/#CANARY"},
		{"pip", "PIP_EXTRA_INDEX_URL", "https://mirror.example.org/ https://me:CANARY@mirror.example.org/"},
		{"go", "GOPROXY", "https://mirror.example.org,https://me:CANARY@mirror.example.org,direct"},
		{"go", "GOSUMDB", "sum.example.org https://me:CANARY@mirror.example.org"},
		{"cargo", CargoIndex, "sparse+https://me:CANARY@mirror.example.org/"},
	} {
		p, _ := Find(c.preset)
		settings := map[string]string{"PIP_INDEX_URL": "https://mirror.example.org/", "GOPROXY": "https://mirror.example.org/"}
		settings[c.variable] = c.value
		got, ok := p.Registry(settings)
		if !ok || len(got.Env) > 0 || strings.Contains(got.Refused, "CAN") || !strings.Contains(got.Refused, "--env "+c.variable+"=URL") || !strings.Contains(got.Refused, "--secret") {
			t.Errorf("%s: %+v", c.value, got)
		}
	}
}

func TestARegistryThatNoSandboxReachesIsNotPassedOn(t *testing.T) {
	p, _ := Find("npm")
	for value, why := range map[string]string{
		"http://localhost:4873/":       "has no domain",
		"http://127.0.0.1:4873/":       "127.0.0.1",
		"https://10.1.2.3/npm/":        "10.1.2.3",
		"file:///srv/npm":              "not at an http address",
		"https://*.example.org/":       "*.example.org",
		"https://mirror.exam\x01ple/":  "not at an http address",
		"https://mirror.example.org:0": "0",
	} {
		got, ok := p.Registry(map[string]string{"npm_config_registry": value})
		if !ok || len(got.Env) > 0 || !strings.Contains(got.Refused, why) {
			t.Errorf("%q: %+v", value, got)
		}
	}
}

// A tool that the image or --env has set up keeps its registry, and so does one that cannot
// say whether it is set up.
func TestAToolIsAskedWhetherItHasARegistryOfItsOwn(t *testing.T) {
	const goTool = `#!/bin/sh
[ "$GOENV" = off ] || GOPROXY=${GOPROXY:-$WRITTEN}
echo "${GOPROXY:-https://proxy.example.org}"
echo "${GOSUMDB:-sum.example.org}"
`
	for name, c := range map[string]struct {
		preset, program, script string
		env                     []string
		none                    bool
	}{
		"npm without":         {"npm", "npm", "#!/bin/sh\necho '; \"user\" config from /root/.npmrc\n\nmetrics-registry = \"https://a.example/\"\n@acme:registry = \"https://a.example/\"'\n", nil, true},
		"npm with":            {"npm", "npm", "#!/bin/sh\necho '; \"global\" config from /etc/npmrc\n\nregistry = \"https://a.example/\"'\n", nil, false},
		"npm with two":        {"npm", "npm", "#!/bin/sh\necho '; registry = \"https://a.example/\" ; overridden by env'\n", nil, false},
		"npm that fails":      {"npm", "npm", "#!/bin/sh\nexit 1\n", nil, false},
		"pip without":         {"pip", "python3", "#!/bin/sh\necho \"global.cert='/etc/ssl'\"\n", nil, true},
		"pip with":            {"pip", "python3", "#!/bin/sh\necho \"global.index-url='https://a.example'\"\n", nil, false},
		"pip by a variable":   {"pip", "python3", "#!/bin/sh\necho \":env:.extra-index-url='https://a.example'\"\n", nil, false},
		"no pip":              {"pip", "python3", "#!/bin/sh\nexit 1\n", nil, false},
		"go without":          {"go", "go", goTool, nil, true},
		"go by a variable":    {"go", "go", goTool, []string{"GOPROXY=https://a.example"}, false},
		"go env -w":           {"go", "go", goTool, []string{"WRITTEN=https://a.example"}, false},
		"go with a database":  {"go", "go", goTool, []string{"GOSUMDB=off"}, false},
		"go that fails":       {"go", "go", "#!/bin/sh\nexit 1\n", nil, false},
		"cargo without":       {"cargo", "config.toml", "[net]\nretry = 1\n", nil, true},
		"cargo with":          {"cargo", "config.toml", "[source.crates-io]\nreplace-with = 'mirror'\n", nil, false},
		"cargo by a variable": {"cargo", "config.toml", "", []string{"CARGO_REGISTRIES_OWN_INDEX=https://a.example"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for file, content := range map[string]string{"cargo": "#!/bin/sh\n", c.program: c.script} {
				if err := os.WriteFile(filepath.Join(home, file), []byte(content), 0o700); err != nil { //nolint:gosec // programs
					t.Fatal(err)
				}
			}
			p, _ := Find(c.preset)
			argv := p.OwnQuery()
			program := exec.Command(argv[0], argv[1:]...)
			program.Env = append([]string{"PATH=" + home + ":/usr/bin:/bin", "HOME=/nonexistent", "CARGO_HOME=" + home}, c.env...)
			output, err := program.Output()
			if got := err == nil && HasNone(output); got != c.none {
				t.Errorf("has none: %v (%q, %v)", got, output, err)
			}
		})
	}
}
