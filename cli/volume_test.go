package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"aibox/internal/fault"
)

// volumeApp is a command line without a server and without volumes.
func volumeApp(t *testing.T) (run func(line string) (out, errOut string, err error)) {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	a, out, errOut := testApp(t)
	return func(line string) (string, string, error) {
		out.Reset()
		errOut.Reset()
		a.words = nil
		err := a.execute(t.Context(), strings.Fields(line))
		return out.String(), errOut.String(), err
	}
}

func TestVolumesAreCreatedListedAndDeleted(t *testing.T) {
	run := volumeApp(t)
	if out, errOut, err := run("volume ls"); err != nil || out != "" || errOut != "there are no volumes\n" {
		t.Errorf("without volumes, ls printed %q and %q, %v", out, errOut, err)
	}
	if out, _, err := run("volume ls --json"); err != nil || strings.TrimSpace(out) != "[]" {
		t.Errorf("without volumes, ls --json printed %q, %v", out, err)
	}
	for _, name := range []string{"models", "cache"} {
		if out, _, err := run("volume create " + name); err != nil || out != name+"\n" {
			t.Fatalf("create printed %q, %v", out, err)
		}
	}
	out, _, err := run("volume ls")
	if lines := strings.Split(out, "\n"); err != nil || len(lines) != 4 || !strings.HasPrefix(lines[1], "cache ") || !strings.HasPrefix(lines[2], "models ") {
		t.Errorf("ls printed %q, %v", out, err)
	}
	out, _, err = run("volume ls --json")
	var listed []struct{ Name, CreateTime string }
	if err != nil || json.Unmarshal([]byte(out), &listed) != nil || len(listed) != 2 || listed[0].Name != "cache" || listed[0].CreateTime == "" {
		t.Errorf("ls --json printed %q, %v", out, err)
	}
	if out, _, err := run("volume rm cache models"); err != nil || out != "cache\nmodels\n" {
		t.Errorf("rm printed %q, %v", out, err)
	}
	if out, _, err := run("volume ls"); err != nil || out != "" {
		t.Errorf("after rm, ls printed %q, %v", out, err)
	}
}

func TestAVolumeThatCannotBeCreatedOrDeletedIsAnError(t *testing.T) {
	run := volumeApp(t)
	for _, name := range []string{"cache", "models"} {
		if _, _, err := run("volume create " + name); err != nil {
			t.Fatal(err)
		}
	}
	if out, _, err := run("volume rm nothing models neither"); fault.KindOf(err) != fault.NotFound || out != "models\n" || !strings.Contains(err.Error(), "neither") {
		t.Errorf("rm of one of three printed %q, %v", out, err)
	}
	for line, want := range map[string]fault.Kind{
		"volume create cache":  fault.Conflict,
		"volume create ../etc": fault.Usage,
		"volume create":        fault.Usage,
		"volume rm":            fault.Usage,
		"volume rm nothing":    fault.NotFound,
		"volume nonsense":      fault.Usage,
	} {
		if out, _, err := run(line); fault.KindOf(err) != want || out != "" {
			t.Errorf("%s printed %q, %v", line, out, err)
		}
	}
	_, _, err := run("volume rm nothing")
	if hints := fault.Hints(err); len(hints) == 0 || !strings.Contains(hints[0], "aibox volume ls") {
		t.Errorf("the hints are %q", hints)
	}
}

func TestNamesOfVolumesAreCompleted(t *testing.T) {
	run := volumeApp(t)
	for _, name := range []string{"cache", "models"} {
		if _, _, err := run("volume create " + name); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"__complete volume rm c":                "cache\nmodels\n:4\n",
		"__complete volume rm cache m":          "models\n:4\n",
		"__complete sandbox create --volume ca": "cache:\nmodels:\n:6\n",
	} {
		if out, _, err := run(line); err != nil || out != want {
			t.Errorf("%s printed %q, %v", line, out, err)
		}
	}
}
