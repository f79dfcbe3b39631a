package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aibox/audit"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/manager"
)

// fakeProxy has one open connection to each host until a policy no longer allows it.
type fakeProxy struct {
	access ProxyAccess

	mu   sync.Mutex
	open []netguard.Destination

	leftPerHost int64 // of the budget for uploads to each host
}

func (p *fakeProxy) Authority() []byte { return nil }

func (p *fakeProxy) HostKeys([]netguard.Destination) []string { return nil }

func (p *fakeProxy) Lend(wanted netguard.Traffic) netguard.Traffic {
	lent := wanted
	lent.UploadPerHost = min(lent.UploadPerHost, p.leftPerHost)
	p.leftPerHost -= lent.UploadPerHost
	return lent
}

func (p *fakeProxy) Return(unused netguard.Traffic) { p.leftPerHost += unused.UploadPerHost }

func (p *fakeProxy) Transferred() int64 { return 0 }

func (p *fakeProxy) Serve(ctx context.Context, listener net.Listener) error {
	<-ctx.Done()
	return listener.Close()
}

func (p *fakeProxy) SetPolicy(policy *netguard.Matcher) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.open)
	p.open = slices.DeleteFunc(p.open, func(d netguard.Destination) bool { return !policy.Decide(d).Allowed })
	return before - len(p.open)
}

func destination(t *testing.T, text string) netguard.Destination {
	t.Helper()
	d, err := netguard.ParseDestination(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// proxied is a running session with the policy mode, and its proxy.
func proxied(t *testing.T, mode netguard.Mode) (*manager.Manager, *supervisor, *fakeProxy) {
	t.Helper()
	return proxiedWith(t, mode, session.Launch{})
}

// proxiedWith is proxied for a given launch.
func proxiedWith(t *testing.T, mode netguard.Mode, launch session.Launch) (*manager.Manager, *supervisor, *fakeProxy) {
	t.Helper()
	sessions, s := watched(t)
	s.launch.Spec, s.launch.Injected = launch.Spec, launch.Injected
	s.launch.Spec.ID, s.launch.Spec.Network = s.id, mode.String()
	if err := s.store.WriteSpec(s.id, s.launch.Spec); err != nil {
		t.Fatal(err)
	}
	s.current.Phase = session.Running
	proxy := &fakeProxy{}
	s.deps.Proxy = func(access ProxyAccess) (Proxy, error) {
		proxy.access = access
		return proxy, nil
	}
	if err := s.policy.start(); err != nil {
		t.Fatal(err)
	}
	if mode.HasProxy() {
		if _, err := s.policy.openProxy(); err != nil {
			t.Fatal(err)
		}
	}
	return sessions, s, proxy
}

func TestAllowedHostsOfARunningSessionChange(t *testing.T) {
	sessions, s, proxy := proxied(t, netguard.Allowlist)
	a := destination(t, "a.example:443")
	changed, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{"A.example", "*.b.example:8443"}, Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	want := session.Lists{Allow: []session.ListEntry{{Pattern: "a.example", Source: "aibox allow"}, {Pattern: "*.b.example:8443", Source: "aibox allow"}}, Deny: []session.ListEntry{}}
	if diff := cmp.Diff(want, changed.Lists); diff != "" {
		t.Error(diff)
	}
	if !s.policy.decide(a).Allowed {
		t.Error("a.example is not allowed")
	}
	proxy.open = []netguard.Destination{a, destination(t, "x.b.example:8443")}
	changed, err = sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Deny: []string{"a.example"}})
	if err != nil || changed.Closed != 1 || len(proxy.open) != 1 {
		t.Errorf("%+v, %v", changed, err)
	}
	if s.policy.decide(a).Allowed || len(changed.Allow) != 1 {
		t.Errorf("a.example is still allowed: %+v", changed)
	}
	if changed, err = sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{"a.example"}}); err != nil || len(changed.Deny) != 0 || !s.policy.decide(a).Allowed {
		t.Errorf("allowed again: %+v, %v", changed, err)
	}
	stored, err := s.store.Load(s.id)
	if err != nil || stored.State.Lists == nil || cmp.Diff(*stored.State.Lists, changed.Lists) != "" {
		t.Errorf("the record has %+v, %v", stored.State.Lists, err)
	}
	logged := policyChanges(t, sessions, s.id)
	if len(logged) != 3 || !slices.Equal(logged[0].Allow, []string{"a.example", "*.b.example:8443"}) || logged[0].Reason != "a test" {
		t.Errorf("the log has %+v", logged)
	}
}

