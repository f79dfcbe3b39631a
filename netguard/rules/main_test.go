package rules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary run as the job, and as one with a lock missing.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "netguard-job":
			if err := ServeJob(context.Background(), os.Stdin); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "test-job":
			if err := serve(context.Background(), os.Stdin, performUnguarded); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "killed-job":
			allowed, _ := strconv.Atoi(os.Args[2])
			_ = serve(context.Background(), os.Stdin, killAfter(allowed).perform)
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// killAfter returns jobs that kill their process instead of making one more change.
func killAfter(allowed int) job {
	return job{func(ctx context.Context, c change) error {
		if allowed == 0 {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
		allowed--
		return c.apply(ctx)
	}}
}

// inNamespace runs the calling test again as root of a new user and network namespace,
// where it cannot break anything. It returns true inside.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv("AIBOX_TEST_NAMESPACE") == t.Name() {
		return true
	}
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command("unshare", "-rnm", "--", exe, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), "AIBOX_TEST_NAMESPACE="+t.Name(), "XTABLES_LOCKFILE="+t.TempDir()+"/lock", "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in a namespace of its own: %v\n%s", err, out)
	}
	if testing.Verbose() {
		t.Logf("%s", out)
	}
	return false
}

// sh runs a script of commands in the test's namespace and returns its output.
func sh(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// locked sets up the locks for the rest of the test.
func locked(t *testing.T) context.Context {
	t.Helper()
	ctx := context.Background()
	must(t, here.Up(ctx))
	return ctx
}

// unchanged compares the output of script with its earlier output.
func unchanged(t *testing.T, before, script string) {
	t.Helper()
	if after := sh(t, script); after != before {
		t.Errorf("before:\n%s\n--- after:\n%s", before, after)
	}
}

// guarded guards a bridge until the test ends.
func guarded(t *testing.T, bridge string, request GuardRequest) *Sockets {
	t.Helper()
	sockets, err := here.Guard(context.Background(), bridge, request)
	must(t, err)
	t.Cleanup(func() { _ = sockets.Close() })
	return sockets
}

// performUnguarded returns jobs with a lock missing.
func performUnguarded(ctx context.Context, req request) (answer reply) {
	var err error
	switch req.Op {
	case "lock-and-open":
		var changes []change
		if changes, err = isolate(req.Bridge, req.GuardRequest); err == nil {
			err = job{applyChange}.run(ctx, changes)
		}
		if err == nil {
			answer.files, err = open(req.Bridge, req.GuardRequest)
		}
	case "open":
		answer.files, err = open(req.Bridge, req.GuardRequest)
	case "forget":
		rules, listErr := listRules(unix.AF_INET)
		rules6, _ := listRules(unix.AF_INET6)
		err = listErr
		for _, rule := range append(rules, rules6...) {
			if rule.IifName == req.Bridge {
				err = errors.Join(err, deleteRule(rule).apply(ctx))
			}
		}
	}
	if err != nil {
		return failure(err)
	}
	return answer
}
