package cli

import (
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestAWrongFlagOfANewSandboxHasAHint(t *testing.T) {
	run := volumeApp(t)
	for flags, want := range map[string]string{
		"--network bogus":               "--network is none, local, allowlist or public",
		"--set a":                       "--set takes KEY=VALUE",
		"--metadata q":                  "--metadata takes KEY=VALUE",
		"--metadata q=1 --metadata q=2": `--metadata gives "q" twice`,
		"--volume x":                    "--volume takes NAME:PATH or NAME:PATH:ro",
		"--on-timeout x":                "--on-timeout is destroy or pause",
	} {
		_, _, err := run("sandbox create " + flags)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) || len(fault.Hints(err)) == 0 {
			t.Errorf("%s: %v, with the hints %q", flags, err, fault.Hints(err))
		}
	}
}
