package rules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/netguard"
)

// dockerLike sets up a namespace like dockerd does.
const dockerLike = `
ip link set lo up
iptables -N DOCKER; iptables -N DOCKER-USER; iptables -A DOCKER-USER -j RETURN
iptables -P FORWARD DROP
iptables -A FORWARD -j DOCKER-USER
iptables -A FORWARD -o docker0 -j DOCKER
iptables -A INPUT -s 192.0.2.7/32 -m comment --comment "the user's own" -j DROP
ip link add aibox-test0 type bridge
ip addr add 172.31.240.1/29 dev aibox-test0
ip link set aibox-test0 up
ip link add aibox-test1 type bridge
ip link set aibox-test1 up`

const snapshot = `
iptables-save 2>/dev/null | sed '/^#/d'; echo; ip6tables-save | sed '/^#/d'; echo
for tool in iptables ip6tables; do $tool-legacy-save -t filter 2>/dev/null | sed '/^#/d; s/ \[[0-9:]*\]$//'; $tool-nft-save 2>/dev/null | sed '/^#/d'; done
ip rule; ip -6 rule; ip addr show lo; ip -4 -br addr show aibox-test0; cat /proc/sys/net/ipv4/icmp_ratelimit`

var here = Client{Site: Site{InPlace: true}}

func TestDownRestoresTheStateBeforeUp(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	before := sh(t, snapshot)
	ctx := locked(t)
	once := sh(t, snapshot)
	must(t, here.Up(ctx))
	if twice := sh(t, snapshot); twice != once {
		t.Errorf("up twice is not up once:\n%s\n---\n%s", once, twice)
	}
	sockets, err := here.Guard(ctx, "aibox-test0", GuardRequest{TCP: netguard.Local.TCPPorts(), UDP: netguard.Local.UDPPorts()})
	must(t, err)
	during := sh(t, snapshot)
	if during == once {
		t.Error("guard added no routing rules")
	}
	if err := here.Down(ctx); fault.KindOf(err) != fault.Refused || sh(t, snapshot) != during {
		t.Errorf("the guard of a running session was taken down: %v", err)
	}
	must(t, sockets.Close())
	for range 2 {
		must(t, here.Down(ctx))
		unchanged(t, before, snapshot)
	}
}

func TestDownLeavesAnEmptyNamespaceEmpty(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, "ip link set lo up; ip link add aibox-test0 type bridge")
	before := sh(t, snapshot)
	ctx := locked(t)
	must(t, here.Down(ctx))
	unchanged(t, before, snapshot)
}

// damages are changes by other programs that open a lock.
var damages = []string{
	"iptables -F AIBOX-INPUT",
	"iptables -F FORWARD",
	"iptables -D AIBOX-INPUT -d 10.200.200.1/32 -p tcp -m tcp --dport 3128 -j ACCEPT", // the rules of a version without a proxy
	"iptables -I INPUT 1 -j ACCEPT",
	"iptables -I DOCKER-USER 1 -j ACCEPT",
	"iptables -I AIBOX-FORWARD 1 -j ACCEPT",
	"iptables -F; iptables -X AIBOX-INPUT; iptables -X AIBOX-FORWARD",
	"ip6tables -F",
	"ip6tables -I FORWARD -j ACCEPT",
	"ip rule add pref 0 lookup local",
	"ip addr del 10.200.200.1/32 dev lo",
	"ip rule flush; ip rule add pref 32766 lookup main",
}

func TestGuardRepairsForeignChanges(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := locked(t)
	for _, damage := range damages {
		sh(t, damage)
		status, err := here.Status(ctx)
		must(t, err)
		if status.Up || len(status.Drift) == 0 {
			t.Errorf("%s: not noticed", damage)
		}
		sockets, err := here.Guard(ctx, "aibox-test0", GuardRequest{TCP: []int{11434}})
		if err != nil {
			t.Errorf("%s: %v", damage, err)
			continue
		}
		sockets.Close()
		if status, err = here.Status(ctx); err != nil || !status.Up {
			t.Errorf("%s: still %v after guard (%v)", damage, status.Drift, err)
		}
	}
}

func TestICMPLimitIsRemovedAgain(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	for range 2 {
		must(t, here.Up(context.Background()))
		if got := sh(t, "cat /proc/sys/net/ipv4/icmp_ratelimit"); got != "0" {
			t.Errorf("the limit is %s", got)
		}
		sh(t, "echo 1000 > /proc/sys/net/ipv4/icmp_ratelimit")
	}
}