// policyChanges returns the changes of a session's policy in its audit log.
func policyChanges(t *testing.T, sessions *manager.Manager, id session.ID) []audit.PolicyChange {
	t.Helper()
	var logged []audit.PolicyChange
	err := sessions.Events(id, func(e audit.Event) error {
		if e.Type != audit.PolicyChanged {
			return nil
		}
		logged = append(logged, audit.PolicyChange{})
		return json.Unmarshal(e.Data, &logged[len(logged)-1])
	})
	if err != nil {
		t.Fatal(err)
	}
	return logged
}

func TestSingleRequestsInTLSAreAllowedLaterOnlyAtAnInspectedHost(t *testing.T) {
	sessions, s, proxy := proxiedWith(t, netguard.Allowlist, session.Launch{Spec: session.Spec{Run: config.Run{Allow: []string{"*.example.org"}, Inspect: []string{"seen.example.net"}}}})
	open := destination(t, "api.example.org:443")
	proxy.open = []netguard.Destination{open}
	for entry, hint := range map[string]string{
		"GET https://api.example.org/**":      "aibox allow " + s.policy.number() + " api.example.org",
		"GET https://*.example.org:8443/v1/*": "aibox allow " + s.policy.number() + " '*.example.org:8443'",
	} {
		_, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{entry}})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "does not inspect") || !strings.Contains(strings.Join(fault.Hints(err), "\n"), hint) {
			t.Errorf("%s: %v, %q", entry, err, fault.Hints(err))
		}
	}
	if !s.policy.decide(open).Allowed || len(proxy.open) != 1 {
		t.Error("an entry that was refused closed connections that the policy allows")
	}
	changed, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{"GET https://seen.example.net/x", "GET http://plain.example.net/x"}})
	if err != nil || len(changed.Allow) != 3 {
		t.Errorf("%+v, %v", changed, err)
	}
}

func TestDeniedHostsOfTheSettingsCannotBeAllowedLater(t *testing.T) {
	sessions, s, _ := proxied(t, netguard.Public)
	pattern, err := netguard.ParseDeny("a.example")
	if err != nil {
		t.Fatal(err)
	}
	s.policy.rules.Deny = []netguard.Rule{{Pattern: pattern, Source: "your settings"}}
	_, err = sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{"a.example"}})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "your settings") {
		t.Errorf("got %v", err)
	}
}

func TestAnEntryThatAWiderDenialRefusesIsReported(t *testing.T) {
	sessions, s, _ := proxied(t, netguard.Public)
	pattern, err := netguard.ParseDeny("*.example.net")
	if err != nil {
		t.Fatal(err)
	}
	s.policy.rules.Deny = []netguard.Rule{{Pattern: pattern, Source: "your settings"}}
	if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Deny: []string{"*.example.org", "*.com"}}); err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string][]string{
		"a.example.net": {"*.example.net (your settings)"},
		"a.example.org": {"*.example.org (aibox deny)", "`aibox allow " + s.policy.number() + " '*.example.org'`"},
		"example.com":   {"*.com (aibox deny)", "`aibox allow " + s.policy.number() + " '*.com'`"},
	} {
		_, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{entry}})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want[0]) || !strings.Contains(strings.Join(fault.Hints(err), "\n"), strings.Join(want[1:], "")) {
			t.Errorf("%s: %v, %q", entry, err, fault.Hints(err))
		}
	}
	if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{"*.example.org"}}); err != nil {
		t.Error(err)
	}
}

