package rules

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"aibox/internal/fault"
)

var onePort = GuardRequest{TCP: []int{11434}}

func TestInterfaceThatOnlyLooksLikeASessionBridgeIsRejected(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	sh(t, "ip link add aibox-veth type veth peer name aibox-peer; ip link add br0 type bridge; ip link property add dev br0 altname aibox-alt")
	for _, name := range []string{"aibox-veth", "aibox-alt", "br0"} {
		if _, err := here.Guard(context.Background(), name, onePort); err == nil {
			t.Errorf("%s was guarded", name)
		}
	}
	if rules := sh(t, "ip rule; ip -6 rule"); strings.Contains(rules, "aibox") {
		t.Errorf("rules were made for one:\n%s", rules)
	}
}

func TestHostileBridgeNameIsRejected(t *testing.T) {
	for _, name := range []string{"aibox-+", "aibox-a b", "aibox-a\n13: iif", "aibox-../../x", "aibox-%d", "aibox-\x00", "aibox-é", "aibox-x;reboot", "-aibox-x", "aibox-'", `aibox-"`} {
		if err := checkBridge(name); err == nil {
			t.Errorf("%q was taken", name)
		}
		if err := (job{applyChange}).release(context.Background(), name); err == nil {
			t.Errorf("%q was released", name)
		}
	}
	for _, name := range []string{"aibox-0a1b2c3d", "aibox-test_0"} {
		if err := checkBridge(name); err != nil {
			t.Error(err)
		}
	}
}

func TestSessionWithoutAListenerIsRejected(t *testing.T) {
	if _, err := (job{applyChange}).guard(context.Background(), "aibox-test0", GuardRequest{UDP: []int{53}}); err == nil {
		t.Error("it was guarded")
	}
}

func TestSecondSessionOnABridgeDoesNotAffectTheFirst(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := context.Background()
	guarded(t, "aibox-test0", GuardRequest{TCP: []int{11434, 53}})
	before := sh(t, "ip rule")
	for _, ports := range []GuardRequest{onePort, {TCP: []int{3128, 53}}} {
		if _, err := here.Guard(ctx, "aibox-test0", ports); fault.KindOf(err) != fault.Environment {
			t.Errorf("got %v", err)
		}
	}
	unchanged(t, before, "ip rule")
}

func TestReleaseOfAMissingBridgeLeavesNothing(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := context.Background()
	sockets, err := here.Guard(ctx, "aibox-test1", onePort)
	must(t, err)
	sockets.Close()
	sh(t, "ip link del aibox-test1")
	must(t, here.Release(ctx, "aibox-test1"))
	if rules := sh(t, "ip rule; ip -6 rule"); strings.Contains(rules, "aibox") {
		t.Errorf("left:\n%s", rules)
	}
}

func TestRoutingRuleBeforeTheLocksBlocksSessions(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := context.Background()
	for _, rule := range []string{
		"pref 5 lookup main",
		"pref 5 iif aibox-test0 lookup main",
		"pref 5 not iif eth0 lookup main",
		"pref 5 not oif eth0 lookup main",
		"pref 10 not iif aibox-other lookup main",
		"pref 12 from 172.31.240.0/29 lookup local",
	} {
		sh(t, "ip rule add "+rule)
		if sockets, err := here.Guard(ctx, "aibox-test0", onePort); fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: got %v", rule, err)
			if err == nil {
				sockets.Close()
			}
		}
		sh(t, "ip rule del "+rule)
	}
	for _, rule := range []string{"pref 5 iif eth0 lookup main", "pref 5 oif eth0 lookup main", "pref 5210 fwmark 0x80000 lookup main"} {
		sh(t, "ip rule add "+rule)
		sockets, err := here.Guard(ctx, "aibox-test0", onePort)
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		sockets.Close()
	}
}

func TestConditionalCopyOfOurRoutingRuleIsReplaced(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	sh(t, "ip rule add pref 13 iif aibox-test0 fwmark 7 unreachable; ip rule add pref 11 iif aibox-test0 ipproto tcp sport 9 unreachable")
	guarded(t, "aibox-test0", onePort)
	rules := sh(t, "ip rule")
	if strings.Contains(rules, "fwmark") || strings.Contains(rules, "sport") || !strings.Contains(rules, "13:\tfrom all iif aibox-test0 unreachable") {
		t.Errorf("got\n%s", rules)
	}
}

func TestDownFailsWhileASandboxOutlivesItsSupervisor(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := context.Background()
	sockets, err := here.Guard(ctx, "aibox-test0", onePort)
	must(t, err)
	sockets.Close() // as the kernel does for a killed process
	sh(t, "ip link add port type veth peer name box; ip link set port master aibox-test0")
	before := sh(t, snapshot)
	if err := here.Down(ctx); fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), "aibox-test0") {
		t.Errorf("got %v", err)
	}
	unchanged(t, before, snapshot)
	sh(t, "ip link del port")
	if err := here.Down(ctx); err != nil {
		t.Error(err)
	}
}

func TestPreviousICMPLimitIsRestored(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := context.Background()
	for _, rate := range []string{"1000", "500", "0"} {
		sh(t, "echo "+rate+" > /proc/sys/net/ipv4/icmp_ratelimit")
		for range 2 {
			must(t, here.Up(ctx))
		}
		if got := sh(t, "cat /proc/sys/net/ipv4/icmp_ratelimit"); got != "0" {
			t.Errorf("the limit is %s while up", got)
		}
		for range 2 {
			must(t, here.Down(ctx))
		}
		if got := sh(t, "cat /proc/sys/net/ipv4/icmp_ratelimit"); got != rate {
			t.Errorf("the limit was %s and is %s", rate, got)
		}
	}
}

// A session that has sockets has a complete guard, whatever others do meanwhile.
func TestConcurrentDownAndStartsLeaveNoSessionUnguarded(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	before := sh(t, snapshot)
	ctx := context.Background()
	var wait sync.WaitGroup
	errs := make(chan error, 100)
	for i := range 4 {
		bridge := fmt.Sprintf("aibox-race%d", i)
		sh(t, "ip link add "+bridge+" type bridge")
		wait.Go(func() {
			for try := range 4 {
				sockets, err := here.Guard(ctx, bridge, onePort)
				if err != nil {
					// Down may win each time, but must not leave half of the guard.
					if fault.KindOf(err) != fault.Refused {
						errs <- fmt.Errorf("%s, try %d: %w", bridge, try, err)
					}
					continue
				}
				status, err := here.Status(ctx)
				if err != nil || !status.Up || !strings.Contains(strings.Join(status.Routing.Rules, "\n"), bridge+" unreachable") {
					errs <- fmt.Errorf("%s is open: %v, %v, %w", bridge, status.Drift, status.Routing.Rules, errors.Join(err))
				}
				errs <- sockets.Close()
			}
		})
	}
	for range 2 {
		wait.Go(func() {
			for range 6 {
				if err := here.Down(ctx); err != nil && fault.KindOf(err) != fault.Refused {
					errs <- err
				}
			}
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	sh(t, "for i in 0 1 2 3; do ip link del aibox-race$i; done")
	must(t, here.Down(ctx))
	unchanged(t, before, snapshot)
}
