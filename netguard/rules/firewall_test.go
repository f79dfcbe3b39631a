package rules

import (
	"context"
	"io"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"aibox/netguard"
)

func TestRulesAreReadWithTheirCounters(t *testing.T) {
	got := parseRules([]string{
		"-P INPUT ACCEPT -c 3 4",
		"-N AIBOX-INPUT",
		"-A INPUT -i aibox-+ -c 12 9351 -j AIBOX-INPUT",
		"-A INPUT -j DROP -c 7 70", // an older version, as the library normalizes it
		`-A INPUT -m comment --comment "say -c 1 2 twice" -c 5 6 -j DROP`,
		"-A INPUT -s 192.0.2.1/32 -j DROP",
		"", "-A", "# Warning: iptables-legacy tables present",
	})
	for chain, rules := range got {
		for i := range rules {
			got[chain][i].line = ""
		}
	}
	want := map[string][]listedRule{"AIBOX-INPUT": {}, "INPUT": {
		{spec: "-i aibox-+ -j AIBOX-INPUT", packets: 12},
		{spec: "-j DROP", packets: 7},
		{spec: `-m comment --comment "say twice" -c 5 6 -j DROP`, packets: 1}, // unrelated rules, which are never mistaken for ours
		{spec: "-s 192.0.2.1/32 -j DROP"},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestFirewallAcceptsOnlyThePolicysPorts(t *testing.T) {
	listening := map[string]bool{}
	listening["-p tcp -m tcp --dport "+strconv.Itoa(netguard.PortSandboxes)] = true // of sessions that may create sandboxes
	for _, policy := range netguard.Modes() {
		for _, port := range policy.TCPPorts() {
			listening["-p tcp -m tcp --dport "+strconv.Itoa(port)] = true
		}
		for _, port := range policy.UDPPorts() {
			listening["-p udp -m udp --dport "+strconv.Itoa(port)] = true
		}
	}
	accepted := 0
	for chain, rules := range new(firewall).own() {
		for _, rule := range rules {
			match, ok := strings.CutSuffix(rule, " -j ACCEPT")
			if !ok {
				continue
			}
			accepted++
			if port, ok := strings.CutPrefix(match, "-d 10.200.200.1/32 "); !ok || !listening[port] {
				t.Errorf("%s accepts %q, which no policy listens on", chain, match)
			}
		}
	}
	if accepted != len(listening) {
		t.Errorf("%d ports are accepted, policies listen on %d", accepted, len(listening))
	}
}

// visit runs a script as if in a sandbox on aibox-test0: in a separate namespace, behind a
// port of the bridge.
func visit(t *testing.T, script string) {
	t.Helper()
	sandbox := exec.Command("unshare", "-n", "bash", "-c", "echo here; read _; ip addr add 172.31.240.2/29 dev box; ip link set box up; ip route add default via 172.31.240.1\n"+script)
	in, err := sandbox.StdinPipe()
	must(t, err)
	out, err := sandbox.StdoutPipe()
	must(t, err)
	must(t, sandbox.Start())
	if _, err := io.ReadFull(out, make([]byte, len("here\n"))); err != nil {
		t.Fatal(err)
	}
	sh(t, "ip link add port type veth peer name box; ip link set port master aibox-test0 up; ip link set box netns "+strconv.Itoa(sandbox.Process.Pid))
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(out)
	err = sandbox.Wait()
	// The kernel removes the veth pair some time after the namespace's last process has ended.
	sh(t, "ip link del port 2>/dev/null || true")
	if err != nil {
		t.Fatalf("in the sandbox: %v\n%s", err, text)
	}
}

func TestOnlySessionsWithAProxyReachItsPort(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := context.Background()
	for _, policy := range netguard.Modes() {
		sockets, err := here.Guard(ctx, "aibox-test0", GuardRequest{TCP: policy.TCPPorts(), UDP: policy.UDPPorts()})
		must(t, err)
		answer(t, sockets, true)
		script := "exec 3<>/dev/tcp/10.200.200.1/3128"
		if !policy.HasProxy() {
			script = "! " + script
		}
		t.Log(policy)
		visit(t, script)
		must(t, sockets.Close())
	}
}

func TestStatusCountsPacketsAcrossJumpRepairs(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := context.Background()
	guarded(t, "aibox-test0", GuardRequest{TCP: []int{11434}})
	visit(t, "exec 3<>/dev/tcp/10.200.200.1/11434")
	accepted := func() uint64 {
		t.Helper()
		status, err := here.Status(ctx)
		if err != nil || !status.Up {
			t.Fatalf("%v, %v", status.Drift, err)
		}
		return status.Firewall.Accepted
	}
	count := accepted()
	if count < 2 {
		t.Errorf("counted %d packets of a connection", count)
	}
	for _, change := range []string{
		// This is what dockerd does when it creates a network.
		"iptables -N DOCKER-ISOLATION-STAGE-1; iptables -I FORWARD 1 -j DOCKER-ISOLATION-STAGE-1; iptables -D FORWARD -j DOCKER-USER; iptables -I FORWARD 1 -j DOCKER-USER",
		"iptables -I INPUT 1 -j ACCEPT",
		"iptables -F FORWARD",
	} {
		sh(t, change)
		must(t, here.Up(ctx))
		if again := accepted(); again < count {
			t.Errorf("%s: %d packets became %d", change, count, again)
		}
	}
}

func TestRejectedPacketsAreCountedAtLockOne(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := locked(t)
	visit(t, "! exec 3<>/dev/tcp/10.200.200.1/22") // no routing lock on the bridge yet
	status, err := here.Status(ctx)
	if err != nil || status.Firewall.Refused == 0 {
		t.Errorf("counted %d, %v", status.Firewall.Refused, err)
	}
}

func TestDockerJumpCoversForwardOnlyWithItsRules(t *testing.T) {
	jump := func(specs ...string) (rules []listedRule) {
		for _, spec := range specs {
			rules = append(rules, listedRule{spec: spec})
		}
		return rules
	}
	const in, out, user = "-i aibox-+ -j AIBOX-FORWARD", "-o aibox-+ -j AIBOX-FORWARD", "-j DOCKER-USER"
	for _, test := range []struct {
		name         string
		forward, own []listedRule
		intact       bool
	}{
		{"ours first", jump(in, out, user), jump(in, out), true},
		{"Docker's first", jump(user, "-j DOCKER-ISOLATION-STAGE-1", in, out), jump(in, out), true},
		{"Docker's first, and empty", jump(user, in, out), nil, false},
		{"Docker's first, and ours second in it", jump(user, in, out), jump("-j ACCEPT", in, out), false},
		{"Docker's first, and nothing after", jump(user), jump(in, out), false},
		{"a conditional jump first", jump("-i eth0 "+user, "-j ACCEPT", in, out), jump(in, out), false},
		{"another rule is first", jump("-j ACCEPT", user, in, out), jump(in, out), false},
	} {
		f := &firewall{chains: map[string][]listedRule{"INPUT": jump("-i aibox-+ -j AIBOX-INPUT"), "FORWARD": test.forward, chainDocker: test.own}}
		for chain, rules := range f.own() {
			f.chains[chain] = jump(rules...)
		}
		if drift := f.drift(); (len(drift) == 0) != test.intact {
			t.Errorf("%s: %v", test.name, drift)
		}
	}
}

func TestBusyBackendIsNotReportedAsMissing(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, "ip link set lo up; ip link add aibox-test0 type bridge; iptables-legacy -N DOCKER-USER")
	sh(t, `mount -t tmpfs none /mnt; printf '#!/bin/sh\ncase $1 in --version) echo "iptables v1.8.9 (legacy)";; *) echo busy >&2; exit 4; esac\n' > /mnt/iptables-legacy; chmod +x /mnt/iptables-legacy`)
	t.Setenv("PATH", "/mnt:/usr/sbin:/usr/bin:/bin")
	if _, err := here.Guard(context.Background(), "aibox-test0", GuardRequest{TCP: []int{11434}}); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("got %v", err)
	}
}

func TestDownRemovesLocksFromTheBackendThatDockerLeft(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, "ip link set lo up; ip link add aibox-test0 type bridge; iptables-legacy -N DOCKER-USER; iptables -A INPUT -s 192.0.2.7/32 -j DROP")
	before := sh(t, snapshot)
	ctx := locked(t)
	// The state after dockerd has switched to the legacy backend: a lock in each backend.
	sh(t, "iptables-legacy-save -t filter | grep -v DOCKER | iptables-restore --noflush")
	must(t, here.Down(ctx))
	unchanged(t, before, snapshot)
}

