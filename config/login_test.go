package config

import (
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestALoginComesFromTheUsersSettingsOnly(t *testing.T) {
	const user = "[agents.painter]\nkey-file = \"~/key\"\n"
	r, err := resolve(user, "")
	if err != nil || len(r.Logins) != 1 || r.Logins["painter"].File != "~/key" {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = resolve("", "", "AIBOX_AGENTS_PAINTER_KEY_COMMAND=pass show painter"); err != nil || r.Logins["painter"].Command != "pass show painter" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{
		"[agents.painter]\nkey-file = \"/etc/passwd\"", "[agents.painter]\nkey-command = \"touch /tmp/x\"", "agents.painter.key-file = \"\"", "[agents]\npainter = {key-command = \"true\"}",
	} {
		for _, own := range []string{user, ""} {
			if _, err := resolve(own, text); fault.KindOf(err) != fault.Usage {
				t.Errorf("a repository sets %q: %v", text, err)
			}
		}
	}
	for text, want := range map[string]string{
		user + "key-command = \"true\"":             "both a key-file and a key-command",
		"[agents.shell]\nkey-file = \"/a\"":         "unknown setting",
		"[agents.painter]\nkey-file = [\"CANARY\"]": "must be text",
	} {
		if _, err := resolve(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