// A denial can be wider than any entry that can be allowed.
func TestADenialIsUndoneByItsTextAndAllowsNothing(t *testing.T) {
	for _, entry := range []string{"*", "*:443", "*.com", "localhost"} {
		sessions, s, _ := proxied(t, netguard.Allowlist)
		if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{"a.example.com"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Deny: []string{entry, "*:80"}}); err != nil {
			t.Fatal(err)
		}
		changed, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{entry}})
		if err != nil || len(changed.Allow) != 1 || len(changed.Deny) != 1 || changed.Deny[0].Pattern != "*:80" {
			t.Errorf("%s: %+v, %v, %q", entry, changed, err, fault.Hints(err))
		}
		if !s.policy.decide(destination(t, "a.example.com:443")).Allowed || s.policy.decide(destination(t, "b.example.com:443")).Allowed {
			t.Errorf("%s: the undone denial does not leave what was allowed before", entry)
		}
		logged := policyChanges(t, sessions, s.id)
		if last := logged[len(logged)-1]; len(last.Allow) != 0 || !slices.Equal(last.Undone, []string{entry}) {
			t.Errorf("%s: the log has %+v", entry, last)
		}
		if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{entry}}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: without a denial it is %v", entry, err)
		}
	}
}

func TestADenialOfTheSettingsCannotBeUndone(t *testing.T) {
	sessions, s, _ := proxied(t, netguard.Public)
	pattern, err := netguard.ParseDeny("*")
	if err != nil {
		t.Fatal(err)
	}
	s.policy.rules.Deny = []netguard.Rule{{Pattern: pattern, Source: "your settings"}}
	if _, err = sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{"*"}}); fault.KindOf(err) != fault.Usage || len(s.policy.rules.Deny) != 1 {
		t.Errorf("got %v and %v", err, s.policy.rules.Deny)
	}
}

func TestInvalidPolicyChangesAreRefused(t *testing.T) {
	sessions, s, _ := proxied(t, netguard.Allowlist)
	for _, entry := range []string{"*", "*.com", "127.0.0.1", "169.254.169.254:80", "ftp://a.example", "", "npm", "github"} {
		if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{entry}}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q gave %v", entry, err)
		}
		if _, err := s.ChangePolicy([]string{entry}, nil, ""); fault.KindOf(err) != fault.Usage {
			t.Errorf("the supervisor took %q: %v", entry, err)
		}
	}
}

func TestSessionsWithoutAProxyHaveNoLists(t *testing.T) {
	for _, mode := range []netguard.Mode{netguard.None, netguard.Local} {
		sessions, s, _ := proxied(t, mode)
		_, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{"a.example"}})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "--network allowlist") {
			t.Errorf("%s: %v, hints %q", mode, err, fault.Hints(err))
		}
		if _, err := s.ChangePolicy([]string{"a.example"}, nil, ""); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: the supervisor gave %v", mode, err)
		}
	}
}

func TestEventsOfTheProxyAreCountedAndLogged(t *testing.T) {
	sessions, s, proxy := proxied(t, netguard.Allowlist)
	request := audit.Egress{Host: "a.example", Port: 443, Method: "CONNECT"}
	id := proxy.access.Record(ProxyEvent{Type: audit.EgressAllowed, Egress: request})
	refused := audit.Egress{Host: "b.example", Port: 443, Method: "CONNECT", Reason: "no"}
	first := proxy.access.Record(ProxyEvent{Type: audit.EgressRefused, Egress: refused})
	again := proxy.access.Record(ProxyEvent{Type: audit.EgressRefused, Egress: refused, Repeated: 2})
	if id == "" || first == "" || first == id || again != first {
		t.Errorf("the ids are %q, %q and %q", id, first, again)
	}
	proxy.access.Record(ProxyEvent{Type: audit.EgressClosed, AllowedID: id, End: audit.EgressEnd{Host: "a.example", Port: 443, BytesUp: 3, BytesDown: 5}})
	if got, want := s.counters.egressResult(), (session.Egress{Refused: 4}); got != want {
		t.Errorf("counted %+v", got)
	}
	var types []audit.Type
	var end audit.EgressEnd
	err := sessions.Events(s.id, func(e audit.Event) error {
		types = append(types, e.Type)
		if e.Type == audit.EgressClosed {
			return json.Unmarshal(e.Data, &end)
		}
		return nil
	})
	if err != nil || !slices.Equal(types, []audit.Type{audit.EgressAllowed, audit.EgressRefused, audit.EgressClosed}) || end.Allowed != 0 || end.BytesUp != 3 {
		t.Errorf("the log has %v, %+v, %v", types, end, err)
	}
}

