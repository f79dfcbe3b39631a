package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
)

// onFullDisk runs the command line with a standard output that no byte fits on, and returns its exit
// code and what it printed on standard error.
func onFullDisk(t *testing.T, line string) (code int, messages string) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	errOut, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer errOut.Close()
	code = Main(strings.Fields(line), noInput(t), full, errOut)
	text, err := os.ReadFile(errOut.Name())
	if err != nil {
		t.Fatal(err)
	}
	return code, string(text)
}

func TestACommandFailsWhoseResultsCannotBeWritten(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, line := range []string{"--help", "version", "config path", "agents show shell", "config show --json", "token ls --json", "volume ls --json"} {
		code, messages := onFullDisk(t, line)
		if want := "aibox: standard output cannot be written: no space left on device\n"; code != fault.Environment.ExitCode() || messages != want {
			t.Errorf("%s gave %d and\n%s", line, code, messages)
		}
	}
}

func TestATokenThatNobodySawIsRevoked(t *testing.T) {
	for _, line := range []string{"token create", "token create --json"} {
		t.Setenv("HOME", t.TempDir())
		if code, messages := onFullDisk(t, line); code != fault.Environment.ExitCode() || strings.Contains(messages, "its id is") {
			t.Errorf("%s gave %d and\n%s", line, code, messages)
		}
		a, out, _ := testAppAt(t)
		if err := a.execute(t.Context(), []string{"token", "ls"}); err != nil || !strings.Contains(out.String(), "revoked") {
			t.Errorf("after %s there is %v\n%s", line, err, out.String())
		}
	}
}
