package e2e

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systemDocker answers like the system's Docker, as far as netguard asks, and returns the
// DOCKER_HOST.
func systemDocker(t *testing.T) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.43")
		if strings.HasSuffix(r.URL.Path, "/info") {
			_, _ = w.Write([]byte(`{"ServerVersion": "24.0", "SecurityOptions": ["name=seccomp,profile=builtin"], "Runtimes": {"runsc": {"path": "runsc"}}}`))
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return "unix://" + socket
}

// This namespace replaces the host's: root of a user namespace is root there, and nothing outside
// changes.
func TestTheSystemsDockerIsGuardedInTheHostsNamespace(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	script := `export XTABLES_LOCKFILE="$HOME/lock" PATH="$PATH:/usr/sbin:/sbin"
tables() { { iptables-save; ip6tables-save; iptables-legacy-save -t filter; ip rule; ip -6 rule; ip addr show lo; cat /proc/sys/net/ipv4/icmp_ratelimit; } | grep -v "^#"; }
ip link set lo up
iptables -N DOCKER-USER; iptables -A FORWARD -j DOCKER-USER; iptables -A INPUT -s 192.0.2.7 -j DROP
tables >before
"$0" netguard status --site host | tee /dev/stderr | grep 'all of it *not up'
"$0" netguard up --site host --dry-run >script
tables | cmp - before
"$0" netguard up --site host
"$0" netguard status --site host --json | grep '"up": true'
"$0" netguard up --site host --dry-run | grep 'nothing to change'
tables >up
"$0" netguard up --site host
tables | sed 's/\[[0-9:]*\]//' >again; sed 's/\[[0-9:]*\]//' up | cmp - again
"$0" netguard down --site host
tables | cmp - before
sh -e script
"$0" --rootful netguard status | grep 'all of it *up'
export DOCKER_HOST="unix://$HOME/removed.sock" # its Docker is gone, its locks are not
"$0" netguard status --site host | grep 'all of it *up'
"$0" netguard down --site host --dry-run | grep -e AIBOX-INPUT
"$0" netguard down --site host
tables | cmp - before`
	cmd := exec.Command("unshare", "-rnm", "sh", "-euc", script, aibox)
	cmd.Env = append(append([]string{}, m.env...), "DOCKER_HOST="+systemDocker(t))
	cmd.Dir = m.home
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestASiteThatCannotBeUsedIsExplained(t *testing.T) {
	m := newMachine(t)
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "sudo"), []byte("#!/bin/sh\necho sudo: a password is required >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	system, missing := systemDocker(t), "unix://"+filepath.Join(t.TempDir(), "docker.sock")
	rootless := os.Getenv("DOCKER_HOST")
	for _, test := range []struct {
		host string
		args []string
		code int
		want []string
	}{
		{system, []string{"up", "--site", "host"}, 3, []string{"root", "a password is required", "sudo " + aibox + " netguard up --site host"}},
		{system, []string{"status", "--site", "host"}, 3, []string{"sudo " + aibox + " netguard status --site host"}},
		{system, []string{"up", "--site", "rootless"}, 3, []string{"runs as root"}},
		{missing, []string{"up", "--site", "host"}, 3, []string{"no Docker daemon answers", "sudo systemctl start docker"}},
		{missing, []string{"status", "--site", "host"}, 3, []string{"sudo " + aibox + " netguard status --site host"}},
		{missing, []string{"down", "--site", "rootless", "--dry-run"}, 3, []string{"no Docker daemon answers", "systemctl --user start docker"}},
		{rootless, []string{"up", "--site", "host"}, 2, []string{"DOCKER_HOST names a rootless Docker"}},
		{rootless, []string{"--rootful", "up", "--site", "rootless"}, 2, []string{"contradict"}},
		{rootless, []string{"up", "--site", "elsewhere"}, 2, []string{"auto, rootless or host"}},
		{rootless, []string{"up", "--json"}, 2, []string{"--json needs --dry-run"}},
	} {
		cmd := exec.Command(aibox, append([]string{"netguard"}, test.args...)...)
		cmd.Env = append(append([]string{}, m.env...), "DOCKER_HOST="+test.host, "PATH="+tools+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != test.code {
			t.Errorf("aibox netguard %q exits with %d (%v), not %d:\n%s", test.args, code, err, test.code, out)
		}
		for _, want := range test.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("aibox netguard %q does not mention %q:\n%s", test.args, want, out)
			}
		}
	}
}
