package app

import (
	"testing"

	"aibox/internal/secret"
)

func TestATypedKeyReplacesTheOneOfTheEnvironmentWithoutChangingIt(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "of-the-environment")
	t.Setenv("ANTHROPIC_API_KEY", "")
	a := New(nil)
	if got := a.ModelKeys()["OPENAI_API_KEY"]; got != "of-the-environment" {
		t.Errorf("got %q", got)
	}
	a.FirstRun().UseKey("OPENAI_API_KEY", secret.New("typed-0123456789"))
	a.FirstRun().UseKey("OPENROUTER_API_KEY", secret.New("typed-9876543210"))
	keys := a.ModelKeys()
	if keys["OPENAI_API_KEY"] != "typed-0123456789" || keys["OPENROUTER_API_KEY"] != "typed-9876543210" {
		t.Errorf("got %d keys", len(keys))
	}
	if got := New(nil).ModelKeys()["OPENAI_API_KEY"]; got != "of-the-environment" {
		t.Errorf("the typed key has reached the environment: %q", got)
	}
}

func TestTheFirstRunKnowsWhichKeysWereTyped(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("OPENAI_API_KEY", "of-the-environment")
	for _, name := range []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"} {
		t.Setenv(name, "")
	}
	f := New(nil).FirstRun()
	f.UseKey("OPENROUTER_API_KEY", secret.New("typed-9876543210"))
	found, err := f.Models(t.Context(), "opencode")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found.Servers {
		wantKey, wantTyped := s.Inference == "openai" || s.Inference == "openrouter", s.Inference == "openrouter"
		if !s.Local && (s.HasKey != wantKey || s.Typed != wantTyped || s.NeedsKey() == wantKey) {
			t.Errorf("%+v", s)
		}
	}
	agents, err := f.Agents(t.Context())
	if err != nil || len(agents) < 5 {
		t.Fatalf("%d agents, %v", len(agents), err)
	}
	if err := f.Keep(t.Context(), "agent", "codex"); err != nil {
		t.Fatal(err)
	}
	if agents, _ := f.Agents(t.Context()); agents[0].Name != "codex" || !agents[0].Default {
		t.Errorf("the default agent is not first: %+v", agents[0])
	}
	for _, agent := range agents {
		if agent.Name == "shell" || agent.Name == "amp" {
			t.Errorf("%s is offered", agent.Name)
		}
	}
}
