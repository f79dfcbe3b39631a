package agentsession

import (
	"context"
	"errors"
	"maps"
	"testing"

	"aibox/agents"
	"aibox/app/run"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

// userFixture is a user with the settings of a file; nil means none.
type userFixture struct{ file *config.Document }

func (userFixture) Agents() agents.Set { return agents.Builtin() }

func (u userFixture) Settings(_ string, flags ...config.Override) (*config.Resolved, error) {
	catalog := config.Catalog{ReachesLess: session.ReachesLess}
	for _, agent := range agents.Builtin().All() {
		catalog.Agents = append(catalog.Agents, config.Agent{Name: agent.Info().Name, Options: agents.Options(agent), Login: agent.Info().HasLogin()})
	}
	return catalog.Resolve(config.Input{User: u.file, Flags: flags})
}

func (userFixture) SystemPrompts(string, []string) ([]session.SystemPrompt, error) { return nil, nil }
func (userFixture) ModelKeys() map[string]string                                   { return nil }

func given(t *testing.T, pairs map[string]string) (o config.RunOverrides) {
	t.Helper()
	for key, text := range pairs {
		if err := o.Set(key, text); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func TestASessionHasTheTenantsDefaultsAndIsAtMostAsFreeAsTheyOrTheUsersSettings(t *testing.T) {
	s := Service{Policy: Policy{Tenant: "ann", AnyRepository: true}}
	defaults := given(t, map[string]string{"network": "public", "timeout": "10m", "deny": "tenant.example"})
	runner := &run.Runner{User: userFixture{}}
	for name, c := range map[string]struct {
		given            map[string]string
		network, timeout string
		refused          bool
	}{
		"nothing given":                      {nil, "public", "10m", false},
		"as free as the defaults":            {map[string]string{"network": "public"}, "public", "10m", false},
		"as free as the user":                {map[string]string{"network": "local", "timeout": "1h"}, "local", "1h", false},
		"tighter":                            {map[string]string{"network": "none", "timeout": "5m"}, "none", "5m", false},
		"freer than both":                    {map[string]string{"timeout": "2h"}, "public", "2h", true},
		"partly as one, partly as the other": {map[string]string{"network": "public", "timeout": "1h"}, "public", "1h", true},
		"another denial":                     {map[string]string{"deny": "a.example"}, "public", "10m", false},
	} {
		request := Request{Agent: "codex", Repository: t.TempDir(), Settings: given(t, c.given)}
		settings, err := s.settings(defaults, request.Settings)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := runner.ResolveDefaults(run.Request{Agent: request.Agent, Repository: request.Repository, Settings: settings, Detached: true})
		if err != nil {
			t.Fatal(name, err)
		}
		got := &plan.Settings.Settings.Run
		if got.Network != c.network || got.Timeout.String() != c.timeout || got.Deny[0] != "tenant.example" {
			t.Errorf("%s: %s, %s, without %q", name, got.Network, got.Timeout, got.Deny)
		}
		if err := s.checkBound(runner, &request, settings, defaults, &plan); (err != nil) != c.refused || err != nil && fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnAllowListNarrowsThePolicyPublic(t *testing.T) {
	file, err := config.Parse(config.UserFile, "config.toml", []byte("network = \"public\"\ndeny = [\"evil.example\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := Service{Policy: Policy{Tenant: session.LocalTenant, AnyRepository: true}}
	runner := &run.Runner{User: userFixture{file}}
	for allow, refused := range map[string]bool{"a.example": false, "evil.example": false, "a.example:22": true, "npm": true} {
		for _, network := range []string{"", "allowlist"} {
			request := Request{Agent: "codex", Repository: t.TempDir(), Settings: given(t, map[string]string{"allow": allow})}
			if network != "" {
				request.Settings = given(t, map[string]string{"allow": allow, "network": network})
			}
			plan, err := runner.ResolveDefaults(run.Request{Agent: request.Agent, Repository: request.Repository, Settings: request.Settings, Detached: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := &plan.Settings.Settings.Run; got.Network != "allowlist" || len(got.Deny) != 1 {
				t.Errorf("%s: the policy is %s, denied are %q", allow, got.Network, got.Deny)
			}
			if err := s.checkBound(runner, &request, request.Settings, config.RunOverrides{}, &plan); (err != nil) != refused || err != nil && fault.KindOf(err) != fault.Refused {
				t.Errorf("%s: %v", allow, err)
			}
		}
	}
}

func TestATenantsOptionsAreAtMostAsFreeAsThoseThatTheUserHasSet(t *testing.T) {
	file, err := config.Parse(config.UserFile, "config.toml", []byte("[agents.claude]\nmax-budget = 5\ntools = [\"Read\", \"Edit\"]\ndisallowed-tools = [\"WebFetch\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := Service{Policy: Policy{Tenant: "ann", AnyRepository: true}}
	runner := &run.Runner{User: userFixture{file}}
	for name, c := range map[string]struct {
		options map[string]string
		refused bool
	}{
		"none":                  {nil, false},
		"the same":              {map[string]string{"max-budget": "5", "tools": "Read,Edit"}, false},
		"tighter":               {map[string]string{"max-budget": "1", "tools": "Read", "disallowed-tools": "WebFetch,WebSearch"}, false},
		"not set by the user":   {map[string]string{"max-turns": "100", "effort": "high"}, false},
		"a larger bill":         {map[string]string{"max-budget": "1000"}, true},
		"one more tool":         {map[string]string{"tools": "Read,Edit,Bash"}, true},
		"no list of tools":      {map[string]string{"tools": "[]"}, true},
		"a tool denied no more": {map[string]string{"disallowed-tools": "[]"}, true},
	} {
		request := Request{Agent: "claude", Repository: t.TempDir(), Options: c.options}
		plan, err := runner.ResolveDefaults(run.Request{Agent: request.Agent, Repository: request.Repository, Options: c.options, Detached: true})
		if err != nil {
			t.Fatal(name, err)
		}
		err = s.checkBound(runner, &request, config.RunOverrides{}, config.RunOverrides{}, &plan)
		if (err != nil) != c.refused || err != nil && fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATenantsAgentGetsNoTextsOfTheUsersOptions(t *testing.T) {
	file, err := config.Parse(config.UserFile, "config.toml", []byte("[agents.claude]\nmcp-config = [\"{token}\"]\nsettings = \"{mine}\"\ndisallowed-tools = [\"WebFetch\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := Service{Policy: Policy{Tenant: "ann", AnyRepository: true}}
	runner := &run.Runner{User: userFixture{file}}
	given := map[string]string{"settings": "{mine}"}
	plan, err := runner.ResolveDefaults(run.Request{Agent: "claude", Repository: t.TempDir(), Options: given, Detached: true})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Launch.Spec.Options["mcp-config"] == "" {
		t.Fatalf("the options are %v", plan.Launch.Spec.Options)
	}
	if err := s.separate(&plan, given); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"settings": "{mine}", "disallowed-tools": "WebFetch"}; !maps.Equal(plan.Launch.Spec.Options, want) {
		t.Errorf("the options are %v, not %v", plan.Launch.Spec.Options, want)
	}
}

func TestNothingIsStartedIfTheTenantsDefaultsAreUnknown(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann", AnyRepository: true})
	unreadable := errors.New("unreadable")
	s.Defaults = func(context.Context, session.Tenant) (config.RunOverrides, error) {
		return config.RunOverrides{}, unreadable
	}
	if _, err := s.Start(t.Context(), Request{Agent: "codex", Repository: t.TempDir()}, nil); !errors.Is(err, unreadable) {
		t.Error(err)
	}
}

func TestOnlyTheSessionsOfTheMachinesUserAreResolvedWithWhatIsTheUsers(t *testing.T) {
	for tenant, foreign := range map[session.Tenant]bool{session.LocalTenant: false, "ann": true} {
		runner := &run.Runner{User: userFixture{}}
		s := newService(t, Policy{Tenant: tenant, AnyRepository: true})
		s.Runner = func() *run.Runner { return runner }
		if _, err := s.Start(t.Context(), Request{Agent: "no such agent", Repository: t.TempDir()}, nil); err == nil || runner.Foreign != foreign {
			t.Errorf("%s: %v, %v", tenant, runner.Foreign, err)
		}
	}
}
