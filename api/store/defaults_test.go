package store

import (
	"path/filepath"
	"testing"

	"aibox/config"
	"aibox/internal/fault"
)

func TestDefaultsAreThoseOfTheirTenantAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var given config.RunOverrides
	for key, text := range map[string]string{"network": "allowlist", "allow": "", "memory": "512"} {
		if err := given.Set(key, text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.ChangeDefaults(t.Context(), "a", func(d *config.RunOverrides) error { *d = given; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ChangeQuota(t.Context(), "a", func(q *Quota) { *q = Quota{Sandboxes: 1} }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := s.Defaults(t.Context(), "a"); err != nil || !got.Equal(given) {
		t.Errorf("%q, %v", got.Keys(), err)
	}
	if got, err := s.Defaults(t.Context(), "b"); err != nil || !got.IsZero() {
		t.Errorf("another tenant: %q, %v", got.Keys(), err)
	}
}

func TestDefaultsThatCannotBeReadAreAnError(t *testing.T) {
	s := open(t)
	if _, err := s.ChangeDefaults(t.Context(), "a", func(*config.RunOverrides) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", `{"a setting of a later version": "1"}`, `{"memory": "much"}`} {
		if _, err := s.db.Exec("UPDATE tenants SET defaults = ?", text); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Defaults(t.Context(), "a"); fault.KindOf(err) != fault.Environment || !got.IsZero() {
			t.Errorf("%s: %q, %v", text, got.Keys(), err)
		}
	}
}
