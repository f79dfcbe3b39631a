package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aibox/netguard"
)

// world is a namespace with a guarded bridge, a sandbox behind it, another sandbox, a machine
// outside, and listeners everywhere.
type world struct {
	t       *testing.T
	prober  string
	sandbox int // a process in the sandbox
	allowed []string
	denied  []string
}

// room starts a network namespace that lasts as long as the test, behind bridge or, without
// one, behind a separate route.
func room(t *testing.T, name, bridge, script string) (pid int) {
	t.Helper()
	cmd := exec.Command("unshare", "-n", "sh", "-c", "echo; read _")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	pid = cmd.Process.Pid
	sh(t, fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d; ip link set %s up", name, pid, name))
	if bridge != "" {
		sh(t, "ip link set "+name+" master "+bridge)
	}
	sh(t, fmt.Sprintf("nsenter -t %d -n sh -ec 'ip link set lo up; ip link set eth0 up; %s'", pid, script))
	return pid
}

func newWorld(t *testing.T) *world {
	t.Helper()
	// Forwarding is on, and nothing else refuses packets.
	sh(t, strings.ReplaceAll(dockerLike, "iptables -P FORWARD DROP", "")+`
echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding; echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
ip addr add 172.31.241.1/29 dev aibox-test1
ip -6 addr add fd00:1::1/64 dev aibox-test0 nodad
ip addr add 10.9.9.1/32 dev lo; ip addr add 10.200.200.1/32 dev lo; ip -6 addr add fd00:9::1/128 dev lo nodad`)
	w := &world{t: t, prober: buildProber(t)}
	w.sandbox = room(t, "vbox", "aibox-test0", "ip addr add 172.31.240.2/29 dev eth0; ip route add default via 172.31.240.1; ip -6 addr add fd00:1::2/64 dev eth0 nodad; ip -6 route add default via fd00:1::1")
	other := room(t, "vother", "aibox-test1", "ip addr add 172.31.241.2/29 dev eth0; ip route add default via 172.31.241.1")
	outside := room(t, "vout", "", "ip addr add 192.0.2.2/24 dev eth0; ip route add default via 192.0.2.1; ip -6 addr add fd00:2::2/64 dev eth0 nodad; ip -6 route add default via fd00:2::1")
	sh(t, "ip addr add 192.0.2.1/24 dev vout; ip -6 addr add fd00:2::1/64 dev vout nodad")
	serve := func(pid int, address string) string {
		return startServer(t, exec.Command("nsenter", "-t", strconv.Itoa(pid), "-n", w.prober, "serve", address))
	}
	wild, err := net.Listen("tcp", ":0")
	must(t, err)
	t.Cleanup(func() { wild.Close() })
	go serveEcho(wild)
	echoes := func(address string) string { // a wildcard socket would answer from another address
		packets, err := net.ListenPacket("udp", address)
		must(t, err)
		t.Cleanup(func() { packets.Close() })
		go func() {
			packet := make([]byte, 64)
			for {
				n, from, err := packets.ReadFrom(packet)
				if err != nil {
					return
				}
				_, _ = packets.WriteTo(packet[:n], from)
			}
		}()
		return "udp " + packets.LocalAddr().String()
	}
	tcp := strconv.Itoa(wild.Addr().(*net.TCPAddr).Port)
	far, far6, near := serve(outside, "192.0.2.2:0"), serve(outside, "[fd00:2::2]:0"), serve(other, ":0")
	guard := netguard.Address().String()
	w.denied = []string{
		"tcp " + guard + ":" + tcp, echoes(guard + ":0"), // other ports of the guard's address
		"tcp 172.31.240.1:" + tcp, echoes("172.31.240.1:0"), "ip4:icmp 172.31.240.1", // the bridge
		"tcp 10.9.9.1:" + tcp, echoes("10.9.9.1:0"), "ip4:icmp 10.9.9.1", // the namespace's other addresses
		"tcp 192.0.2.2:" + far, "ip4:icmp 192.0.2.2", "tcp [fd00:2::2]:" + far6, // outside
		"tcp 172.31.241.2:" + near,                        // another sandbox
		"tcp [fd00:9::1]:" + tcp, echoes("[fd00:9::1]:0"), // IPv6
	}
	return w
}

// open returns the targets that answer the sandbox.
func (w *world) open() []string {
	w.t.Helper()
	var open []string
	for _, r := range w.probe() {
		if r.Open {
			open = append(open, r.Target)
		}
	}
	return open
}

// probe asks all targets at the same time from the sandbox.
func (w *world) probe() []probed {
	w.t.Helper()
	targets := append(slices.Clone(w.allowed), w.denied...)
	sh(w.t, fmt.Sprintf("nsenter -t %d -n ip neigh flush all", w.sandbox))
	cmd := exec.Command("nsenter", append([]string{"-t", strconv.Itoa(w.sandbox), "-n", w.prober, "probe"}, targets...)...)
	cmd.Env = append(cmd.Environ(), "PATIENCE=300ms")
	out, err := cmd.Output()
	must(w.t, err)
	var results []probed
	must(w.t, json.Unmarshal(out, &results))
	return results
}

// mustReach fails the test unless each of the targets, and no other, answers in one of three
// tries: the first ping of a new namespace can be lost.
func (w *world) mustReach(targets []string) {
	w.t.Helper()
	var open, failures []string
	for try := range 3 {
		for _, r := range w.probe() {
			if r.Open && !slices.Contains(open, r.Target) {
				open = append(open, r.Target)
			} else if !r.Open && slices.Contains(targets, r.Target) {
				failures = append(failures, fmt.Sprintf("try %d of %s after %d ms: %s", try+1, r.Target, r.Millis, r.Err))
			}
		}
		slices.Sort(open)
		if slices.Equal(open, slices.Sorted(slices.Values(targets))) {
			return
		}
	}
	w.t.Fatalf("without a guard, the sandbox must reach all the rest, or the test proves nothing: it reaches %q\n%s", open, strings.Join(failures, "\n"))
}

// covered are rules whose removal changes no probe even without the other lock, with the
// reasons. Each reason is one or more rules of the same lock.
var covered = map[string]string{
	"FORWARD -i aibox-+ -j AIBOX-FORWARD":                             "DOCKER-USER has the same rule",
	"DOCKER-USER -i aibox-+ -j AIBOX-FORWARD":                         "FORWARD has the same rule",
	"FORWARD -o aibox-+ -j AIBOX-FORWARD":                             "the sandbox's answers are refused by the rule with -i",
	"DOCKER-USER -o aibox-+ -j AIBOX-FORWARD":                         "the sandbox's answers are refused by the rule with -i",
	"AIBOX-INPUT -m comment --comment aibox-made-this-table":          "it refuses nothing, and marks the table as ours",
	"v6 FORWARD -i aibox-+ -j AIBOX-FORWARD":                          "answers to the sandbox are refused by the rule with -o",
	"v6 AIBOX-FORWARD -j REJECT --reject-with icmp6-port-unreachable": "no probe sends UDP or ICMP to a machine outside by IPv6",
	"pref 13 iif aibox-test0 unreachable":                             "the rules at 11 refuse TCP, UDP and ICMP, and no probe speaks another protocol",
	"v6 FORWARD -o aibox-+ -j AIBOX-FORWARD":                          "the sandbox's answers are refused by the rule with -i",
	"v6 AIBOX-INPUT -m comment --comment aibox-made-this-table":       "it refuses nothing, and marks the table as ours",
}

// Each rule of each lock is removed by itself. With the other lock, no removal opens
// anything; without it, each removal changes what the sandbox can reach.
func TestEveryRuleIsNeededAndNoneAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute; go test without -short runs it")
	}
	if !inNamespace(t) {
		return
	}
	w := newWorld(t)
	ctx := context.Background()
	request := GuardRequest{TCP: netguard.TCPPorts(), UDP: netguard.Public.UDPPorts()}
	for _, port := range request.TCP {
		w.allowed = append(w.allowed, fmt.Sprintf("tcp %s:%d", netguard.Address(), port))
	}
	for _, port := range request.UDP {
		w.allowed = append(w.allowed, fmt.Sprintf("udp %s:%d", netguard.Address(), port))
	}
	w.mustReach(w.denied)
	sockets, err := here.Guard(ctx, "aibox-test0", request)
	must(t, err)
	answer(t, sockets, false)
	if open := w.open(); !slices.Equal(open, w.allowed) {
		t.Fatalf("under both locks the sandbox reaches %q", open)
	}

	tables := map[string]string{"iptables": sh(t, "iptables-save -t filter"), "ip6tables": sh(t, "ip6tables-save -t filter")}
	load := func(tables map[string]string) {
		for tool, text := range tables {
			sh(t, tool+"-restore <<'END'\n"+text+"\nEND")
		}
	}
	withoutLock1 := map[string]string{}
	for tool, text := range tables {
		kept := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.Contains(line, "AIBOX") })
		withoutLock1[tool] = strings.Join(kept, "\n")
	}
	routing, err := readRouting()
	must(t, err)
	edit := func(verb string, lock2 []string) {
		for _, rule := range lock2 {
			family, text, _ := strings.Cut(rule, "|")
			sh(t, "ip "+family+"rule "+verb+" "+text)
		}
	}
	var lock2 []string
	for _, rule := range routing.own() {
		if rule.IifName != "aibox-test0" {
			continue
		}
		lock2 = append(lock2, familyFlag(rule.Family)+"|"+ipRule(rule))
	}

	// check removes one rule with and without the other lock.
	check := func(name string, remove, restore, otherOff, otherOn func()) {
		remove()
		for _, target := range w.open() {
			if slices.Contains(w.denied, target) {
				t.Errorf("without %q, and under the other lock, the sandbox reaches %s", name, target)
			}
		}
		restore()
		otherOff()
		defer otherOn()
		if open := w.open(); !slices.Equal(open, w.allowed) {
			t.Errorf("under the lock of %q alone, the sandbox reaches %q", name, open)
		}
		remove()
		defer restore()
		var changed []string
		open := w.open()
		for _, target := range append(slices.Clone(w.allowed), w.denied...) {
			if slices.Contains(open, target) != slices.Contains(w.allowed, target) {
				changed = append(changed, target)
			}
		}
		reason, isCovered := covered[name]
		switch {
		case strings.HasSuffix(name, "-p tcp -j REJECT --reject-with tcp-reset"): // only faster than the next rule, which refuses the same
			t.Logf("%-90s the next rule refuses with an ICMP error, which is slower", name)
		case len(changed) == 0 && !isCovered:
			t.Errorf("nothing changes without %q", name)
		case len(changed) > 0 && isCovered:
			t.Errorf("without %q, %q changes, although %s", name, changed, reason)
		case isCovered:
			t.Logf("%-90s %s", name, reason)
		default:
			t.Logf("%-90s changes %s", name, strings.Join(changed, ", "))
		}
	}

	for tool, prefix := range map[string]string{"iptables": "", "ip6tables": "v6 "} {
		for line := range strings.Lines(tables[tool]) {
			line = strings.TrimSpace(line)
			rule, ok := strings.CutPrefix(line, "-A ")
			if !ok || !strings.Contains(rule, "AIBOX") {
				continue
			}
			check(prefix+rule,
				func() { sh(t, tool+" -D "+rule) }, func() { load(tables) },
				func() { edit("del", lock2) }, func() { edit("add", lock2) })
		}
	}
	for _, rule := range lock2 {
		one := []string{rule}
		check(strings.ReplaceAll(rule, "|", ""),
			func() { edit("del", one) }, func() { edit("add", one) },
			func() { load(withoutLock1) }, func() { load(tables) })
	}
}
