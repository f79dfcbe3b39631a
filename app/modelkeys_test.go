package app

import (
	"testing"

	"aibox/internal/secret"
)

func TestATypedKeyIsUsedInPlaceOfTheEnvironmentsAndNotStoredThere(t *testing.T) {
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