func TestTheLogOfAllowedRequestsIsBounded(t *testing.T) {
	_, s, proxy := proxied(t, netguard.Public)
	s.counters.egressLogged = maxEgress
	id := proxy.access.Record(ProxyEvent{Type: audit.EgressAllowed, Egress: audit.Egress{Host: "a.example", Port: 443}})
	closed := proxy.access.Record(ProxyEvent{Type: audit.EgressClosed, AllowedID: id, End: audit.EgressEnd{BytesUp: 7}})
	if id != "" || closed != "" {
		t.Errorf("%q, %q", id, closed)
	}
}

// play plays an allowed request of the proxy to host from its beginning to its end.
func (p *fakeProxy) play(host string, at time.Time, up, down int64) {
	request := ProxyEvent{Type: audit.EgressAllowed, Egress: audit.Egress{Host: host, Port: 443, Method: "CONNECT"}}
	id := p.access.Record(request)
	p.access.Count(audit.EgressCount{Host: host, Port: 443, Requests: 1, First: at, Last: at}, id != "")
	p.access.Record(ProxyEvent{Type: audit.EgressClosed, AllowedID: id, End: audit.EgressEnd{Host: host, Port: 443, BytesUp: up, BytesDown: down}})
	p.access.Count(audit.EgressCount{Host: host, Port: 443, BytesUp: up, BytesDown: down, First: at, Last: at}, id != "")
}

