package agentsession

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/app/run"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/netguard/preset"
	"aibox/review/reviewtest"
	"aibox/session"
	"aibox/session/manager"
	"aibox/workspace"
)

// newService returns the use cases for a folder with these sessions.
func newService(t *testing.T, policy Policy, specs ...session.Spec) *Service {
	t.Helper()
	home := t.TempDir()
	dirs := paths.Dirs{Home: home, State: home + "/state", Data: home + "/data", Cache: home + "/cache", Runtime: home + "/run", Workspace: home + "/w"}
	for _, spec := range specs {
		dir := filepath.Join(dirs.Sessions(), string(spec.ID))
		if err := paths.MakePrivate(dir); err != nil {
			t.Fatal(err)
		}
		for file, value := range map[string]any{"spec.json": spec, "state.json": session.State{Phase: session.Ended, Result: &session.Result{}}} {
			data, err := json.Marshal(value)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, file), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return &Service{
		Sessions: manager.New(manager.Deps{Dirs: dirs}), Policy: policy,
		Runner: func() *run.Runner { t.Error("a run was resolved"); return nil },
		Trees:  Trees{Dir: home + "/trees", InUse: func(string) bool { return false }},
	}
}

func named(id session.ID, repository string, tenant session.Tenant) session.Spec {
	return session.Spec{ID: id, Agent: "codex", Repository: repository, Tenant: tenant}
}

func TestATenantSeesNoSessionOfAnotherTenant(t *testing.T) {
	specs := []session.Spec{
		named("00001-codex", "/r", ""), named("00002-codex", "/r", "ann"), named("00003-codex", "/r", "ben"),
		{ID: "00004-sandbox", Agent: "sandbox", Repository: "/r", Sandbox: &session.SandboxSpec{Tenant: "ann"}},
	}
	for tenant, own := range map[session.Tenant]session.ID{session.LocalTenant: "00001-codex", "ann": "00002-codex", "ben": "00003-codex"} {
		s := newService(t, Policy{Tenant: tenant, AnyRepository: true}, specs...)
		if all := s.List(); len(all) != 1 || all[0].ID != own {
			t.Errorf("%s lists %d sessions", tenant, len(all))
		}
		missing := strings.ReplaceAll(s.everyCall(t, "00009-codex"), "00009", "N")
		for _, spec := range specs {
			if spec.ID == own {
				continue
			}
			if got := strings.ReplaceAll(s.everyCall(t, spec.ID), string(spec.ID)[:5], "N"); strings.ReplaceAll(got, "N-sandbox", "N-codex") != missing {
				t.Errorf("%s gets for %s\n%s\nnot\n%s", tenant, spec.ID, got, missing)
			}
		}
	}
	if all := newService(t, Policy{AnyRepository: true}, specs...).List(); len(all) != 0 {
		t.Errorf("no tenant lists %d sessions", len(all))
	}
}

// everyCall calls each method that takes a session, and returns the errors.
func (s *Service) everyCall(t *testing.T, id session.ID) string {
	t.Helper()
	ctx := t.Context()
	var all []string
	note := func(err error) {
		if fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: call %d returns %v", id, len(all), err)
		}
		all = append(all, err.Error()+strings.Join(fault.Hints(err), ";"))
	}
	for _, call := range []func() error{
		func() error { _, err := s.Find(id); return err },
		func() error { _, err := s.Stop(ctx, id, "r", 0); return err },
		func() error { return s.Events(ctx, id, 0, nil) },
		func() error { _, err := s.Wait(ctx, id, 1, nil); return err },
		func() error { _, err := s.Live(id); return err },
		func() error { _, err := s.Transcript(id, 0, 10); return err },
		func() error { _, err := s.Changes(ctx, id); return err },
		func() error { return s.Files(ctx, id, nil, nil) },
		func() error { _, err := s.Patch(ctx, id, nil, nil); return err },
		func() error { _, err := s.Accept(ctx, id, AcceptRequest{All: true}); return err },
		func() error { _, err := s.Accept(ctx, id, AcceptRequest{All: true, Bundle: true}); return err },
		func() error { _, err := s.SendFeedback(ctx, id, Feedback{}, nil); return err },
		func() error { return s.Delete(ctx, id) },
		func() error { _, err := s.Start(ctx, Request{Resumes: id}, nil); return err },
	} {
		note(call())
	}
	return strings.Join(all, "\n")
}

func TestAPolicyBoundsRepositories(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"mine/sub", "mine-too", "other"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, "other"), filepath.Join(home, "mine/link")); err != nil {
		t.Fatal(err)
	}
	s := newService(t, Policy{Tenant: session.LocalTenant, Repositories: []string{filepath.Join(home, "mine"), "https://example.org/a.git"}})
	for repository, allowed := range map[string]bool{
		"mine": true, "mine/sub": true, "mine/../mine": true, "mine/link": false, "mine-too": false, "other": false, "mine/../other": false, ".": false, "missing": false,
	} {
		if got := s.allowsRepository(home + "/" + repository); got != allowed {
			t.Errorf("%s is allowed: %v", repository, got)
		}
	}
	for url, allowed := range map[string]bool{"https://example.org/a.git": true, "https://example.org/b.git": false, "ssh://example.org/a.git": false} {
		if got := s.allowsRepository(url); got != allowed {
			t.Errorf("%s is allowed: %v", url, got)
		}
	}
	if s := newService(t, Policy{Tenant: session.LocalTenant}); s.allowsRepository(home + "/mine") {
		t.Error("without repositories, one is allowed")
	}
}

