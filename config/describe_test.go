package config

import "testing"

func TestEverySettingDescribesItsValues(t *testing.T) {
	r, err := resolve("timeout = \"20m\"\n", "")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][3]string{
		"timeout":                 {"", "a duration, such as 90s, 20m, 2h or 30d", "1h"},
		"pids":                    {"", "a whole number, from 0 to 4194304", "4096"},
		"network":                 {"", "none, local, allowlist, public", "local"},
		"clean":                   {"", "true or false", "false"},
		"hide":                    {"", `PATTERN; several separated by commas, or a list such as ["one", "two"]`, ""},
		"ssh-agent":               {"", `USER@HOST; several separated by commas, or a list such as ["one", "two"]`, ""},
		"model":                   {"", "the name of a model", ""},
		"agents.painter.layers":   {"agents.painter", "a whole number, from 1 to 9", "3"},
		"agents.painter.key":      {"agents.painter", "no value in a file: set it as an environment variable", ""},
		"images.versions.painter": {"images.versions", "text", ""},
	} {
		setting, err := r.Find(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]string{setting.Section(), setting.Takes(), setting.Default()}; got != want {
			t.Errorf("%s: %q, not %q", key, got, want)
		}
	}
	timeout, _ := r.Find("timeout")
	t.Setenv("HOME", "/home/ann")
	if got := timeout.Origin(); got != "~/config.toml:1" {
		t.Error(got)
	}
	t.Setenv("HOME", "/home/bob")
	if got := timeout.Origin(); got != "/home/ann/config.toml:1" {
		t.Error(got)
	}
}
