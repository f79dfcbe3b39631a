package login_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/app"
	"aibox/app/login"
	"aibox/internal/fault"
	"aibox/internal/secret"
)

// user is a user with a home of their own.
type user struct {
	login.Logins
	t    *testing.T
	home string
}

func newUser(t *testing.T) user {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	logins, err := app.New(nil).Logins()
	if err != nil {
		t.Fatal(err)
	}
	return user{logins, t, home}
}

func (u user) path(name string) string { return filepath.Join(u.home, ".config/aibox", name) }

// has returns the content of a file; empty for none.
func (u user) has(name string) string {
	data, _ := os.ReadFile(u.path(name))
	return string(data)
}

// logsIn stores a key of Cursor.
func (u user) logsIn(text string) login.Stored {
	u.t.Helper()
	stored, err := u.Login(u.t.Context(), cursor(), login.Key{Text: secret.New(text)})
	if err != nil {
		u.t.Fatal(err)
	}
	return stored
}

func cursor() agents.Info { return (&agents.Cursor{}).Info() }

func TestALoginStoresTheKeyInAPrivateFileAndAcceptsTheHosts(t *testing.T) {
	u := newUser(t)
	if stored := u.logsIn("canary-aaaa"); stored.Replaced || stored.File != u.path("keys/cursor") {
		t.Errorf("%+v", stored)
	}
	file, err := os.Stat(u.path("keys/cursor"))
	if err != nil || file.Mode().Perm() != 0o600 || u.has("keys/cursor") != "canary-aaaa\n" {
		t.Errorf("%v, %v", file, err)
	}
	if dir, err := os.Stat(u.path("keys")); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", dir, err)
	}
	text := u.has("config.toml")
	if strings.Contains(text, "canary") || !strings.Contains(text, `key-file = "~/.config/aibox/keys/cursor"`) || !strings.Contains(text, `cloud = ["cursor.com"`) {
		t.Errorf("the settings are\n%s", text)
	}
	if source, found, err := u.Find("cursor"); !found || err != nil || source.File == "" {
		t.Errorf("%+v, %v, %v", source, found, err)
	}
	if stored := u.logsIn("canary-bbbb"); !stored.Replaced || u.has("keys/cursor") != "canary-bbbb\n" || u.has("config.toml") != text {
		t.Errorf("%+v, and the settings are\n%s", stored, u.has("config.toml"))
	}
}

func TestACommandReplacesAStoredKeyAndBack(t *testing.T) {
	u := newUser(t)
	u.logsIn("canary-aaaa")
	stored, err := u.Login(t.Context(), cursor(), login.Key{Command: "printf canary-cccc"})
	if err != nil || !stored.Replaced || stored.File != "" || u.has("keys/cursor") != "" {
		t.Errorf("%+v, %v, and the file holds %q", stored, err, u.has("keys/cursor"))
	}
	if source, found, err := u.Find("cursor"); !found || err != nil || source.Command != "printf canary-cccc" {
		t.Errorf("%+v, %v, %v", source, found, err)
	}
	u.logsIn("canary-aaaa")
	if source, _, err := u.Find("cursor"); err != nil || source.Command != "" || source.File == "" {
		t.Errorf("%+v, %v", source, err)
	}
}

func TestAKeyOrCommandThatIsNoneChangesNothing(t *testing.T) {
	u := newUser(t)
	u.logsIn("canary-aaaa")
	before := u.has("config.toml")
	for name, key := range map[string]login.Key{
		"empty":        {},
		"two lines":    {Text: secret.New("canary-dddd\ncanary-dddd")},
		"control":      {Text: secret.New("canary-\x1b[31m")},
		"blank":        {Text: secret.New("canary dddd")},
		"short":        {Text: secret.New("canary")},
		"failing":      {Command: "false"},
		"silent":       {Command: "true"},
		"no program":   {Command: "/nonexistent/program"},
		"a shell line": {Command: "echo canary-dddd | cat"},
	} {
		_, err := u.Login(t.Context(), cursor(), key)
		if err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("%s: %v", name, err)
		}
		if u.has("config.toml") != before || u.has("keys/cursor") != "canary-aaaa\n" {
			t.Errorf("%s: the key is %q, and the settings are\n%s", name, u.has("keys/cursor"), u.has("config.toml"))
		}
	}
	if _, err := u.Login(t.Context(), (&agents.OpenCode{}).Info(), login.Key{Text: secret.New("canary-dddd")}); fault.KindOf(err) != fault.Usage {
		t.Errorf("OpenCode has a login: %v", err)
	}
}

