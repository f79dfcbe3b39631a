package compose

import (
	"strings"
	"testing"

	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/config"
)

func TestListsOfHostsAreCheckedInPlace(t *testing.T) {
	catalog := config.Catalog{Words: run.ListChecks()}
	resolved, err := catalog.Resolve(config.Input{})
	if err != nil {
		t.Fatal(err)
	}
	place := &Place{Settings: resolved}
	draft := config.Defaults()
	draft.Env = []string{"NAME=VALUE"} // each run can set values
	fields, err := spec.Of(&draft)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if err := place.CheckSetting(&draft, field); err != nil {
			t.Errorf("%s: %v", field.Key, err)
		}
	}
	draft.Allow, draft.Deny, draft.Inspect, draft.Secret = []string{"nmp"}, []string{"npm"}, []string{"*"}, []string{"x"}
	for _, key := range []string{"allow", "deny", "inspect", "secret"} {
		field, err := spec.Find(fields, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := place.CheckSetting(&draft, field); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", key, err)
		}
	}
}
