package rules

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"aibox/internal/fault"
)

// namespaces are the states in which up finds a namespace.
var namespaces = map[string]string{
	"nf_tables": dockerLike,
	"legacy":    strings.ReplaceAll(dockerLike, "iptables", "iptables-legacy"),
	"no Docker": "ip link set lo up; ip link add aibox-test0 type bridge; ip link set aibox-test0 up",
	"ICMP":      dockerLike + "\necho 500 > /proc/sys/net/ipv4/icmp_ratelimit",
	"ICMP off":  dockerLike + "\necho 0 > /proc/sys/net/ipv4/icmp_ratelimit",
	"address":   dockerLike + "\nip addr add 10.200.200.1/32 dev lo",
	"ifconfig":  dockerLike + "\nip addr add 10.200.200.1/32 dev lo label lo:1",
}

// inEachNamespace runs the test in separate namespaces, one for each state.
func inEachNamespace(t *testing.T, test func(t *testing.T)) {
	for name, script := range namespaces {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			if inNamespace(t) {
				sh(t, script)
				test(t)
			}
		})
	}
}

// usersAddress reports whether the user had set the guard's address before up.
func usersAddress(before string) bool {
	return strings.Contains(before, "10.200.200.1/32 scope global lo")
}

func TestPrintedTransactionDoesTheSameAsTheJob(t *testing.T) {
	inEachNamespace(t, func(t *testing.T) {
		ctx := context.Background()
		before := sh(t, snapshot)
		up, err := here.PlanUp(ctx)
		must(t, err)
		unchanged(t, before, snapshot)
		must(t, here.Up(ctx))
		want := sh(t, snapshot)
		down, err := here.PlanDown(ctx)
		must(t, err)
		unchanged(t, want, snapshot)
		must(t, here.Down(ctx))

		sh(t, Script(up))
		unchanged(t, want, snapshot)
		if status, err := here.Status(ctx); err != nil || !status.Up || status.ICMPRate == usersAddress(before) {
			t.Errorf("%v, %v after\n%s", status.Drift, err, Script(up))
		}
		if again, err := here.PlanUp(ctx); err != nil || len(again) > 0 {
			t.Errorf("what is up needs\n%s%v", Script(again), err)
		}
		sh(t, Script(down))
		unchanged(t, before, snapshot)
		if again, err := here.PlanDown(ctx); err != nil || len(again) > 0 {
			t.Errorf("what is down needs\n%s%v", Script(again), err)
		}
	})
}

func TestPrintedTransactionRemovesTheLocksOfBridges(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	before := sh(t, snapshot)
	ctx := context.Background()
	sockets, err := here.Guard(ctx, "aibox-test0", labPorts)
	must(t, err)
	if _, err := here.PlanDown(ctx); fault.KindOf(err) != fault.Refused {
		t.Errorf("under a session: %v", err)
	}
	must(t, sockets.Close())
	sh(t, "ip rule add pref 13 iif aibox-test0 fwmark 7 unreachable; ip rule add pref 11 iif aibox-test0 ipproto tcp sport 9 unreachable")
	down, err := here.PlanDown(ctx)
	must(t, err)
	sh(t, Script(down))
	unchanged(t, before, snapshot)
}

func TestPrintedTransactionRepairsDrift(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	ctx := locked(t)
	for _, damage := range damages {
		sh(t, damage)
		plan, err := here.PlanUp(ctx)
		must(t, err)
		sh(t, Script(plan))
		if status, err := here.Status(ctx); err != nil || !status.Up {
			t.Errorf("%s: %v, %v after\n%s", damage, status.Drift, err, Script(plan))
		}
	}
}

