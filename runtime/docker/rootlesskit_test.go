package docker

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/netguard/rules"
	"aibox/runtime"
)

// rootlessKit starts RootlessKit with a child that does what dockerd-rootless.sh does before
// it starts dockerd, and returns the site that a backend finds by the files beside its
// socket.
func rootlessKit(t *testing.T, args ...string) runtime.Site {
	t.Helper()
	dir := t.TempDir()
	args = append([]string{"--state-dir=" + filepath.Join(dir, "dockerd-rootless"), "--copy-up=/run", "--disable-host-loopback"}, args...)
	cmd := exec.Command("rootlesskit", append(args, "sh", "-c", "rm -f /run/xtables.lock; echo ready; read _ || true")...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("rootlesskit %q: %q, %v", args, line, err)
	}
	site, err := (&Backend{socket: filepath.Join(dir, "docker.sock")}).site(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// Each network driver of RootlessKit that is installed here, with the daemon in the network
// namespace or detached from it.
func TestGuardWorksInEveryNetworkOfRootlessKit(t *testing.T) {
	if testing.Short() {
		t.Skip("needs RootlessKit; go test without -short runs it")
	}
	help, err := exec.Command("rootlesskit", "--help").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	version, _ := exec.Command("rootlesskit", "--version").CombinedOutput()
	t.Logf("%s", version)
	for _, variant := range []struct {
		name  string
		needs []string // options and drivers that the help lists
		tool  string
		args  []string
	}{
		{"slirp4netns", nil, "slirp4netns", []string{"--net=slirp4netns", "--mtu=65520"}},
		{"slirp4netns, detached", []string{"--detach-netns"}, "slirp4netns", []string{"--net=slirp4netns", "--mtu=65520", "--detach-netns"}},
		{"pasta", []string{"pasta"}, "pasta", []string{"--net=pasta"}},
		{"pasta, detached", []string{"pasta", "--detach-netns"}, "pasta", []string{"--net=pasta", "--detach-netns"}},
	} {
		t.Run(variant.name, func(t *testing.T) {
			for _, need := range variant.needs {
				if !strings.Contains(string(help), need) {
					t.Skipf("this RootlessKit has no %s: %s", need, version)
				}
			}
			if _, err := exec.LookPath(variant.tool); err != nil {
				t.Fatalf("%s is not installed, which scripts/test.sh does", variant.tool)
			}
			ctx := context.Background()
			s := rootlessKit(t, variant.args...)
			client := rules.Client{Site: rules.Site{PID: s.PID, NetNS: s.NetNS}}
			inside := func(script string) string {
				t.Helper()
				enter := append(client.Enter(), "sh", "-ec", "PATH=$PATH:/usr/sbin:/sbin; "+script)
				out, err := exec.Command(enter[0], enter[1:]...).CombinedOutput()
				if err != nil {
					t.Fatalf("%q: %v\n%s", enter, err, out)
				}
				return string(out)
			}
			tables := `iptables-save | sed "/^#/d"; ip6tables-save | sed "/^#/d"; ip rule; ip -6 rule; ip addr show lo; cat /proc/sys/net/ipv4/icmp_ratelimit`
			if strings.Contains(variant.name, "detached") && !strings.Contains(inside("ip link"), " tap0") && !strings.Contains(inside("ip link"), " eth0") {
				t.Errorf("%+v is not the detached namespace", s)
			}
			inside("ip link add aibox-test0 type bridge; ip link set aibox-test0 up")
			before := inside(tables)
			if plan, err := client.PlanUp(ctx); err != nil || len(plan) == 0 || inside(tables) != before {
				t.Errorf("planned %d changes, %v", len(plan), err)
			}
			if err := client.Up(ctx); err != nil {
				t.Fatal(err)
			}
			sockets, err := client.Guard(ctx, "aibox-test0", rules.GuardRequest{TCP: []int{11434}})
			if err != nil {
				t.Fatal(err)
			}
			if status, err := client.Status(ctx); err != nil || !status.Up || len(status.Routing.Locked) != 1 {
				t.Errorf("%+v, %v", status, err)
			}
			if err := errors.Join(sockets.Close(), client.Down(ctx)); err != nil {
				t.Error(err)
			}
			if after := inside(tables); after != before {
				t.Errorf("before:\n%s\n--- after:\n%s", before, after)
			}
		})
	}
}