func TestSettingsThatOnlyTheUserChoosesAreRefused(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann", AnyRepository: true})
	for _, key := range []string{"env", "secret", "inspect", "image", "inference", "inference-tools", "verify", "system", "mount", "allow-degraded", "learn"} {
		var given config.RunOverrides
		value := map[string]string{"env": "HOME", "mount": "/data:/data", "secret": "X=example.org:Authorization", "inference-tools": "web-search", "allow-degraded": "true", "learn": "true"}[key]
		if value == "" {
			value = "example.org"
		}
		if err := given.Set(key, value); err != nil {
			t.Fatal(key, err)
		}
		if err := s.checkSettings(given); fault.KindOf(err) != fault.Refused {
			t.Errorf("%s is accepted: %v", key, err)
		}
	}
}

func TestAPlanOfAnotherTenantHasNothingOfTheUser(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann"})
	plan := run.Plan{}
	plan.Launch.Spec.Env, plan.Launch.Env = []string{"TOKEN"}, []string{"TOKEN=secret"}
	plan.Launch.Spec.Mount = []string{"/home/user/data:/data"}
	plan.Launch.Registries = []preset.Registry{{Preset: "npm", Env: []string{"npm_config_registry=https://mirror.example.org/"}}}
	plan.Launch.Spec.Prompts = []session.SystemPrompt{{Name: "mine", Text: "private"}}
	if err := s.separate(&plan, nil); err != nil {
		t.Fatal(err)
	}
	if l := plan.Launch; l.Env != nil || l.Registries != nil || l.Spec.Env != nil || l.Spec.Mount != nil || l.Spec.Prompts != nil || l.Spec.Tenant != "ann" {
		t.Errorf("the plan is %+v", l)
	}
	for name, spoil := range map[string]func(*run.Plan){
		"an account at a vendor": func(p *run.Plan) { p.Launch.Spec.CloudHosts = []string{"example.org"} },
		"a login":                func(p *run.Plan) { p.Login = &agents.Info{Name: "cursor"} },
		"the key of a login":     func(p *run.Plan) { p.Launch.Login = "CURSOR_API_KEY=x" },
		"a secret of the agent":  func(p *run.Plan) { p.Launch.Secrets = map[string]string{"key": "x"} },
		"an injected secret":     func(p *run.Plan) { p.Launch.Spec.Secret = []string{"X=example.org:Authorization"} },
	} {
		plan := run.Plan{}
		spoil(&plan)
		if err := s.separate(&plan, nil); fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheUsageOfASessionIsCountedBeforeItIsDeleted(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann", AnyRepository: true}, named("00002-codex", "/r", "ann"))
	counted, failure := 0, fault.New(fault.Environment, "no database")
	s.Count = func(_ context.Context, tenant session.Tenant) error {
		if _, err := s.Find("00002-codex"); err != nil || tenant != "ann" {
			t.Errorf("the usage of %s is counted too late: %v", tenant, err)
		}
		if counted++; counted == 1 {
			return failure
		}
		return nil
	}
	if err := s.Delete(t.Context(), "00002-codex"); !errors.Is(err, failure) {
		t.Errorf("without a count: %v", err)
	}
	if err := s.Delete(t.Context(), "00002-codex"); err != nil || counted != 2 {
		t.Errorf("it was counted %d times: %v", counted, err)
	}
	if _, err := s.Find("00002-codex"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("it was not deleted: %v", err)
	}
}

func TestADeletionThatCannotSaveTheWorkNamesNoPathOfTheHost(t *testing.T) {
	for tenant, local := range map[session.Tenant]bool{session.LocalTenant: true, "ann": false} {
		repo := filepath.Join(t.TempDir(), "project")
		reviewtest.CommitIn(t, repo, map[string]string{"a.txt": "one\n"})
		const id = "00002-codex"
		s := newService(t, Policy{Tenant: tenant, AnyRepository: true}, named(id, repo, tenant))
		home := filepath.Dir(s.Trees.Dir)
		ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: id, Dirs: paths.Dirs{
			Home: home, State: home + "/state", Data: home + "/data", Cache: home + "/cache", Runtime: home + "/run", Workspace: home + "/w",
		}})
		reviewtest.Must(t, err)
		state, err := json.Marshal(session.State{Phase: session.Ended, Workspace: ws, Result: &session.Result{}})
		reviewtest.Must(t, err)
		reviewtest.Write(t, filepath.Join(home, "state/sessions", id, "state.json"), string(state))
		reviewtest.Write(t, ws.Baseline, "damaged")
		err = s.Delete(t.Context(), id)
		if text := fmt.Sprint(err, fault.Hints(err)); err == nil || strings.Contains(text, home) != local || !strings.Contains(text, "aibox rm --force "+id) {
			t.Errorf("%s: %s", tenant, text)
		}
		if _, err := s.Find(id); err != nil {
			t.Errorf("%s: it was deleted: %v", tenant, err)
		}
	}
}