// counted returns the counts of destinations in the log.
func counted(t *testing.T, sessions *manager.Manager, id session.ID) (all []audit.EgressCount) {
	t.Helper()
	err := sessions.Events(id, func(e audit.Event) error {
		if e.Type != audit.EgressCounted {
			return nil
		}
		var count audit.EgressCount
		err := json.Unmarshal(e.Data, &count)
		all = append(all, count)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRequestsBeyondTheLogAreCountedByDestination(t *testing.T) {
	sessions, s, proxy := proxied(t, netguard.Public)
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	proxy.play("a.example", at, 1, 10)
	if got := counted(t, sessions, s.id); got != nil {
		t.Errorf("a request that the log has is counted too: %+v", got)
	}
	s.counters.egressLogged = maxEgress
	for i := range 3 {
		proxy.play("a.example", at.Add(time.Duration(i+1)*time.Second), 2, 20)
	}
	proxy.play("late.example", at.Add(time.Minute), 1<<30, 5)
	first := []audit.EgressCount{
		{Host: "a.example", Port: 443, Requests: 2, BytesUp: 1, BytesDown: 10, First: at, Last: at.Add(time.Second)},
		{Host: "late.example", Port: 443, Requests: 1, First: at.Add(time.Minute), Last: at.Add(time.Minute)},
	}
	if diff := cmp.Diff(first, counted(t, sessions, s.id)); diff != "" {
		t.Error(diff)
	}
	s.logDestinations()
	want := []audit.EgressCount{
		{Host: "a.example", Port: 443, Requests: 4, BytesUp: 7, BytesDown: 70, First: at, Last: at.Add(3 * time.Second)},
		{Host: "late.example", Port: 443, Requests: 1, BytesUp: 1 << 30, BytesDown: 5, First: at.Add(time.Minute), Last: at.Add(time.Minute)},
	}
	if diff := cmp.Diff(append(first, want...), counted(t, sessions, s.id)); diff != "" {
		t.Error(diff)
	}
	if got, want := s.counters.egressResult(), (session.Egress{Allowed: 5, Up: 7 + 1<<30, Down: 75}); got != want {
		t.Errorf("counted %+v", got)
	}
}

// A connection of an ended sandbox stays open until the proxy closes it, and its bytes are
// known only then.
func TestTheEndOfTheProxyIsAwaited(t *testing.T) {
	_, s, proxy := proxied(t, netguard.Public)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	s.serveProxy(t.Context(), proxyOf{proxy, func() { proxy.play("a.example", at, 2, 3) }}, listener)
	s.stopProxy()
	if got, want := s.counters.egressResult(), (session.Egress{Allowed: 1, Up: 2, Down: 3}); got != want {
		t.Errorf("counted %+v", got)
	}
	if s.isEnding() {
		t.Error("the session ends because of the proxy")
	}
}

// proxyOf returns a proxy that calls ended when it ends.
type proxyOf struct {
	Proxy
	ended func()
}

func (p proxyOf) Serve(ctx context.Context, _ net.Listener) error {
	<-ctx.Done()
	p.ended()
	return nil
}

func TestTheNumberOfCountedDestinationsIsBounded(t *testing.T) {
	sessions, s, proxy := proxied(t, netguard.Public)
	s.counters.egressLogged = maxEgress
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for i := range maxDestinations + 3 {
		proxy.play(fmt.Sprintf("n%d.example", i), at, 2, 3)
	}
	s.logDestinations()
	got := counted(t, sessions, s.id)
	want := audit.EgressCount{Others: true, Requests: 3, BytesUp: 6, BytesDown: 9, First: at, Last: at}
	if len(got) != 2*(maxDestinations+1) || got[len(got)-1] != want {
		t.Errorf("%d counts, the last is %+v", len(got), got[len(got)-1])
	}
}

func TestARefusalNamesTheCommandThatAllowsIt(t *testing.T) {
	_, s, proxy := proxied(t, netguard.Allowlist)
	number, _, _ := strings.Cut(string(s.id), "-")
	for text, want := range map[string]string{
		"a.example:443":             "aibox allow " + number + " a.example",
		"a.example:80":              "aibox allow " + number + " a.example",
		"a.example:8443":            "aibox allow " + number + " a.example:8443",
		"169.254.169.254:80":        "",
		"co.uk:443":                 "",
		"[2606:4700:4700::1111]:22": "aibox allow " + number + " '[2606:4700:4700::1111]:22'",
	} {
		d := destination(t, text)
		if got := proxy.access.Allow(netguard.Request{Destination: d, Method: "CONNECT"}, s.policy.decide(d)); got != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}

func TestTheProxyGetsTheSecretsAndTheirHostsAreInspected(t *testing.T) {
	_, s, proxy := proxiedWith(t, netguard.Allowlist, session.Launch{
		Spec: session.Spec{Run: config.Run{
			Allow: []string{"github.com", "api.example.org", "plain.example.org"}, Inspect: []string{"api.example.org"},
			Secret: []string{"TOKEN=github.com:git", "KEY=http://plain.example.org:X-Key"},
		}},
		Injected: map[string]string{"TOKEN": "canary-token", "KEY": "canary-key"},
	})
	var secrets, inspected []string
	for _, secret := range proxy.access.Secrets {
		secrets = append(secrets, secret.Rule.Name+" "+secret.Value.Reveal())
	}
	for _, pattern := range proxy.access.Inspect {
		inspected = append(inspected, pattern.String())
	}
	if !slices.Equal(secrets, []string{"TOKEN canary-token", "KEY canary-key"}) || !slices.Equal(inspected, []string{"api.example.org:443", "github.com:443"}) {
		t.Errorf("%q, %q", secrets, inspected)
	}
	if text := s.policy.inspectionNotice(); text != "the egress proxy decrypts the traffic to api.example.org:443, github.com:443" {
		t.Errorf("%q", text)
	}
	if text := fmt.Sprintf("%+v", proxy.access.Secrets); strings.Contains(text, "canary") {
		t.Errorf("printed: %s", text)
	}
}

func TestTheProxyGetsTheLimitsOfTheSessionAndOfEachHost(t *testing.T) {
	_, _, proxy := proxiedWith(t, netguard.Allowlist, session.Launch{Spec: session.Spec{Run: config.Run{
		EgressUpload: 4, EgressDownload: 3, EgressUploadHost: 2, EgressDownloadHost: 1,
	}}})
	want := netguard.Traffic{Upload: 4 << 20, Download: 3 << 20, UploadPerHost: 2 << 20, DownloadPerHost: 1 << 20}
	if got := proxy.access.Budgets; got != want {
		t.Errorf("%+v", got)
	}
}

func TestARefusalOfAMethodOrPathOrByALaterDenyNamesTheCommand(t *testing.T) {
	sessions, s, proxy := proxiedWith(t, netguard.Allowlist, session.Launch{Spec: session.Spec{Run: config.Run{
		Allow: []string{"GET https://api.example.org/v1/**", "GET https://*.wild.example.org/x", "a.example"}, Inspect: []string{"api.example.org", "*.wild.example.org"},
		Deny: []string{"own.example"},
	}}})
	if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Deny: []string{"a.example", "*.b.example"}}); err != nil {
		t.Fatal(err)
	}
	allow := "aibox allow " + s.policy.number() + " "
	for _, c := range []struct {
		method, host, path, want string
	}{
		{"POST", "api.example.org", "/v1//issues", allow + "'POST https://api.example.org/v1/issues'"},
		{"GET", "api.example.org", "/v2", allow + "'GET https://api.example.org/v2'"},
		{"GET", "api.example.org", "/v2/a*b", ""}, // this would be a pattern
		{"GET", "api.example.org", "/v1/../v2", ""},
		// An entry for the host without a path would override those of the wildcard.
		{"POST", "a.wild.example.org", "/x", allow + "'POST https://*.wild.example.org/x'"},
		{"GET", "a.example", "/", allow + "a.example"},
		{"GET", "x.b.example", "/", allow + "'*.b.example'"},
		{"GET", "own.example", "/", ""},
	} {
		r := netguard.Request{Destination: destination(t, c.host+":443"), TLS: true, Method: c.method, Path: c.path}
		v, _ := s.policy.current().DecideRequest(r)
		got := proxy.access.Allow(r, v)
		if v.Allowed || got != c.want {
			t.Errorf("%s %s%s: %v, %q, not %q", c.method, c.host, c.path, v.Reason, got, c.want)
		}
		if _, entry, ok := strings.Cut(got, allow); ok {
			if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{strings.Trim(entry, "'")}}); err != nil {
				t.Errorf("%s: %v", got, err)
			}
			if v, _ := s.policy.current().DecideRequest(r); !v.Allowed && c.host != "x.b.example" {
				t.Errorf("after %s: %v", got, v.Reason)
			}
		}
	}
}

