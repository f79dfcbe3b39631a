package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestAnUnknownNameSuggestsTheNearestOne(t *testing.T) {
	for line, want := range map[string]string{
		"--rotful":                            "did you mean --rootful?",
		"run --nework none":                   "did you mean --network?",
		"run codex --nework none":             "did you mean --network?",
		"run codex --reasoning-efort high":    "did you mean --reasoning-effort?",
		"run codex --set reasoning-efort=low": `did you mean "reasoning-effort"?`,
		"rerun 0dq4f-shell --tiemout 3m":      "did you mean --timeout?",
		"ls -json":                            "did you mean --json?",
		"accept 0dq4f-shell --hnks x":         "did you mean --hunks?",
		"agents check codex --time-out 3":     "did you mean --timeout?",
		"config show --changd":                "did you mean --changed?",
		"confg":                               `did you mean "config"?`,
		"exec 0dq4f-shell ls -la":             "write -- before a command that has flags of its own",
		"config sett":                         `did you mean "set"?`,
		"config get timeout":                  `did you mean "show"?`,
		"status":                              `did you mean "ls"?`,
		"merge 0dq4f":                         `did you mean "accept"?`,
		"resume 0dq4f":                        `did you mean "run --resume"?`,
		"token rm abc":                        `did you mean "revoke"?`,
		"open 0dq4f 99999":                    "`aibox open 0dq4f` lists the ports on which programs in the sandbox listen",
		"open 0dq4f --local 8080":             "`aibox open 0dq4f` lists the ports on which programs in the sandbox listen",
		"open 0dq4f --browser":                "`aibox open 0dq4f` lists the ports on which programs in the sandbox listen",
		"netguard foo":                        "`aibox netguard --help` lists the commands",
		"sandbox start":                       `did you mean "create"?`,
		"volume delete data":                  `did you mean "rm"?`,
		"run codx":                            `did you mean "codex"?`,
		"bake codx":                           `did you mean "codex"?`,
		"config set timeot 3m":                `did you mean "timeout"?`,
		"diff 0dqf":                           `did you mean "0dq4f-shell"?`,
		"diff 0dq4f-shel1":                    `did you mean "0dq4f-shell"?`,
	} {
		a, _, _ := testApp(t)
		storedSession(t, "0dq4f-shell", time.Now())
		err := a.execute(t.Context(), strings.Fields(line))
		if fault.KindOf(err) != fault.Usage || !slices.Contains(fault.Hints(err), want) {
			t.Errorf("%q gave %v with the hints %q", line, err, fault.Hints(err))
		}
	}
	for _, line := range []string{"ls --zzzzzz", "ls -Z", "diff zzzzz", "zzzzz", "netguard foo"} {
		a, _, _ := testApp(t)
		storedSession(t, "0dq4f-shell", time.Now())
		err := a.execute(t.Context(), strings.Fields(line))
		if hints := strings.Join(fault.Hints(err), "\n"); err == nil || strings.Contains(hints, "did you mean") {
			t.Errorf("%q gave %v with the hints %q", line, err, hints)
		}
	}
}

func TestEachSynonymNamesCommands(t *testing.T) {
	a, _, _ := testApp(t)
	names := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			names[sub.Name()] = true
			flag := func(f *pflag.Flag) { names[sub.Name()+" --"+f.Name] = true }
			sub.Flags().VisitAll(flag)
			sub.PersistentFlags().VisitAll(flag)
			walk(sub)
		}
	}
	walk(a.root())
	for synonym, commands := range synonyms {
		for _, name := range commands {
			if !names[name] {
				t.Errorf("%s stands for %s, which is no command", synonym, name)
			}
		}
	}
}
