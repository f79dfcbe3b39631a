package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"aibox/netguard"
)

// These tests use the rootless daemon that DOCKER_HOST names and real sandboxes under
// runsc. Switching a lock off for the whole namespace would open other sessions, so
// the tests switch it off for their own bridge: one whose name lock 1 does not
// match, or one that lock 2 has no rule for.

func TestSandboxReachesOnlyTheGatewayUnderEitherLockAlone(t *testing.T) {
	needSandboxes(t)
	client := Client{Site: site(t)}
	must(t, client.Up(context.Background()))
	program, image := newProber(t)
	wild := listenInNamespace(t, program)
	for _, test := range []struct {
		name, prefix, op string
	}{
		{"both locks", netguard.BridgePrefix + "x", ""},
		{"lock 1 off", unmatched, "lock-and-open"},
		{"lock 2 off", netguard.BridgePrefix + "x", "open"},
	} {
		for _, rejecter := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, rejecter %v", test.name, rejecter), func(t *testing.T) {
				l, other := newLab(t, test.prefix, image), newLab(t, test.prefix, image)
				sessionListening := startServer(t, other.sandbox("serve", ":0"))
				target := "tcp " + other.peer + ":" + sessionListening
				letPast(t, l.bridge, other.bridge)
				var sockets *Sockets
				if test.op == "" {
					var err error
					if sockets, err = client.Guard(context.Background(), l.bridge, labPorts); err != nil {
						t.Fatal(err)
					}
				} else {
					sockets = unguarded(t, test.op, l.bridge, labPorts)
				}
				seen := answer(t, sockets, rejecter)
				all, _ := l.forbidden(wild, target)
				found := l.probe(append(slices.Clone(allowed), all...)...)
				for _, target := range allowed {
					if !found[target].Open {
						t.Errorf("%s should answer: %s", target, found[target].Err)
					}
				}
				// On a busy machine, a few refusals are late; without a rejecter nearly all
				// of so many are, since the kernel refuses about one a second.
				for again := 0; rejecter && again < 3; again++ {
					for target, result := range l.probe(all...) {
						if before := found[target]; !before.Open && result.Millis < before.Millis || result.Open {
							found[target] = result
						}
					}
				}
				for _, target := range all {
					switch result := found[target]; {
					case result.Open:
						t.Errorf("%s answered", target)
					case rejecter && result.Millis > 100:
						t.Errorf("%s was refused only after %d ms: %s", target, result.Millis, result.Err)
					}
				}
				if rejecter && test.op == "" && !seen.has("tcp 1.1.1.1:443") {
					t.Errorf("the refusal of 1.1.1.1:443 was not reported: %v", seen.list)
				}
			})
		}
	}
}

// The counterpart of the test above: without the locks the targets can be reached.
func TestWithoutLocksASandboxReachesTheNamespaceAndOtherSandboxes(t *testing.T) {
	needSandboxes(t)
	must(t, (Client{Site: site(t)}).Up(context.Background()))
	program, image := newProber(t)
	wild := listenInNamespace(t, program)
	l, other := newLab(t, unmatched, image), newLab(t, unmatched, image)
	target := "tcp " + other.peer + ":" + startServer(t, other.sandbox("serve", ":0"))
	letPast(t, l.bridge, other.bridge)
	answer(t, unguarded(t, "open", l.bridge, labPorts), false)
	_, reachable := l.forbidden(wild, target)
	reachable = append(reachable, target)
	found := l.probe(reachable...)
	for _, target := range reachable {
		if !found[target].Open {
			t.Errorf("%s should answer when nothing guards, or the attack test proves nothing: %s", target, found[target].Err)
		}
	}
}

func BenchmarkGuardOfADockerBridge(b *testing.B) {
	l := newLab(b, netguard.BridgePrefix+"x", "")
	client := Client{Site: site(b)}
	for b.Loop() {
		sockets, err := client.Guard(context.Background(), l.bridge, labPorts)
		if err != nil {
			b.Fatal(err)
		}
		sockets.Close()
	}
}

func TestDetachedNamespaceIsEnteredThroughItsFile(t *testing.T) {
	needSandboxes(t)
	s := site(t)
	s.NetNS = cmp.Or(s.NetNS, fmt.Sprintf("/proc/%d/ns/net", s.PID))
	client := Client{Site: s}
	must(t, client.Up(context.Background()))
	if status, err := client.Status(context.Background()); err != nil || !status.Up {
		t.Errorf("%+v, %v", status, err)
	}
}
