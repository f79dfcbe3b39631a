package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/secret"
)

const canaryOfLogin = "canary-3b1f77c0"

// loggedIn returns settings of a user who is logged in to Cursor and to Claude Code, and has
// accepted their hosts.
func loggedIn(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(canaryOfLogin+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	login := "key-file = \"" + file + "\"\n"
	return acceptedCloud("cursor", "cursor.com", "*.cursor.sh") + "\n" + login +
		acceptedCloud("claude", "api.anthropic.com", "platform.claude.com", "claude.ai") + "\n" + login
}

// loginOf returns the variable of a login that a request's session gets.
func loginOf(t *testing.T, user string, r Request) (Plan, string) {
	t.Helper()
	plan, err := runner(&world{user: userOf(t, user)}).Resolve(r)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Launch.Login != "" {
		t.Error("the check reads the key")
	}
	if err := plan.readLogin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plan, plan.Launch.Login
}

func TestARunInTheVendorsCloudGetsTheStoredKeyAndNoOtherRunDoes(t *testing.T) {
	user := loggedIn(t)
	cloud := map[string]string{"inference": "cloud"}
	with := func(own map[string]string, env ...string) Request {
		r := Request{Agent: "claude", Prompt: "p", Settings: overrides(t, own)}
		if err := r.Settings.SetWords("env", env); err != nil {
			t.Fatal(err)
		}
		return r
	}
	cursor := func(text string) Request {
		return Request{Agent: "cursor", Prompt: "p", Secrets: map[string]secret.Value{"cursor-api-key": secret.New(text)}}
	}
	for name, c := range map[string]struct {
		request Request
		want    string
	}{
		"the cloud":                     {with(cloud), "ANTHROPIC_API_KEY=" + canaryOfLogin},
		"another variable":              {with(cloud, "TZ=UTC"), "ANTHROPIC_API_KEY=" + canaryOfLogin},
		"the variable of this run":      {with(cloud, "ANTHROPIC_API_KEY=mine"), ""},
		"a model server":                {with(map[string]string{"inference": "http://127.0.0.1:1/v1"}), ""},
		"an agent of the cloud only":    {Request{Agent: "cursor", Prompt: "p"}, "CURSOR_API_KEY=" + canaryOfLogin},
		"its own secret option":         {cursor("mine"), ""},
		"an empty one":                  {cursor(""), "CURSOR_API_KEY=" + canaryOfLogin},
		"a command in place of a agent": {Request{Agent: "shell", Args: []string{"env"}}, ""},
	} {
		plan, got := loginOf(t, user, c.request)
		if got != c.want {
			t.Errorf("%s: the login is %q, not %q", name, got, c.want)
		}
		spec, err := json.Marshal(plan.Launch.Spec)
		if err != nil {
			t.Fatal(err)
		}
		preview, _ := runner(new(world)).Preview(plan)
		again, err := FromSession(plan.Launch.Spec)
		all := string(spec) + preview + strings.Join(again.CommandLine(nil), " ") + strings.Join(plan.Launch.Env, " ")
		if err != nil || strings.Contains(all, canaryOfLogin) {
			t.Errorf("%s: the key is in %s, %v", name, all, err)
		}
		if strings.Contains(strings.Join(again.CommandLine(nil), " "), "CURSOR_API_KEY") {
			t.Errorf("%s: a rerun needs the variable", name)
		}
	}
}

func TestTheVariableOfTheEnvironmentOverridesTheLoginOfAnAgentThatReadsIt(t *testing.T) {
	t.Setenv("CURSOR_API_KEY", "of the environment")
	plan, login := loginOf(t, loggedIn(t), Request{Agent: "cursor", Prompt: "p"})
	if login != "" || plan.Launch.Secrets["cursor-api-key"] != "of the environment" {
		t.Errorf("the login is %q, the secrets are %q", login, plan.Launch.Secrets)
	}
}

func TestARunWithoutAKeyNamesTheLogin(t *testing.T) {
	hosts := acceptedCloud("cursor", "cursor.com", "*.cursor.sh")
	for name, c := range map[string]struct {
		user    string
		request Request
		want    string
	}{
		"hosts not accepted": {"", Request{Agent: "cursor", Prompt: "p"}, "aibox login cursor"},
		"no key":             {hosts, Request{Agent: "cursor", Prompt: "p"}, "aibox login cursor"},
		"a variable":         {hosts, Request{Agent: "cursor", Prompt: "p", Settings: overrides(t, map[string]string{"env": "A=b"})}, ""},
		"on a terminal":      {hosts, Request{Agent: "cursor", Interactive: true}, ""},
		"an own image":       {hosts, Request{Agent: "cursor", Prompt: "p", Settings: overrides(t, map[string]string{"image": "mine"})}, ""},
		"arguments":          {hosts, Request{Agent: "cursor", Prompt: "p", Args: []string{"--api-key-file", "x"}}, ""},
	} {
		_, err := runner(&world{user: userOf(t, c.user)}).Resolve(c.request)
		if (err != nil) != (c.want != "") || !strings.Contains(strings.Join(fault.Hints(err), "\n"), c.want) {
			t.Errorf("%s: %v, %q", name, err, fault.Hints(err))
		}
	}
}

func TestALoginWhoseKeyCannotBeReadStartsNothingAndRepeatsNoKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for source, want := range map[string]string{
		`key-file = "` + write("readable", canaryOfLogin, 0o644) + `"`:                                   "chmod 600",
		`key-file = "` + write("two", canaryOfLogin+"\n"+canaryOfLogin, 0o600) + `"`:                     "more than one line",
		`key-file = "` + write("control", canaryOfLogin+"\x1b", 0o600) + `"`:                             "control character",
		`key-file = "` + write("long", strings.Repeat(canaryOfLogin, 1000), 0o600) + `"`:                 "bytes",
		`key-file = "` + write("empty", "", 0o600) + `"`:                                                 "is empty",
		`key-file = "` + filepath.Join(dir, "none") + `"`:                                                "no such file",
		`key-command = "` + write("failing", "#!/bin/sh\necho "+canaryOfLogin+"; exit 1\n", 0o700) + `"`: "failed",
	} {
		user := acceptedCloud("cursor", "cursor.com", "*.cursor.sh") + "\n" + source + "\n"
		r := runner(&world{user: userOf(t, user)})
		plan, err := r.Resolve(Request{Agent: "cursor", Prompt: "p"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Start(t.Context(), plan, Callbacks{})
		text := ""
		if err != nil {
			text = err.Error() + "\n" + strings.Join(fault.Hints(err), "\n")
		}
		if !strings.Contains(text, want) || !strings.Contains(text, "aibox login cursor") || strings.Contains(text, canaryOfLogin) {
			t.Errorf("%s: %s", source, text)
		}
	}
}

func TestARepositoryCannotSetALogin(t *testing.T) {
	user := loggedIn(t)
	for _, text := range []string{
		"[agents.cursor]\nkey-file = \"/etc/hostname\"", "[agents.cursor]\nkey-command = \"touch /tmp/x\"", "agents.cursor.key-file = \"\"",
		"[agents.codex]\nkey-command = \"touch /tmp/x\"", "[agents.opencode]\nkey-file = \"/etc/hostname\"", "env = [\"CURSOR_API_KEY\"]",
	} {
		w := &world{user: userOf(t, user), repository: repositoryOf(t, text)}
		if _, err := runner(w).Resolve(Request{Agent: "cursor", Prompt: "p"}); fault.KindOf(err) != fault.Usage {
			t.Errorf("a repository sets %q: %v", text, err)
		}
	}
}
