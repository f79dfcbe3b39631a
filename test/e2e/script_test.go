package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts have, beside testscript's own, the commands
//
//	aibox CODE ARG…   runs aibox, which must exit with exactly this code
//	nothing-left      no session, workspace or container is there
//	guard-up          the status of the guard comes to be that all of it is up: for
//	                  moments it is not, while Docker makes another test's network
//	changed REPO      the newest aibox branch of REPO holds the agent's line
//	newest VAR        sets VAR to the id of the newest session
//
// Where its output goes through a pipe, aibox is found in the PATH, too.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			m := newMachine(env.T().(testing.TB))
			for _, pair := range m.env {
				name, value, _ := strings.Cut(pair, "=")
				env.Setenv(name, value)
			}
			env.Setenv("PATH", filepath.Dir(aibox)+":"+env.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"aibox": exactly, "nothing-left": nothingLeft, "changed": changed, "guard-up": guardUp, "newest": newest,
		},
	})
}

func exactly(ts *testscript.TestScript, not bool, args []string) {
	if not || len(args) == 0 {
		ts.Fatalf("usage: aibox CODE ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(aibox, args[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("aibox %q exits with %d, not %d", args[1:], got, want)
	}
	text := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	if bad := harmful(text); bad != "" {
		ts.Fatalf("aibox %q prints %q", args[1:], bad)
	}
	if strings.Contains(text, "goroutine ") || strings.Contains(text, "Error response from daemon") {
		ts.Fatalf("aibox %q shows its innards", args[1:])
	}
}

func guardUp(ts *testscript.TestScript, _ bool, _ []string) {
	status := ""
	for begin := time.Now(); time.Since(begin) < hung; {
		exactly(ts, false, []string{"0", "netguard", "status"})
		status = ts.ReadFile("stdout")
		if regexp.MustCompile(`all of it +up`).MatchString(status) {
			return
		}
	}
	ts.Fatalf("the guard does not come up:\n%s", status)
}

func nothingLeft(ts *testscript.TestScript, _ bool, _ []string) {
	home := ts.Getenv("HOME")
	for _, pattern := range []string{".local/state/aibox/sessions/*", "agent_workspace/*"} {
		left, err := filepath.Glob(filepath.Join(home, pattern))
		ts.Check(err)
		if len(left) > 0 {
			ts.Fatalf("%q are left", left)
		}
	}
}

func changed(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
		ts.Check(err)
		return strings.TrimSpace(string(out))
	}
	branch := git("for-each-ref", "--sort=-committerdate", "--count=1", "--format=%(refname)", "refs/heads/aibox")
	if branch == "" || !strings.HasSuffix(git("show", branch+":file.txt"), "agent") {
		ts.Fatalf("no branch of %s has the agent's work: %s", dir, git("log", "--all", "--oneline"))
	}
	if _, err := os.Stat(filepath.Join(dir, "file.txt")); err != nil {
		ts.Fatalf("%v", err)
	}
}

func newest(ts *testscript.TestScript, _ bool, args []string) {
	ids, err := filepath.Glob(filepath.Join(ts.Getenv("HOME"), ".local/state/aibox/sessions/*", "spec.json"))
	ts.Check(err)
	if len(args) != 1 || len(ids) == 0 {
		ts.Fatalf("usage: newest VAR, after a session")
	}
	ts.Setenv(args[0], filepath.Base(filepath.Dir(slices.Max(ids))))
}