func TestTableWithForeignEntriesIsKept(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for name, test := range map[string]struct{ before, during string }{
		"its own from before": {before: "nft 'add table ip6 filter; add set ip6 filter theirs { type ipv6_addr; }'"},
		"its own since":       {during: "nft 'add set ip6 filter theirs { type ipv6_addr; }'"},
		"a policy since":      {during: "ip6tables -P FORWARD DROP"},
	} {
		t.Run(name, func(t *testing.T) {
			sh(t, "ip link set lo up; nft flush ruleset; "+test.before)
			must(t, here.Up(context.Background()))
			sh(t, test.during)
			must(t, here.Down(context.Background()))
			if left := sh(t, "nft list ruleset"); !strings.Contains(left, "theirs") && !strings.Contains(left, "policy drop") || strings.Contains(left, "AIBOX") {
				t.Errorf("left:\n%s", left)
			}
		})
	}
}

func TestLegacyBackendTouchesNoNftTable(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, `ip link set lo up; ip link add aibox-test0 type bridge; mount -t tmpfs none /mnt
for tool in iptables ip6tables; do for end in '' -save -restore; do ln -s "$(command -v $tool-legacy$end)" /mnt/$tool$end; done; done
nft 'add table ip6 filter; add set ip6 filter theirs { type ipv6_addr; }'`)
	t.Setenv("PATH", "/mnt:/usr/sbin:/usr/bin:/bin")
	before := sh(t, "nft list ruleset")
	sockets, err := here.Guard(context.Background(), "aibox-test0", onePort)
	must(t, err)
	sockets.Close()
	if rules := sh(t, "iptables-legacy -S; ip6tables-legacy -S"); strings.Count(rules, "-N AIBOX-INPUT") != 2 {
		t.Errorf("the lock is not in the legacy tables:\n%s", rules)
	}
	must(t, here.Down(context.Background()))
	if rules := sh(t, "iptables-legacy -S; ip6tables-legacy -S"); strings.Contains(rules, "AIBOX") {
		t.Errorf("left:\n%s", rules)
	}
	unchanged(t, before, "nft list ruleset")
}

