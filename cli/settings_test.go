package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app/settings"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
)

// settingsOf writes the user's and the repository's settings, and gives the
// repository; "" is no file.
func settingsOf(t *testing.T, user, repository string) string {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", "")
	file, err := settings.File()
	if err != nil {
		t.Fatal(err)
	}
	repo := t.TempDir()
	for name, text := range map[string]string{
		file: user, filepath.Join(repo, config.RepositoryName): repository, filepath.Join(repo, ".git", "HEAD"): "ref: refs/heads/main",
	} {
		if text == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return repo
}

// flags are runOptions as the command line "run FLAG…" makes them.
func flags(t *testing.T, a *cli, line ...string) *runOptions {
	t.Helper()
	o := &runOptions{}
	cmd := a.runCommand()
	cmd.ResetFlags()
	o.bind(a, cmd)
	if err := cmd.ParseFlags(line); err != nil {
		t.Fatal(err)
	}
	o.given = cmd.Flags().Changed
	return o
}

// settle settles and tells, as a run does.
func settle(a *cli, o *runOptions) error {
	told, err := a.resolveDefaults(o)
	a.tell(told)
	return err
}

func TestWhatNoFlagSaysTheSettingsSay(t *testing.T) {
	a, _, errOut := testApp(t)
	t.Setenv("TOKEN", "x")
	repo := settingsOf(t, `agent = "codex"
timeout = "30m"
model = "qwen3"
env = ["TOKEN", "AIBOX_NO_SUCH_VARIABLE"]
hide = ["*.key"]
accept = "branch"
[agents.codex]
verbosity = "low"
picture = ["a,b", "c"]
[agents.opencode]
thinking = true
`, "network = \"none\"\npids = 64\nhide = [\"vault\"]\n")
	o := flags(t, a, "--repo", repo, "--model", "other", "--set", "verbosity=high", "--hide", "mine", "--env", "PLAIN=1")
	if err := settle(a, o); err != nil {
		t.Fatal(err)
	}
	switch {
	case o.agent != "codex", o.Timeout != amount.Duration(30*time.Minute), o.Model != "other", o.Network != "none", o.Pids != 64, o.Accept != "branch":
		t.Errorf("got %+v", o)
	case !slices.Equal(o.Hide, []string{"*.key", "vault", "mine"}), !slices.Equal(o.Env, []string{"TOKEN", "PLAIN=1"}):
		t.Errorf("hides %q, passes %q on", o.Hide, o.Env)
	case !slices.Equal(o.set, []string{"verbosity=low", `picture="a,b",c`, "verbosity=high"}):
		t.Errorf("the options are %q", o.set)
	}
	if want := "! .aibox.toml: network none, pids 64, hide *.key,vault,mine\n"; errOut.String() != want {
		t.Errorf("says %q, not %q", errOut.String(), want)
	}
}

func TestWithoutSettingsTheFlagsDefaultsHold(t *testing.T) {
	a, _, errOut := testApp(t)
	want := flags(t, a, "--agent", "codex", "--repo", settingsOf(t, "", ""))
	o := flags(t, a, "--agent", "codex", "--repo", want.repo)
	if err := settle(a, o); err != nil || errOut.Len() > 0 {
		t.Fatal(err, errOut)
	}
	if o.Timeout != want.Timeout || o.ModelTimeout != want.ModelTimeout || want.ModelTimeout != amount.Duration(10*time.Minute) || o.Pids != want.Pids || o.Network != want.Network || o.Inference != want.Inference ||
		o.Accept != want.Accept || o.Clean || o.RequireChanges || len(o.set)+len(o.Hide)+len(o.Env)+len(o.System) > 0 {
		t.Errorf("got %+v, not %+v", o, want)
	}
}

func TestAResumedSessionStaysAsItWas(t *testing.T) {
	a, _, errOut := testApp(t)
	repo := settingsOf(t, "timeout = \"30m\"\nagent = \"opencode\"\n[agents.codex]\nverbosity = \"low\"\n", "network = \"none\"\nhide = [\"vault\"]\n")
	o := flags(t, a)
	old := session.Session{Spec: session.Spec{Agent: "codex", Repository: repo, Options: map[string]string{"verbosity": "high"}, Run: config.Run{Network: netguard.Local.String(), Inference: "scripted", Timeout: amount.Duration(time.Minute), Pids: 7}}}
	old.State.Phase = session.Ended
	if err := o.inherit(old); err != nil {
		t.Fatal(err)
	}
	o.resumes = "0dq4f"
	if err := settle(a, o); err != nil {
		t.Fatal(err)
	}
	if o.agent != "codex" || o.Network != "local" || o.Timeout != amount.Duration(time.Minute) || o.Pids != 7 || o.Inference != "scripted" ||
		!slices.Equal(o.set, []string{"verbosity=low", "verbosity=high"}) || errOut.Len() > 0 {
		t.Errorf("got %+v and %q", o, errOut)
	}
}

func TestADetachedRunLeavesDeliveryOut(t *testing.T) {
	a, _, _ := testApp(t)
	o := flags(t, a, "--repo", settingsOf(t, "accept = \"branch\"\nrequire-changes = true\n", ""), "--agent", "codex", "--detach")
	if err := settle(a, o); err != nil || o.Accept != "none" || o.RequireChanges {
		t.Errorf("got %q, %v, %v", o.Accept, o.RequireChanges, err)
	}
}

// A setting without a flag could not be overridden, and a flag that settle forgets
// would be lost.
func TestEverySettingOfARunIsAFlagAndIsSettled(t *testing.T) {
	a, _, _ := testApp(t)
	fields, err := spec.Of(config.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if slices.Contains([]string{"rootful", "pager", "keep"}, field.Key) { // of other commands, too
			continue
		}
		o := flags(t, a)
		if a.runCommand().PersistentFlags().Lookup(field.Key) == nil {
			t.Errorf("%s is no flag of run", field.Key)
		}
		o.given = func(flag string) bool { return flag == field.Key }
		if field.Key == "agent" || field.Key == "env" { // settle joins these itself
			continue
		}
		if given := o.overrides(); len(given) != 1 || given[0].Key != field.Key {
			t.Errorf("--%s does not reach the settings: %v", field.Key, given)
		}
	}
}

// What is not visible is not passed on. If a repository could hide an option that
// the user set to restrict an agent, it could lift the restriction.
func TestNoRestrictionIsHiddenByWhatARepositoryMaySet(t *testing.T) {
	for _, agent := range agents.Builtin().All() {
		fields, err := spec.Of(agents.Options(agent))
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fields {
			key, _, _ := strings.Cut(field.When, "=")
			i := slices.IndexFunc(fields, func(f spec.Field) bool { return f.Key == strings.TrimSuffix(key, "!") })
			if i >= 0 && field.Scope != spec.Repository && fields[i].Scope != spec.User && field.Scope != spec.User {
				t.Errorf("%s of %s depends on %s, which a repository may set", field.Key, agent.Info().Name, fields[i].Key)
			}
		}
	}
}

func TestBrokenSettingsStopRunsAndNothingElse(t *testing.T) {
	for _, line := range []string{"ls", "ls --json", "version", "help", "run --help", "config path", "config schema", "agents", "agents show codex", "prompts"} {
		a, _, _ := testApp(t)
		settingsOf(t, "timeout = ", "")
		if err := a.execute(t.Context(), strings.Fields(line)); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{"logs nosuch", "run codex --prompt x", "run codex --prompt x --detach", "bake codex", "config show", "config set timeout 1h"} {
		a, _, _ := testApp(t)
		settingsOf(t, "timeout = ", "")
		err := a.execute(t.Context(), strings.Fields(line))
		place := strings.Contains(err.Error(), "config.toml:1:10: ") && slices.Contains(fault.Hints(err), "`aibox config edit` opens it")
		if fault.KindOf(err) != fault.Usage || place != !strings.HasPrefix(line, "logs") {
			t.Errorf("%q: %v %q", line, err, fault.Hints(err))
		}
		for _, folder := range []string{".local/state/aibox", "agent_workspace"} {
			if _, err := os.Lstat(filepath.Join(os.Getenv("HOME"), folder)); err == nil {
				t.Errorf("%q leaves ~/%s behind", line, folder)
			}
		}
	}
}

func TestRootfulIsTheFlagOrTheUsersSettingAndNeverTheRepositorys(t *testing.T) {
	a, _, _ := testApp(t)
	settingsOf(t, "rootful = true", "")
	if on, err := a.app.SystemDocker(); !on || err != nil {
		t.Errorf("the user's file: %v, %v", on, err)
	}
	a.app.UseSystemDocker(false) // --rootful=false
	if on, err := a.app.SystemDocker(); on || err != nil {
		t.Errorf("the flag: %v, %v", on, err)
	}
	b, _, _ := testApp(t)
	t.Chdir(settingsOf(t, "", "rootful = true"))
	if on, err := b.app.SystemDocker(); on || err != nil {
		t.Errorf("the repository's file: %v, %v", on, err)
	}
}

func TestImagesAreBakedAsTheSettingsSay(t *testing.T) {
	a, _, errOut := testApp(t)
	settingsOf(t, "[images]\nbase = \"debian:trixie\"\n[images.versions]\ncodex = \"0.170.0\"\n", "")
	options, err := a.app.BuildOptions()
	if err != nil || options.Base != "debian:trixie" || options.Versions["codex"].String() != "0.170.0" {
		t.Errorf("got %+v, %v", options, err)
	}
	(&bakeOptions{cli: a, versions: []string{"codex=0.170.0"}, base: "debian:trixie"}).printUnsaved()
	if errOut.Len() > 0 {
		t.Errorf("says %q of what is set already", errOut)
	}
	(&bakeOptions{cli: a, versions: []string{"codex=0.171.0"}, base: "other"}).printUnsaved()
	if text := errOut.String(); !strings.Contains(text, "aibox config set images.versions.codex 0.171.0") || !strings.Contains(text, "aibox config set images.base other") {
		t.Errorf("says %q", text)
	}
}

func TestSettingsAreShownWithWhereTheyCameFrom(t *testing.T) {
	for line, want := range map[string]string{
		"config show --changed":        "SETTING  VALUE  FROM\npids     64     .aibox.toml:1\ntimeout  30m    ~/.config/aibox/config.toml:1\n",
		"config show timeout":          "timeout           30m\nfrom              ~/.config/aibox/config.toml:1\nwhat it is        End a session after this time; 0 for no limit\ntakes             a duration, such as 90s, 20m, 2h or 30d\nvariable          AIBOX_TIMEOUT\na repository may  lower it\n",
		"config show pids --json":      "{\n  \"key\": \"pids\",\n  \"value\": 64,\n  \"from\": [\n    {\n      \"kind\": \"repository\",\n      \"name\": \"REPO/.aibox.toml\",\n      \"line\": 1\n    }\n  ]\n}\n",
		"config show images --changed": "",
	} {
		a, out, _ := testApp(t)
		repo, err := filepath.EvalSymlinks(settingsOf(t, "timeout = \"30m\"", "pids = 64"))
		if err != nil {
			t.Fatal(err)
		}
		t.Chdir(repo)
		if err := a.execute(t.Context(), strings.Fields(line)); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		got := strings.Split(strings.ReplaceAll(out.String(), repo, "REPO"), "\n")
		if strings.HasSuffix(line, "--changed") && len(got) > 2 {
			slices.Sort(got[1 : len(got)-1])
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("%q prints\n%s\nand not\n%s", line, text, want)
		}
	}
	for _, line := range []string{"config show timeot", "config", "config nonsense", "config set timeout", "config set timeout soon", "config edit"} {
		a, _, _ := testApp(t)
		settingsOf(t, "", "")
		if err := a.execute(t.Context(), strings.Fields(line)); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", line, err)
		}
		if file, _ := settings.File(); exists(file) {
			t.Errorf("%q leaves a file behind", line)
		}
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

func TestSettingsThatCannotBeWrittenAreSaidPlainly(t *testing.T) {
	a, _, _ := testApp(t)
	settingsOf(t, "", "")
	file, err := settings.File()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(file)
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil { // a file where the folder would be
		t.Fatal(err)
	}
	err = a.execute(t.Context(), []string{"config", "set", "timeout", "5m"})
	if fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("got %v", err)
	}
}

func TestALinkedFileOfSettingsIsChangedWhereItIs(t *testing.T) {
	a, _, _ := testApp(t)
	settingsOf(t, "", "")
	file, err := settings.File()
	if err != nil {
		t.Fatal(err)
	}
	dotfile := filepath.Join(t.TempDir(), "aibox.toml")
	if err := os.WriteFile(dotfile, []byte("# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dotfile, file); err != nil {
		t.Fatal(err)
	}
	if err := a.execute(t.Context(), []string{"config", "set", "timeout", "5m"}); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(dotfile); string(data) != "# mine\ntimeout = \"5m\"\n" {
		t.Errorf("the file is %q", data)
	}
	if info, err := os.Lstat(file); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
}
