// Package unprivileged runs tests that prove nothing as root. Only tests import it.
package unprivileged

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Rerun runs the calling test again as an unprivileged user. Only root can do that.
func Rerun(t testing.TB) {
	t.Helper()
	const nobody = 65534
	exe := filepath.Join(t.TempDir(), "test")
	data, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(exe, data, 0o755))
	for dir := filepath.Dir(exe); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	tmp := filepath.Join(filepath.Dir(exe), "tmp")
	must(t, os.Mkdir(tmp, 0o777))
	must(t, os.Chmod(tmp, 0o777))
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "TMPDIR=" + tmp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as another user: %v\n%s", err, out)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
