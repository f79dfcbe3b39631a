package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// npmRegistry serves the description of one package.
func npmRegistry() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /npm/small", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "small", "dist-tags": map[string]string{"latest": "1.2.3"},
			"versions": map[string]any{"1.2.3": map[string]string{"name": "small", "version": "1.2.3"}},
		})
	})
	return mux
}

// The preset npm allows the registry of the user's own npm, and the npm of the sandbox uses
// it, also from a login shell, unless the image or --env sets another one. A registry with a
// password does not enter the sandbox.
func TestTheToolsOfASandboxUseTheRegistryOfTheUsersTools(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	mine, other := newOutside(t, npmRegistry()), newOutside(t, npmRegistry())
	const trust = "\nCOPY *.crt /usr/local/share/ca-certificates/\nRUN update-ca-certificates\n"
	plain := m.image("no-registry", "FROM "+strings.TrimSpace(m.aibox(0, "bake", "base").stdout)+trust, map[string]string{"mine.crt": mine.CA, "other.crt": other.CA})
	own := m.image("own-registry", "FROM "+plain+"\nRUN npm config set --location=global registry=https://"+other.Name+"/npm/\n", nil)
	model := m.script("[[step]]\nsay = \"hello\"\n")
	repo := m.repo("p", map[string]string{"ask.sh": "npm view small version\nenv -i PATH=\"$PATH\" HOME=\"$HOME\" sh -lc 'npm view small version'\n"})
	m.env = append(m.env, "npm_config_registry=https://"+mine.Name+"/npm/")
	run := func(image string, more ...string) outcome {
		return m.aibox(0, append([]string{"run", "shell", "--image", image, "--allow", "npm", "--inference", model, "--repo", repo}, more...)...)
	}

	o := run(plain, "--", "sh", "ask.sh")
	if o.stdout != "1.2.3\n1.2.3\n" || !strings.Contains(o.stderr, "npm: "+mine.Name+" ") || !mine.requested("/npm/small") || other.asked() != "" {
		t.Errorf("the npm of the sandbox did not use the registry of this machine: %s\n%q, %q", o, mine.asked(), other.asked())
	}
	before := mine.asked()
	for _, o := range []outcome{
		run(own, "--", "npm", "view", "small", "version"),
		run(plain, "--env", "npm_config_registry=https://"+other.Name+"/npm/", "--", "npm", "view", "small", "version"),
	} {
		if o.stdout != "1.2.3\n" || !strings.Contains(o.stderr, "npm: "+other.Name+" ") {
			t.Errorf("the npm of the sandbox did not keep its own registry: %s", o)
		}
	}
	if asked := mine.asked(); asked != before {
		t.Errorf("a registry that no sandbox is set up for was asked for %q", asked)
	}

	m.env = append(m.env, "npm_config_registry=https://me:CANARY@"+mine.Name+"/npm/")
	o = run(plain, "--deny", "*", "--", "sh", "-c", "env; npm config list")
	if strings.Contains(o.stdout+o.stderr, "CANARY") || strings.Contains(o.stdout, mine.Name) || strings.Count(o.stderr, "has a password or a key in its URL") != 1 {
		t.Errorf("a registry with a password: %s", o)
	}
}
