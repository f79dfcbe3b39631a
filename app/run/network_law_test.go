package run

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"aibox/config"
	"aibox/netguard"
)

// layer is the network part of a settings file, by table.
type layer map[string]map[string][]string

var (
	drawnTables = []string{"", "agents.shell."}
	drawnAllow  = []string{"example.org", "*.example.org", "a.example.org:22", "example.org:*", "github", "gitlab", "http://example.org/v1/*", "POST http://*.example.org", "http://a.example.org/v1/*"}
	drawnDeny   = []string{"example.org", "*.example.org", "a.example.org:22", "*", "github.com"}
)

// drawnLayer returns a random file of the user or, if base is not nil, one of the
// repository that is mostly stricter than base.
func drawnLayer(t *rapid.T, label string, base layer) layer {
	l := layer{}
	for _, table := range drawnTables {
		l[table] = map[string][]string{}
		draw := func(key string, words []string) {
			switch rapid.IntRange(0, 3).Draw(t, label+table+key) {
			case 0:
			case 1:
				l[table][key] = rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(t, label+table+key+" words")
			default:
				for _, from := range []string{table, ""} {
					if words := base[from][key]; base != nil && len(words) > 0 {
						l[table][key] = rapid.SliceOfN(rapid.SampledFrom(words), 0, len(words)).Draw(t, label+table+key+" kept")
						return
					}
				}
				if base == nil {
					l[table][key] = rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(t, label+table+key+" words")
				}
			}
		}
		draw("allow", drawnAllow)
		draw("deny", drawnDeny)
		modes := []string{"allowlist", "public"}
		if base != nil {
			modes = []string{"local", "allowlist", "public"}
		}
		if base == nil || rapid.Bool().Draw(t, label+table+"network") {
			l[table]["network"] = []string{rapid.SampledFrom(modes).Draw(t, label+table+"mode")}
		}
	}
	return l
}

func (l layer) String() string {
	var file strings.Builder
	for _, table := range drawnTables {
		for _, key := range []string{"network", "allow", "deny"} {
			words, given := l[table][key]
			switch {
			case !given:
			case key == "network":
				fmt.Fprintf(&file, "%s%s = %q\n", table, key, words[0])
			default:
				fmt.Fprintf(&file, "%s%s = [", table, key)
				for _, word := range words {
					fmt.Fprintf(&file, "%q, ", word)
				}
				file.WriteString("]\n")
			}
		}
	}
	return file.String()
}

// policyFrom resolves the policy of the agent shell; false if the settings are refused.
func policyFrom(t *rapid.T, user, repository string) (netguard.Policy, bool) {
	w := &world{}
	for _, file := range []struct {
		text string
		kind config.Kind
		to   **config.Document
	}{{user, config.UserFile, &w.user}, {repository, config.RepositoryFile, &w.repository}} {
		document, err := config.Parse(file.kind, "file", []byte(file.text))
		if err != nil {
			t.Fatal(err)
		}
		*file.to = document
	}
	plan, err := runner(w).ResolveDefaults(Request{Agent: "shell"})
	if err != nil {
		return netguard.Policy{}, false
	}
	policy, _, err := plan.Launch.Spec.Policy()
	if err != nil {
		t.Fatal(err)
	}
	return policy, true
}

// With any settings, no request is allowed with the repository's file that is refused
// without it.
func TestARepositoryAllowsNoRequestThatTheUserRefuses(t *testing.T) {
	counted := 0
	rapid.Check(t, func(t *rapid.T) {
		own := drawnLayer(t, "user ", nil)
		user, repository := own.String(), drawnLayer(t, "repository ", own).String()
		without, ok := policyFrom(t, user, "")
		if !ok {
			return
		}
		with, ok := policyFrom(t, user, repository)
		if !ok {
			return
		}
		counted++
		before, after := netguard.NewMatcher(without), netguard.NewMatcher(with)
		for _, host := range []string{"example.org", "a.example.org", "b.a.example.org", "github.com", "api.github.com", "gitlab.com", "example.net"} {
			for _, port := range []uint16{443, 80, 22} {
				parsed, err := netguard.ParseHost(host)
				if err != nil {
					t.Fatal(err)
				}
				d := netguard.Destination{Host: parsed, Port: port}
				for _, method := range []string{"GET", "POST"} {
					for _, path := range []string{"/", "/v1/x"} {
						r := netguard.Request{Destination: d, Method: method, Path: path, TLS: port == 443}
						now, _ := after.DecideRequest(r)
						was, _ := before.DecideRequest(r)
						if now.Allowed && !was.Allowed || now.Allowed && !now.Restricted() && was.Restricted() {
							t.Fatalf("%+v is allowed by %v, and was %v\nuser:\n%s\nrepository:\n%s", r, now.Rule, was.Reason, user, repository)
						}
					}
				}
			}
		}
	})
	if counted == 0 {
		t.Error("no repository's file was accepted")
	}
}

func TestAnAgentsOwnPolicyTakesPrecedenceOverTheGeneralOne(t *testing.T) {
	for name, c := range map[string]struct {
		user, repository, network, allow, deny string
	}{
		"the user's":                 {"network = \"local\"\nallow = [\"npm\"]\ndeny = [\"a.example.org\"]\n[agents.shell]\nnetwork = \"allowlist\"\nallow = [\"pip\"]\ndeny = [\"b.example.org\"]", "", "allowlist", "pip", "a.example.org,b.example.org"},
		"of another agent":           {"[agents.codex]\nnetwork = \"public\"", "", "local", "", ""},
		"the repository's":           {"network = \"public\"", "[agents.shell]\nnetwork = \"none\"", "none", "", ""},
		"the repository's is looser": {"network = \"public\"\n[agents.shell]\nnetwork = \"none\"", "network = \"allowlist\"", "none", "", ""},
		"an empty list":              {"network = \"allowlist\"\nallow = [\"npm\"]\n[agents.shell]\nallow = []", "", "allowlist", "", ""},
		"a part of the list":         {"network = \"allowlist\"\nallow = [\"npm\", \"go\"]\n[agents.shell]\nallow = [\"npm\", \"pip\"]", "allow = [\"npm\", \"go\"]", "allowlist", "npm", ""},
		"a host below a wildcard":    {"network = \"allowlist\"\nallow = [\"*.example.org\"]", "allow = [\"git.example.org\"]", "allowlist", "git.example.org", ""},
	} {
		plan, err := resolved(t, c.user, c.repository, nil)
		spec := plan.Launch.Spec
		if err != nil || spec.Network != c.network || strings.Join(spec.Allow, ",") != c.allow || strings.Join(spec.Deny, ",") != c.deny {
			t.Errorf("%s: %s, %q, %q, %v", name, spec.Network, spec.Allow, spec.Deny, err)
		}
	}
	for _, file := range []string{"[agents.shell]\nnetwork = \"public\"", "[agents.shell]\nallow = [\"npm\"]", "[agents.shell]\ncloud = true", "[agents.shell]\ncloud = [\"example.org\"]", "[agents.codex]\nnetwork = \"allowlist\""} {
		if _, err := resolved(t, "", file, nil); err == nil || !strings.Contains(err.Error(), ".aibox.toml:2:") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