func TestJobLocksTheLegacyTablesLikeDockerd(t *testing.T) {
	cmd, err := Client{Exe: "/aibox", Site: Site{PID: 42}}.command()
	must(t, err)
	if env := strings.Join(cmd.Env, "\n"); !strings.Contains(env, "XTABLES_LOCKFILE=/proc/42/root/run/xtables.lock") {
		t.Errorf("the job's environment:\n%s", env)
	}
	if got := strings.Join(cmd.Args, " "); got != "-t 42 -U --preserve-credentials -n -- /aibox netguard-job" {
		t.Errorf("the job: %s", got)
	}
}

func TestTransactionKeepsCorrectRules(t *testing.T) {
	f := &firewall{v6: true, chains: map[string][]listedRule{"INPUT": {}, "FORWARD": {}}}
	all := f.restoreScript(true)
	for _, line := range []string{":AIBOX-INPUT - [0:0]", ":AIBOX-FORWARD - [0:0]", "-A AIBOX-INPUT -m comment --comment " + markComment, "-I INPUT 1 -i " + netguard.BridgePrefix + "+ -j AIBOX-INPUT", "-I FORWARD 2 -o aibox-+ -j AIBOX-FORWARD"} {
		if !strings.Contains(all, line+"\n") {
			t.Errorf("%q is not in\n%s", line, all)
		}
	}
	for chain, rules := range f.own() {
		for _, rule := range rules {
			f.chains[chain] = append(f.chains[chain], listedRule{spec: rule})
		}
	}
	if jumps := f.restoreScript(true); strings.Contains(jumps, "[0:0]") || strings.Contains(jumps, "-A ") || !strings.Contains(jumps, "-I INPUT 1 ") {
		t.Errorf("complete chains are written again:\n%s", jumps)
	}
}