// Settings in this form cannot be changed automatically.
func TestALoginThatCannotBeWrittenLeavesNoKey(t *testing.T) {
	u := newUser(t)
	const text = "agents = {cursor = {model = \"gpt-5\"}}\n"
	if err := os.MkdirAll(u.path(""), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.path("config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := u.Login(t.Context(), cursor(), login.Key{Text: secret.New("canary-aaaa")})
	if err == nil || len(fault.Hints(err)) == 0 || u.has("keys/cursor") != "" || u.has("config.toml") != text {
		t.Errorf("%v, %q, and the key is %q", err, fault.Hints(err), u.has("keys/cursor"))
	}
}

func TestAFolderThatCannotBeWrittenIsNamed(t *testing.T) {
	u := newUser(t)
	if err := os.MkdirAll(u.path(""), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.path("keys"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := u.Login(t.Context(), cursor(), login.Key{Text: secret.New("canary-aaaa")})
	if fault.KindOf(err) != fault.Environment || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "~/.config/aibox") || u.has("config.toml") != "" {
		t.Errorf("%v, %q", err, fault.Hints(err))
	}
}

func TestALogoutRemovesTheKeyAndTheHostsAndLeavesTheUsersOwnFile(t *testing.T) {
	u := newUser(t)
	u.logsIn("canary-aaaa")
	removed, err := u.Logout(t.Context(), cursor())
	if err != nil || !removed.Found || removed.Kept != "" || !slices.Equal(removed.Hosts, cursor().Hosts) {
		t.Errorf("%+v, %v", removed, err)
	}
	if text := u.has("config.toml") + u.has("keys/cursor"); strings.Contains(text, "key") || strings.Contains(text, "cloud") {
		t.Errorf("after the logout: %s", text)
	}
	if removed, err = u.Logout(t.Context(), cursor()); err != nil || removed.Found || removed.Hosts != nil {
		t.Errorf("the second: %+v, %v", removed, err)
	}
	own := u.path("mine")
	if err := os.WriteFile(own, []byte("canary-aaaa"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.path("config.toml"), []byte("[agents.cursor]\nkey-file = \""+own+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if removed, err = u.Logout(t.Context(), cursor()); err != nil || removed.Kept != own || u.has("mine") == "" {
		t.Errorf("the user's own file: %+v, %v", removed, err)
	}
}

func TestAVariableThatSetsTheLoginIsNamed(t *testing.T) {
	u := newUser(t)
	t.Setenv("AIBOX_AGENTS_CURSOR_KEY_COMMAND", "printf canary-cccc")
	_, loginErr := u.Login(t.Context(), cursor(), login.Key{Text: secret.New("canary-aaaa")})
	_, logoutErr := u.Logout(t.Context(), cursor())
	for _, err := range []error{loginErr, logoutErr} {
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "AIBOX_AGENTS_CURSOR_KEY_COMMAND") || u.has("keys/cursor") != "" {
			t.Errorf("%v", err)
		}
	}
}

// The settings have the command already, so the login is valid.
func TestALoginWhosePreviousKeyCannotBeRemovedIsValidAndSaysSo(t *testing.T) {
	u := newUser(t)
	u.logsIn("canary-aaaa")
	if err := os.Chmod(u.path("keys"), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(u.path("keys"), 0o700) })
	stored, err := u.Login(t.Context(), cursor(), login.Key{Command: "printf canary-cccc"})
	if err != nil || stored.Left == nil || len(fault.Hints(stored.Left)) == 0 {
		t.Errorf("%+v, %v", stored, err)
	}
	if source, _, err := u.Find("cursor"); err != nil || source.Command != "printf canary-cccc" {
		t.Errorf("%+v, %v", source, err)
	}
}
