package runtimetest

import (
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
