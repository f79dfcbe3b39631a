package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/netguard"
	"aibox/session"
	"aibox/workspace"
)

// keptSession writes the files of an ended session.
func keptSession(t *testing.T, a *cli, spec session.Spec) session.ID {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", "")
	dirs, err := paths.Default()
	if err != nil {
		t.Fatal(err)
	}
	spec.ID, spec.Created = "0dq4f-codex", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	dir := filepath.Join(dirs.Sessions(), string(spec.ID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{"spec.json": spec, "state.json": session.State{Phase: session.Ended, Result: &session.Result{}}} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return spec.ID
}

func wasRun(repo string) session.Spec {
	return session.Spec{Agent: "codex", Options: map[string]string{"verbosity": "low"}, Prompt: "mend it", Repository: repo, Run: config.Run{Hide: append(workspace.DefaultHide(), "vault"), Network: netguard.None.String(), Inference: "scripted", Model: "qwen3", Image: "aibox/codex:1", Timeout: amount.Duration(30 * time.Minute), Pids: 64, MaxUpload: 1024, StateSize: 32, Disk: 77, MaxOutput: 256, IdleTimeout: amount.Duration(30 * time.Minute), ModelTimeout: amount.Duration(10 * time.Minute), AllowDegraded: true}}
}

func TestARerunRepeatsTheSessionsRequestWithTheGivenFlags(t *testing.T) {
	a, _, errOut := testApp(t)
	repo := settingsOf(t, "", "")
	keptSession(t, a, wasRun(repo))
	// The command ends before anything is started, because these two cannot be used together.
	err := a.execute(t.Context(), []string{"rerun", "0dq4f", "--model", "other", "--detach", "--require-changes", "--set", "verbosity=high"})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "--detach returns before") {
		t.Fatalf("got %v", err)
	}
	line, _, _ := strings.Cut(errOut.String(), "\n")
	want := "→ aibox run codex --repo=" + repo + " --detach --model=other --inference=scripted --network=none --timeout=30m --memory=0 --cpus=0 --pids=64 --disk=77MiB --state-size=32MiB --hide=vault " +
		"--require-changes --set verbosity=high '--prompt=mend it'"
	if line != want {
		t.Errorf("says  %s\nwants %s", line, want)
	}
}

func TestARerunAcceptsAnotherAgentATaskFileAndOtherArguments(t *testing.T) {
	a, _, errOut := testApp(t)
	keptSession(t, a, wasRun(settingsOf(t, "", "")))
	for line, want := range map[string]string{
		"--agent aider":                   "run aider ",
		"--prompt-file no/such/file":      "--prompt-file=no/such/file",
		"--prompt other -- --more words":  "--prompt=other -- --more words",
		"--repo /elsewhere --branch dark": "--repo=/elsewhere",
	} {
		errOut.Reset()
		before, behind, args := strings.Cut(line, " -- ")
		words := append([]string{"rerun", "0dq4f", "--detach", "--require-changes"}, strings.Fields(before)...)
		if args {
			words = append(append(words, "--"), strings.Fields(behind)...)
		}
		if err := a.execute(t.Context(), words); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s gives %v", line, err)
		}
		said, _, _ := strings.Cut(errOut.String(), "\n")
		if !strings.Contains(said, want) {
			t.Errorf("%s runs %s", line, said)
		}
		if strings.Contains(line, "aider") && strings.Contains(said, "verbosity") || strings.Contains(line, "prompt-file") && strings.Contains(said, "mend it") {
			t.Errorf("%s runs %s", line, said)
		}
	}
}

func TestARerunOfAnotherAgentHasNeitherTheArgumentsNorTheImageOfTheFirst(t *testing.T) {
	a, _, errOut := testApp(t)
	spec := wasRun(settingsOf(t, "", ""))
	spec.Image, spec.Args = "mine/codex:2", []string{"-c", "x=y"}
	keptSession(t, a, spec)
	for line, want := range map[string][]string{
		"":                                      {"run codex ", "--image=mine/codex:2", " -- -c x=y"},
		"--agent codex":                         {"run codex ", "--image=mine/codex:2", " -- -c x=y"},
		"--agent claude":                        {"run claude "},
		"--agent claude --image=mine/both -- z": {"run claude ", "--image=mine/both", " -- z"},
	} {
		errOut.Reset()
		err := a.execute(t.Context(), append([]string{"rerun", "0dq4f", "--detach", "--require-changes"}, strings.Fields(line)...))
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%s gives %v", line, err)
		}
		said, _, _ := strings.Cut(errOut.String(), "\n")
		for _, part := range want {
			if !strings.Contains(said, part) {
				t.Errorf("%s runs %s, without %q", line, said, part)
			}
		}
		if len(want) == 1 && (strings.Contains(said, "--image") || strings.Contains(said, " -- ")) {
			t.Errorf("%s runs %s", line, said)
		}
	}
}

func TestWhatCannotBeRunAgainIsAUsageFault(t *testing.T) {
	a, _, _ := testApp(t)
	keptSession(t, a, wasRun(settingsOf(t, "", "")))
	for _, line := range []string{"rerun", "rerun 0zzzz", "rerun 0dq4f 0dq4f", "rerun 0dq4f --resume 0dq4f", "rerun 0dq4f --agent nobody", "rerun 0dq4f --nonsense"} {
		if err := a.execute(t.Context(), strings.Fields(line)); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q gave %v", line, err)
		}
	}
}

func TestTheHelpOmitsFlagsThatTheCommandRefuses(t *testing.T) {
	for command, refused := range map[string][]string{
		"fork":  {"repo", "branch", "clean", "hide", "resume"},
		"rerun": {"resume", "no-feedback"},
	} {
		a, out, _ := testApp(t)
		if err := a.execute(t.Context(), []string{command, "--help"}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "--prompt ") {
			t.Errorf("%s: the help has no flags:\n%s", command, out)
		}
		for _, flag := range refused {
			if strings.Contains(out.String(), "  --"+flag+" ") || strings.Contains(out.String(), "  --"+flag+"\n") {
				t.Errorf("the help of %s lists --%s", command, flag)
			}
			err := a.execute(t.Context(), []string{command, "0dq4f", "--" + flag + "=true"})
			if fault.KindOf(err) != fault.Usage && fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s --%s: %v", command, flag, err)
			}
			if err != nil && strings.Contains(err.Error(), "unknown flag") {
				t.Errorf("%s --%s is unknown, and not explained", command, flag)
			}
		}
	}
}
