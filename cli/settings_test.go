package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/app/settings"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"

	"github.com/spf13/cobra"
)

// settingsOf writes the user's and the repository's settings, and returns the repository; "" means
// no file.
func settingsOf(t *testing.T, user, repository string) string {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", "")
	file, err := settings.File()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(file, os.TempDir()+"/") {
		t.Fatalf("the test would write to %s: set HOME to a temporary folder first", file)
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

// requestOf returns the request of the command line "aibox WORD…".
func requestOf(t *testing.T, a *cli, words ...string) run.Request {
	t.Helper()
	root, o := a.root(), &runOptions{}
	command, rest, err := root.Find(words)
	if err != nil {
		t.Fatal(err)
	}
	own := &cobra.Command{Use: command.Use}
	o.bind(a, own)
	if command.Parent() != root {
		agent, err := a.app.Agents().Find(command.Name())
		if err != nil {
			t.Fatal(err)
		}
		o.request.Agent, o.own = agent.Info().Name, o.bindOwn(a, own, agent)
	}
	if err := own.ParseFlags(rest); err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	if err := o.read(own, own.Flags().Args()); err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	return o.request
}

// A setting without a flag could not be set for a single run.
func TestEverySettingOfARunIsAFlag(t *testing.T) {
	a, _, _ := testApp(t)
	flags := a.runCommand().PersistentFlags()
	for _, field := range config.RunFields() {
		if flags.Lookup(field.Key) == nil {
			t.Errorf("%s is no flag of run", field.Key)
			continue
		}
		text := field.Default
		switch {
		case len(field.Choices) > 0:
			text = field.Choices[0]
		case field.Type == spec.Bool:
			text = "true"
		case text == "":
			text = "7"
		}
		if got := requestOf(t, a, "run", "--"+field.Key+"="+text); !slices.Equal(got.Settings.Keys(), []string{field.Key}) || got.Settings.Text(field.Key) != text {
			t.Errorf("--%s=%s gives %q to %q", field.Key, text, got.Settings.Text(field.Key), got.Settings.Keys())
		}
	}
}

// Hidden options are not passed on. If a repository could hide an option that the user set to
// restrict an agent, it could lift the restriction.
func TestARepositorysSettingsCannotHideARestriction(t *testing.T) {
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

func TestRootfulComesFromTheFlagOrTheUserAndNeverFromTheRepository(t *testing.T) {
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

func TestImagesAreBakedAccordingToTheSettings(t *testing.T) {
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

func TestSettingsAreShownWithTheirSource(t *testing.T) {
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

func TestSettingsThatCannotBeWrittenAreReported(t *testing.T) {
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
	if err := os.WriteFile(folder, nil, 0o600); err != nil { // a file in place of the folder
		t.Fatal(err)
	}
	err = a.execute(t.Context(), []string{"config", "set", "timeout", "5m"})
	if fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("got %v", err)
	}
}

func TestASymlinkToTheSettingsFileIsKept(t *testing.T) {
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

func TestAnAllowListWithoutAPolicyThatUsesItIsReportedWhereverItGrows(t *testing.T) {
	const want = "no effect under the network policy local; `aibox config set network allowlist` uses it"
	pattern, err := netguard.ParseAllow("example.org")
	if err != nil {
		t.Fatal(err)
	}
	for name, add := range map[string]func(*cli) error{
		"learn": func(a *cli) error {
			return a.allowProposals(t.Context(), "codex", []netguard.Proposal{{Pattern: pattern}})
		},
		"allow": func(a *cli) error {
			return (&policyOptions{cli: a, always: true}).remember(t.Context(), "0dq4f-codex", []string{"example.org"})
		},
	} {
		a, _, errOut := testApp(t)
		settingsOf(t, "", "")
		if err := add(a); err != nil || !strings.Contains(errOut.String(), want) {
			t.Errorf("%s: %q, %v", name, errOut, err)
		}
		settingsOf(t, `network = "allowlist"`, "")
		errOut.Reset()
		if err := add(a); err != nil || strings.Contains(errOut.String(), "no effect") {
			t.Errorf("%s under the policy allowlist: %q, %v", name, errOut, err)
		}
	}
}

func TestAnAllowListWithoutAPolicyThatUsesItIsReported(t *testing.T) {
	a, _, errOut := testApp(t)
	settingsOf(t, "", "")
	set := func(key, value string) string {
		errOut.Reset()
		a.words = nil
		if err := a.execute(t.Context(), []string{"config", "set", key, value}); err != nil {
			t.Fatal(err)
		}
		return errOut.String()
	}
	const want = "no effect under the network policy local; `aibox config set network allowlist` uses it"
	if got := set("allow", "npm"); !strings.Contains(got, want) {
		t.Errorf("got %q", got)
	}
	set("network", "allowlist")
	if got := set("allow", "npm,github"); strings.Contains(got, "no effect") {
		t.Errorf("under the policy allowlist: %q", got)
	}
}