func TestARefusedNameSuggestsASolution(t *testing.T) {
	for mode, want := range map[netguard.Mode]struct{ hint, command string }{
		netguard.Allowlist: {"HTTPS_PROXY", "aibox allow NUMBER new.example"},
		netguard.Public:    {"HTTPS_PROXY", ""}, // the proxy can reach it
		netguard.Local:     {"aibox run --allow HOST", ""},
	} {
		_, s, _ := proxied(t, mode)
		q := s.policy.refusedName("new.example", "A")
		if !strings.Contains(q.Hint, want.hint) || q.Command != strings.ReplaceAll(want.command, "NUMBER", s.policy.number()) {
			t.Errorf("%s: %+v", mode, q)
		}
	}
	_, s, _ := proxied(t, netguard.Allowlist)
	if q := s.policy.refusedName("not a host", "A"); q.Command != "" {
		t.Errorf("%+v", q)
	}
	if why := s.policy.noRoute(); why != "the sandbox has no route but the proxy" {
		t.Error(why)
	}
}

// The disk could be full.
func TestAChangeThatIsInForceIsNoErrorIfItCannotBeStored(t *testing.T) {
	_, s, _ := proxied(t, netguard.Allowlist)
	s.current.Phase = session.Queued // no session becomes that again, so this is not stored
	if _, err := s.ChangePolicy([]string{"a.example"}, nil, "a test"); err != nil {
		t.Error(err)
	}
	if !s.policy.decide(destination(t, "a.example:443")).Allowed || s.state().Lists == nil {
		t.Error("the change is not in force")
	}
}
