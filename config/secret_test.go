package config

import (
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestSourcesOfSecretsComeFromTheUsersFileOnly(t *testing.T) {
	const user = "[secrets.GITHUB_TOKEN]\ncommand = \"gh auth token\"\n[secrets.API_KEY]\nfile = \"~/key\"\n"
	r, err := resolve(user, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Secrets) != 2 || r.Secrets["GITHUB_TOKEN"].Command != "gh auth token" || r.Secrets["API_KEY"].File != "~/key" {
		t.Errorf("%+v", r.Secrets)
	}
	for _, text := range []string{
		"[secrets.GITHUB_TOKEN]\ncommand = \"touch /tmp/x\"\n", "[secrets.OTHER]\nfile = \"/etc/passwd\"\n", "secrets.API_KEY.file = \"/etc/passwd\"",
		"[secrets]\nAPI_KEY = {command = \"touch /tmp/x\"}\n",
	} {
		if _, err := resolve(user, text); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("a repository sets %q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"[secrets.TOKEN]\nvalue = \"sk-CANARY\"":          "unknown setting",
		"[secrets]\nTOKEN = \"sk-CANARY\"":                "unknown setting",
		"[secrets.TOKEN]\n":                               "neither a file nor a command",
		"[secrets.TOKEN]\nfile = \"/a\"\ncommand = \"b\"": "both a file and a command",
		"[secrets.my-token]\nfile = \"/a\"":               "not named like an environment variable",
	} {
		if _, err := resolve(text, ""); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSourceOfASecretIsSetAndUnsetByKey(t *testing.T) {
	file, err := catalog().With(nil, "secrets.TOKEN.command", "gh auth token")
	if err != nil {
		t.Fatal(err)
	}
	r, err := resolve(string(file), "")
	if err != nil || r.Secrets["TOKEN"].Command != "gh auth token" {
		t.Errorf("%v in %s", err, file)
	}
	if file, err = catalog().Without(parsed(t, string(file)), "secrets.TOKEN.command"); err != nil || strings.Contains(string(file), "gh auth") {
		t.Errorf("%s, %v", file, err)
	}
}
