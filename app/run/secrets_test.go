package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
)

// givenSecret returns the settings of a request that injects a secret.
func givenSecret() map[string]string {
	return map[string]string{"network": "allowlist", "allow": "example.org", "secret": "CANARY_TOKEN=example.org:Authorization,CANARY_TOKEN=example.org:X-Key"}
}

func TestSecretsComeFromAFileOrAProgramAtTheStartOnly(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "value of the variable")
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	ran := filepath.Join(dir, "ran")
	program := filepath.Join(dir, "token program")
	for path, text := range map[string]string{filepath.Join(dir, "token"): "canary of the file\n", program: "#!/bin/sh\necho x >> '" + ran + "'\necho canary of $1\n"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for source, want := range map[string]string{
		`file = "~/token"`: "canary of the file",
		fmt.Sprintf(`command = "'%s' 'the program'"`, program): "canary of the program",
	} {
		before, _ := os.ReadFile(ran)
		plan, err := resolved(t, "[secrets.CANARY_TOKEN]\n"+source+"\n", "", givenSecret())
		if err != nil || len(plan.Launch.Injected) > 0 {
			t.Fatalf("%s: the check has %v, %v", source, plan.Launch.Injected, err)
		}
		if after, _ := os.ReadFile(ran); !bytes.Equal(before, after) {
			t.Fatal("the check ran the program")
		}
		if err := plan.readSecrets(t.Context()); err != nil || plan.Launch.Injected["CANARY_TOKEN"] != want {
			t.Errorf("%s: %v, %v", source, plan.Launch.Injected, err)
		}
	}
	if runs, _ := os.ReadFile(ran); string(runs) != "x\n" {
		t.Errorf("the program ran %d times", strings.Count(string(runs), "x"))
	}
}

func TestASecretThatCannotBeReadStartsNothing(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "value of the variable")
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	readable := filepath.Join(dir, "readable")
	if err := os.WriteFile(readable, []byte("canary-value"), 0o644); err != nil { //nolint:gosec // that is the point
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		`file = "token"`:                  "is not a whole path",
		`command = "  "`:                  "names no program",
		`command = "'open"`:               "cannot be read",
		`file = "~/none"`:                 "cannot be read: no such file",
		`file = "~/readable"`:             "other users may read the secret CANARY_TOKEN's file " + readable,
		`command = "/nowhere/token"`:      "cannot be run",
		`command = "sh -c 'exit 3'"`:      "the secret CANARY_TOKEN's command sh failed",
		`command = "true"`:                "printed nothing",
		`command = "printf 'canary\\nb'"`: "printed more than one line",
		`command = "echo canary"`:         "has 6 bytes",
		`command = "yes canary-canary"`:   "printed more than",
	} {
		plan, err := resolved(t, "[secrets.CANARY_TOKEN]\n"+source+"\n", "", givenSecret())
		if err == nil {
			r := runner(&world{})
			_, err = r.Start(t.Context(), plan, Callbacks{})
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "nothing is started") && want != "" || strings.Contains(err.Error(), "canary-canary") {
			t.Errorf("%s: %v", source, err)
		}
		if kind := fault.KindOf(err); want != "" && kind != fault.Usage && kind != fault.Environment && kind != fault.Refused {
			t.Errorf("%s: %v is of kind %v", source, err, kind)
		}
	}
}
