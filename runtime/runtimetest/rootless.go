package runtimetest

import (
	"context"
	"os/exec"
	"testing"
)

// RootlessScript returns the path of dockerd-rootless.sh, for tests with their own daemon:
// the one on PATH, else Debian's, else the one that the setup installs.
func RootlessScript(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"dockerd-rootless.sh", "/usr/share/docker.io/contrib/dockerd-rootless.sh", "/usr/local/lib/aibox/dockerd-rootless.sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("dockerd-rootless.sh is missing: make setup")
	return ""
}

// RemoveRootless deletes a folder with files of a test's own daemon, which belong to subordinate ids.
func RemoveRootless(t testing.TB, dir string) {
	t.Helper()
	kit := "rootlesskit"
	if _, err := exec.LookPath(kit); err != nil {
		kit = "docker-rootlesskit"
	}
	if out, err := exec.CommandContext(context.Background(), kit, "rm", "-rf", dir).CombinedOutput(); err != nil {
		t.Errorf("removing the data of the test's own daemon: %v\n%s", err, out)
	}
}