func TestUpAndDownContinueAfterAJobWasKilledBetweenAnyTwoChanges(t *testing.T) {
	inEachNamespace(t, func(t *testing.T) {
		ctx := context.Background()
		before := sh(t, snapshot)
		up := func(c Client) error { return c.Up(ctx) }
		down := func(c Client) error { return c.Down(ctx) }
		changesOfUp, changesOfDown := 7, 7
		bridge := strings.Contains(sh(t, "iptables -S; iptables-legacy -S"), "DOCKER") && sh(t, "cat "+icmpRateFile) == "1000"
		if bridge {
			up = func(c Client) error { // with a bridge
				sockets, err := c.Guard(ctx, "aibox-test0", onePort)
				if err == nil {
					err = sockets.Close()
				}
				return err
			}
			changesOfUp, changesOfDown = 14, 14
		}
		if usersAddress(before) { // it stays, and so does the limit of ICMP errors
			changesOfUp, changesOfDown = changesOfUp-2, changesOfDown-2
		}
		for _, test := range []struct {
			name          string
			first, killed func(Client) error
			atLeast       int // changes
		}{
			{"up", nil, up, changesOfUp},
			{"down", up, down, changesOfDown},
		} {
			for _, repaired := range []bool{false, true} {
				if repaired && !bridge {
					continue // they differ only in the state that down restores
				}
				changes := 0
				for ; ; changes++ {
					if test.first != nil {
						must(t, test.first(here))
					}
					killed := here
					killed.Args = []string{"killed-job", fmt.Sprint(changes)}
					finished := test.killed(killed) == nil
					if repaired {
						must(t, here.Up(ctx)) // fails if any drift is left
					}
					must(t, here.Down(ctx))
					if after := sh(t, snapshot); after != before {
						t.Fatalf("%s killed after %d changes (then up: %v), then down:\n%s\n--- before:\n%s", test.name, changes, repaired, after, before)
					}
					if finished {
						break
					}
				}
				if changes < test.atLeast {
					t.Errorf("%s made only %d changes", test.name, changes)
				}
			}
		}
	})
}

func TestDownKeepsChangesByOthers(t *testing.T) {
	for name, script := range map[string]string{
		"rules first":      "iptables -I INPUT 1 -s 192.0.2.8/32 -j ACCEPT; iptables -I FORWARD 1 -s 192.0.2.8/32 -j DROP; ip6tables -I INPUT 1 -s fd00::1/128 -j DROP",
		"rules last":       "iptables -A INPUT -s 192.0.2.8/32 -j ACCEPT; ip6tables -A FORWARD -s fd00::1/128 -j DROP",
		"a chain":          "iptables -N THEIRS; iptables -A THEIRS -j RETURN; iptables -A FORWARD -j THEIRS",
		"another network":  "iptables -N DOCKER-ISOLATION-STAGE-1; iptables -I FORWARD 1 -j DOCKER-ISOLATION-STAGE-1; iptables -D FORWARD -j DOCKER-USER; iptables -I FORWARD 1 -j DOCKER-USER",
		"Docker restarted": "iptables -F DOCKER; iptables -X DOCKER 2>/dev/null || iptables -D FORWARD -o docker0 -j DOCKER; iptables -N DOCKER 2>/dev/null || true; iptables -A FORWARD -o docker0 -j DOCKER; iptables -D FORWARD -j DOCKER-USER; iptables -I FORWARD 1 -j DOCKER-USER",
		"routing":          "ip rule add pref 100 from 192.0.2.0/24 lookup main; ip -6 rule add pref 100 from fd00::/8 lookup main",
		"an address":       "ip addr add 192.0.2.1/32 dev lo",
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			if !inNamespace(t) {
				return
			}
			sh(t, dockerLike)
			ctx := context.Background()
			// The same changes without aibox, in a copy of the namespace.
			want := sh(t, "unshare -n sh -ec '"+strings.ReplaceAll(dockerLike+"\n"+script+"\n"+snapshot, "'", `'\''`)+"'")
			sockets, err := here.Guard(ctx, "aibox-test0", labPorts)
			must(t, err)
			sh(t, script)
			must(t, here.Up(ctx))
			if status, err := here.Status(ctx); err != nil || !status.Up {
				t.Errorf("%v, %v", status.Drift, err)
			}
			must(t, sockets.Close())
			must(t, here.Down(ctx))
			unchanged(t, want, snapshot)
		})
	}
}

func TestScriptQuotesAndFeedsCommands(t *testing.T) {
	got := Script([]Change{
		{Command: []string{"iptables-restore", "--noflush"}, Input: "*filter\nCOMMIT\n"},
		{Command: []string{"ip", "addr", "add", "a b"}},
		{Command: []string{"sysctl", "-w", "x=0"}, Optional: true},
	})
	if want := "iptables-restore --noflush <<'END'\n*filter\nCOMMIT\nEND\nip addr add 'a b'\nsysctl -w x=0 || true\n"; got != want {
		t.Errorf("got\n%s", got)
	}
}