func TestConcurrentSessionsBothGetTheirGuard(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	errs := make([]error, 8)
	var wait sync.WaitGroup
	for i := range errs {
		sh(t, fmt.Sprintf("ip link add aibox-many%d type bridge", i))
		wait.Go(func() {
			sockets, err := here.Guard(context.Background(), fmt.Sprintf("aibox-many%d", i), GuardRequest{TCP: []int{11434}})
			if errs[i] = err; err == nil {
				errs[i] = sockets.Close()
			}
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if got := sh(t, "iptables -S INPUT | grep -c AIBOX; iptables -S AIBOX-INPUT | wc -l; ip rule | grep -c 'lookup local'"); got != "1\n9\n9" {
		t.Errorf("jumps, rules, lookups: %q", got)
	}
}

func TestBackendFollowsDocker(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	// A dockerd that uses the legacy backend, on a machine whose default is nf_tables.
	sh(t, strings.ReplaceAll(dockerLike, "iptables", "iptables-legacy"))
	before := sh(t, snapshot)
	must(t, here.Up(context.Background()))
	status, err := here.Status(context.Background())
	if err != nil || !status.Up || !strings.Contains(status.Firewall.Backend, "legacy") {
		t.Errorf("%+v, %v", status, err)
	}
	if got := sh(t, "iptables-legacy -S DOCKER-USER 1"); got != "-A DOCKER-USER -i aibox-+ -j AIBOX-FORWARD" {
		t.Errorf("got %s", got)
	}
	must(t, here.Down(context.Background()))
	unchanged(t, before, snapshot)
}

func TestDockerJumpAtTheTopOfForwardIsNotDrift(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := locked(t)
	sh(t, "iptables -D FORWARD -j DOCKER-USER; iptables -I FORWARD 1 -j DOCKER-USER") // as creating a network does
	status, err := here.Status(ctx)
	if err != nil || !status.Up {
		t.Errorf("drift %v, %v", status.Drift, err)
	}
}

func TestEachSessionUsesTheSameAddressOnItsOwnBridge(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := context.Background()
	ports := GuardRequest{TCP: []int{11434, 11435, 53}, UDP: []int{53}}
	guarded(t, "aibox-test0", ports)
	second, err := here.Guard(ctx, "aibox-test1", ports)
	must(t, err)
	if len(second.TCP) != 3 || len(second.UDP) != 1 {
		t.Errorf("got %v", second)
	}
	if got := second.TCP[11434].Addr().String(); got != "10.200.200.1:11434" {
		t.Errorf("bound to %s", got)
	}
	if _, err := here.Guard(ctx, "aibox-test0", ports); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("is taken where Docker's bridges are by rules.test, process %d", os.Getpid())) {
		t.Errorf("a bridge was given away twice: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := second.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if again, err := here.Guard(ctx, "aibox-test1", ports); err != nil {
		t.Error(err)
	} else {
		again.Close()
	}
}

func TestAJobEndsWithItsClient(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	unlock, err := lockNamespace(unix.LOCK_EX) // the job waits for it
	must(t, err)
	defer unlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	theirs := os.NewFile(uintptr(pair[1]), "job")
	_, err = unix.Write(pair[0], []byte(`{"op": "guard", "bridge": "aibox-test0", "tcp": [11434]}`))
	must(t, err)
	cmd := exec.Command(os.Args[0], "netguard-job")
	cmd.Stdin = theirs
	must(t, cmd.Start())
	theirs.Close()
	must(t, unix.Close(pair[0]))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("the job ends with %v", err)
		}
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Error("the job outlives its client")
	}
}

func TestReleaseLeavesABridgeFullyLocked(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := context.Background()
	sockets, err := here.Guard(ctx, "aibox-test0", GuardRequest{TCP: []int{11434}})
	must(t, err)
	sockets.Close()
	must(t, here.Release(ctx, "aibox-test0"))
	status, err := here.Status(ctx)
	must(t, err)
	if len(status.Routing.Locked) != 1 || strings.Contains(strings.Join(status.Routing.Rules, "\n"), "11434") {
		t.Errorf("after release: %+v", status.Routing)
	}
}

func TestRulesOfAMissingBridgeAreRemoved(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := context.Background()
	for _, bridge := range []string{"aibox-test1", "aibox-test0"} {
		sockets, err := here.Guard(ctx, bridge, GuardRequest{TCP: []int{11434}})
		must(t, err)
		sockets.Close()
		sh(t, "ip link del aibox-test1 2>/dev/null || true")
	}
	status, err := here.Status(ctx)
	if err != nil || len(status.Routing.Locked) != 1 || status.Routing.Locked[0] != "aibox-test0" {
		t.Errorf("%+v, %v", status.Routing, err)
	}
}

func TestBridgeThatLockOneWouldNotMatchIsRejected(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	for _, name := range []string{"docker0", "aibox-", "", "aibox-longer-than-an-interface", "aibox-missing"} {
		if _, err := here.Guard(context.Background(), name, GuardRequest{}); err == nil {
			t.Errorf("bridge %q was guarded", name)
		}
	}
}

func TestGuardFailsClosedWithoutAFirewall(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	sh(t, "mount -t tmpfs none /mnt && printf '#!/bin/sh\\nexit 3\\n' > /mnt/iptables && chmod +x /mnt/iptables")
	t.Setenv("PATH", "/mnt:/usr/bin:/bin")
	if _, err := here.Guard(context.Background(), "aibox-test0", GuardRequest{TCP: []int{11434}}); err == nil {
		t.Error("guard succeeded without lock 1")
	}
}

func TestSiteNeedsAName(t *testing.T) {
	for _, site := range []Site{{}, {PID: -4}, {NetNS: "/x"}} {
		if err := (Client{Site: site}).Up(context.Background()); err == nil {
			t.Errorf("site %+v was taken", site)
		}
	}
}
