package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/files"
	"aibox/netguard"
	"aibox/netguard/preset"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/process"
)

// sandboxUnder returns a running sandbox whose proxy has connections to the hosts.
func sandboxUnder(t *testing.T, mode netguard.Mode, spec session.SandboxSpec, deny []string, open ...string) (*manager.Manager, *supervisor, *fakeProxy) {
	t.Helper()
	launch := session.Launch{Spec: session.Spec{Sandbox: &spec}}
	launch.Spec.Deny = deny
	sessions, s, proxy := proxiedWith(t, mode, launch)
	for _, host := range open {
		proxy.open = append(proxy.open, destination(t, host))
	}
	return sessions, s, proxy
}

func TestNewListsReplaceTheOldOnesAndCloseConnectionsThatTheyDoNotAllow(t *testing.T) {
	sessions, s, proxy := sandboxUnder(t, netguard.Allowlist, session.SandboxSpec{Tenant: "acme", Denied: []string{"bad.example"}}, []string{"bad.example", "own.example"},
		"a.example:443", "b.example:443")
	set := func(lists session.NetworkLists) error { return sessions.SetNetwork(t.Context(), s.id, lists, "a test") }
	list := func(words ...string) *[]string { return &words }
	allowed := func(host string) bool { return s.policy.decide(destination(t, host+":443")).Allowed }

	if err := set(session.NetworkLists{Allow: list("a.example", "b.example", "bad.example", "own.example")}); err != nil {
		t.Fatal(err)
	}
	if !allowed("a.example") || !allowed("b.example") || allowed("bad.example") || allowed("own.example") || len(proxy.open) != 2 {
		t.Errorf("after the first lists %v is open", proxy.open)
	}
	if err := set(session.NetworkLists{Allow: list("b.example", "bad.example", "own.example"), Deny: list()}); err != nil {
		t.Fatal(err)
	}
	if allowed("a.example") || !allowed("b.example") || !allowed("own.example") || len(proxy.open) != 1 {
		t.Errorf("after the second lists %v is open", proxy.open)
	}
	if allowed("bad.example") {
		t.Error("an empty deny list took away what the machine's user denies")
	}
	for _, wrong := range []session.NetworkLists{{Allow: list("a b")}, {Allow: list("npm")}, {Deny: list("a b")}, {Allow: list("a.example/path")}} {
		if err := set(wrong); fault.KindOf(err) != fault.Usage {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if !allowed("b.example") {
		t.Error("a list that is not valid has changed the policy")
	}
	if err := set(session.NetworkLists{Allow: list()}); err != nil || allowed("b.example") || len(proxy.open) != 0 {
		t.Errorf("after the empty list %v is open (%v)", proxy.open, err)
	}
}

func TestNewListsKeepWhatTheUserOfTheMachineHasDenied(t *testing.T) {
	sessions, s, _ := sandboxUnder(t, netguard.Allowlist, session.SandboxSpec{Tenant: "acme"}, nil)
	lists := session.NetworkLists{Allow: &[]string{"a.example", "b.example"}, Deny: &[]string{"b.example"}}
	if err := sessions.SetNetwork(t.Context(), s.id, lists, "a test"); err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Deny: []string{"a.example"}}); err != nil {
		t.Fatal(err)
	}
	lists.Deny = &[]string{}
	if err := sessions.SetNetwork(t.Context(), s.id, lists, "a test"); err != nil {
		t.Fatal(err)
	}
	for host, allowed := range map[string]bool{"a.example:443": false, "b.example:443": true} {
		if got := s.policy.decide(destination(t, host)).Allowed; got != allowed {
			t.Errorf("%s: %v", host, got)
		}
	}
}

func TestADenialByTheUserOfTheMachineOutlivesTheSameEntryOfTheTenant(t *testing.T) {
	sessions, s, _ := sandboxUnder(t, netguard.Allowlist, session.SandboxSpec{Tenant: "acme"}, nil)
	lists := session.NetworkLists{Allow: &[]string{"a.example"}, Deny: &[]string{"a.example"}}
	if err := sessions.SetNetwork(t.Context(), s.id, lists, "a test"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Deny: []string{"a.example"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, deny := range [][]string{{"a.example"}, {}} {
		lists.Deny = &deny
		if err := sessions.SetNetwork(t.Context(), s.id, lists, "a test"); err != nil {
			t.Fatal(err)
		}
		if s.policy.decide(destination(t, "a.example:443")).Allowed {
			t.Errorf("with the tenant's list %v it is allowed", deny)
		}
	}
	if _, err := sessions.ChangePolicy(t.Context(), s.id, session.PolicyChange{Allow: []string{"a.example"}}); err != nil {
		t.Error(err)
	}
	if !s.policy.decide(destination(t, "a.example:443")).Allowed {
		t.Error("the denial is not undone")
	}
}

func TestAPresetAddsNothingToAnAllowListThatReplacedItsOwnDuringTheStart(t *testing.T) {
	for replaced, allowed := range map[bool]bool{false: true, true: false} {
		launch := session.Launch{Spec: session.Spec{Sandbox: &session.SandboxSpec{Tenant: "acme"}}}
		launch.Spec.Allow = []string{"npm"}
		sessions, s, _ := proxiedWith(t, netguard.Allowlist, launch)
		if names := s.policy.unresolved(); !slices.Equal(names, []string{"npm"}) {
			t.Fatalf("the presets are %v", names)
		}
		if replaced {
			if err := sessions.SetNetwork(t.Context(), s.id, session.NetworkLists{Allow: &[]string{}}, "a test"); err != nil {
				t.Fatal(err)
			}
		}
		host, err := netguard.ParseAllow("registry.example")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.policy.addPreset(preset.Resolution{Preset: "npm", Rules: []netguard.Rule{{Pattern: host, Source: preset.Source("npm")}}}); err != nil {
			t.Fatal(err)
		}
		if got := s.policy.decide(destination(t, "registry.example:443")).Allowed; got != allowed {
			t.Errorf("replaced %v: the preset's host is allowed: %v", replaced, got)
		}
	}
}

func TestASandboxWithoutAWayOutHasNoLists(t *testing.T) {
	sessions, s, _ := sandboxUnder(t, netguard.None, session.SandboxSpec{Tenant: "acme"}, nil)
	if err := sessions.SetNetwork(t.Context(), s.id, session.NetworkLists{Allow: &[]string{"a.example"}}, ""); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
}

func TestOnlyASandboxIsChangedAsOne(t *testing.T) {
	sessions, s, _ := proxied(t, netguard.Allowlist)
	for name, err := range map[string]error{
		"update":  sessions.UpdateSandbox(t.Context(), s.id, session.SandboxChange{}),
		"network": sessions.SetNetwork(t.Context(), s.id, session.NetworkLists{}, ""),
		"pause":   sessions.PauseSandbox(t.Context(), s.id),
		"claim":   sessions.ClaimSandbox(t.Context(), s.id, session.Claim{}),
	} {
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLabelsOfARunningSandboxChange(t *testing.T) {
	sessions, s, _ := sandboxUnder(t, netguard.None, session.SandboxSpec{Tenant: "acme", Labels: session.Labels{Name: "old"}}, nil)
	change := func(change session.SandboxChange, name string, metadata map[string]string) {
		t.Helper()
		if err := sessions.UpdateSandbox(t.Context(), s.id, change); err != nil {
			t.Fatal(err)
		}
		if found, err := sessions.Load(s.id); err != nil || found.Labels().Name != name || !maps.Equal(found.Labels().Metadata, metadata) {
			t.Errorf("%+v, %v", found.Labels(), err)
		}
	}
	entries, none, name := map[string]string{"a": "b"}, map[string]string{}, ""
	change(session.SandboxChange{Metadata: &entries}, "old", entries)
	change(session.SandboxChange{Name: &name}, "", entries)
	change(session.SandboxChange{Metadata: &none}, "", none)
}

func TestConcurrentChangesOfTheLabelsOfASandboxAreAllKept(t *testing.T) {
	sessions, s, _ := sandboxUnder(t, netguard.None, session.SandboxSpec{Tenant: "acme"}, nil)
	for range 20 {
		var changing sync.WaitGroup
		name, metadata := rand.Text(), map[string]string{"a": rand.Text()}
		for _, change := range []session.SandboxChange{{Name: &name}, {Metadata: &metadata}} {
			changing.Go(func() {
				if err := sessions.UpdateSandbox(t.Context(), s.id, change); err != nil {
					t.Error(err)
				}
			})
		}
		changing.Wait()
		if found, err := sessions.Load(s.id); err != nil || found.Labels().Name != name || !maps.Equal(found.Labels().Metadata, metadata) {
			t.Fatalf("%+v, %v", found.Labels(), err)
		}
	}
}

// A client can know the sandbox before it runs, from the list of sandboxes.
func TestTheTimeOfASandboxThatDoesNotRunYetCannotBeChanged(t *testing.T) {
	sessions, s, _ := sandboxUnder(t, netguard.None, session.SandboxSpec{Tenant: "acme"}, nil)
	hour := time.Hour
	if err := sessions.UpdateSandbox(t.Context(), s.id, session.SandboxChange{Timeout: &hour}); !errors.Is(err, session.ErrWrongState) || !strings.Contains(err.Error(), "does not run yet") {
		t.Errorf("a new time limit: %v", err)
	}
	if _, err := s.timeLimit.extend(hour); fault.KindOf(err) != fault.Conflict {
		t.Errorf("an extension: %v", err)
	}
	s.launch.Spec.Timeout = amount.Duration(hour)
	if err := s.markRunning(); err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	if err := sessions.UpdateSandbox(t.Context(), s.id, session.SandboxChange{Timeout: &day}); err != nil {
		t.Error(err)
	}
	if found, err := sessions.Load(s.id); err != nil || found.State.Phase != session.Running || time.Until(found.State.Expires) < 23*time.Hour {
		t.Errorf("the record has %v, %v, %v", found.State.Phase, found.State.Expires, err)
	}
}

func TestTheIdleTimeOfARunningSandboxChanges(t *testing.T) {
	sessions, s, _ := sandboxUnder(t, netguard.None, session.SandboxSpec{Tenant: "acme"}, nil)
	s.launch.Spec.IdleTimeout = amount.Duration(time.Hour)
	s.begin = time.Now()
	s.limitIdleTime()
	set := func(limit time.Duration) error {
		return sessions.UpdateSandbox(t.Context(), s.id, session.SandboxChange{IdleTimeout: &limit})
	}
	for _, wrong := range []time.Duration{-1, maxExtension + 1} {
		if err := set(wrong); fault.KindOf(err) != fault.Usage || s.idle.state.limit != time.Hour {
			t.Errorf("%v: %v, and the limit is %v", wrong, err, s.idle.state.limit)
		}
	}
	if err := set(2 * time.Hour); err != nil || s.idle.state.limit != 2*time.Hour {
		t.Errorf("%v, and the limit is %v", err, s.idle.state.limit)
	}
	if found, err := sessions.Load(s.id); err != nil || found.IdleLimit() != 2*time.Hour {
		t.Errorf("the record has %v, %v", found.IdleLimit(), err)
	}
	if err := set(0); err != nil || s.idle.take != nil {
		t.Errorf("%v, and the limit is still %v", err, s.idle.state.limit)
	}
	if found, err := sessions.Load(s.id); err != nil || found.IdleLimit() != 0 {
		t.Errorf("the record has %v, %v", found.IdleLimit(), err)
	}
	if err := set(time.Nanosecond); err != nil {
		t.Fatal(err)
	}
	<-s.ended
}

func TestClientsUseTheSandboxAsItsUserUnlessRootIsPermitted(t *testing.T) {
	for _, c := range []struct {
		asked, want string
		root        bool
	}{
		{"", "user", false}, {"user", "user", false}, {"root", "", false}, {"0", "", false}, {"user:0", "", false}, {"root", "root", true}, {"", "user", true},
	} {
		user, err := userOf(&session.SandboxSpec{User: "user", Permissions: session.Permissions{Root: c.root}}, c.asked)
		switch {
		case c.want == "" && fault.KindOf(err) != fault.Refused, c.want != "" && (err != nil || user != c.want):
			t.Errorf("%+v: %q, %v", c, user, err)
		}
	}
	if user, err := userOf(nil, "root"); err != nil || user != "root" {
		t.Errorf("in a session with an agent: %q, %v", user, err)
	}
}

// A request for files or for a process as another user reaches PID 1 only with the permission root.
func TestNoRequestAsAnotherUserReachesTheSandboxWithoutThePermissionRoot(t *testing.T) {
	ps, _ := connected(t)
	spec := &session.SandboxSpec{User: "user"}
	ps.sandbox.launch.Spec.Sandbox = spec
	ps.sandbox.ports = newOpenPorts(ps.sandbox.modelWatch, ps.sandbox.storing)
	ps.sandbox.ports.prepare(lineListener(t), ps.sandbox.line)
	ps.sandbox.ports.dialer.Close() // a request that is not refused fails in another way
	ps.sandbox.ports.start()
	access := newFileAccess(&supervisor{run: ps.sandbox.run, sandbox: ps.sandbox})
	dial := func(ctx context.Context) (io.ReadWriteCloser, error) {
		client, conn := net.Pipe()
		go func() { _ = access.Serve(ctx, func() (net.Conn, io.Reader, error) { return conn, conn, nil }) }()
		return client, nil
	}
	for _, user := range []string{"root", "0", "user:0", "daemon"} {
		at := files.NewClient(dial, user)
		var refused *files.Error
		if _, err := at.Stat(t.Context(), "/", false); !errors.As(err, &refused) || refused.Code != files.Permission {
			t.Errorf("files as %s: %v", user, err)
		}
		if _, err := at.Write(t.Context(), "/file", strings.NewReader("x"), files.WriteOptions{}); !errors.As(err, &refused) || refused.Code != files.Permission {
			t.Errorf("a file is written as %s: %v", user, err)
		}
		for name, request := range map[string]process.Request{
			"a process": {Argv: []string{"true"}, User: user},
			"a tree":    {Copy: &process.Copy{Path: "/"}, User: user},
		} {
			if _, err := ps.Start(t.Context(), request); fault.KindOf(err) != fault.Refused {
				t.Errorf("%s as %s: %v", name, user, err)
			}
		}
	}
	if info := begin(t, ps, process.Request{Argv: []string{"true"}}); info.User != "user" {
		t.Errorf("a process without a user runs as %q", info.User)
	}
}

func TestTheTimeOfAPausedSandboxIsStopped(t *testing.T) {
	begin := time.Now()
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	a := timeBudget{began: begin, limit: 100 * time.Second, lastGiven: 100 * time.Second, requested: true}
	a.pause(at(40))
	if due, ok := a.due(); ok {
		t.Errorf("it is due at %v while it is paused", due)
	}
	a.resume(at(1000))
	if due, ok := a.due(); !ok || !due.Equal(at(1060)) {
		t.Errorf("after the pause it is due at %v, %v", due.Sub(begin), ok)
	}
	a.over = true // and therefore the sandbox is paused
	a.pause(at(1060))
	a.resume(at(2000))
	if due, ok := a.due(); !ok || due.After(at(2100)) || due.Before(at(2080)) {
		t.Errorf("resumed after its time was up, it is due at %v, %v", due.Sub(begin), ok)
	}
	a.pause(at(2010))
	if err := a.set(at(2020), 30*time.Second); err != nil {
		t.Fatal(err)
	}
	a.resume(at(3000))
	if end, _ := a.ends(); !end.Equal(at(3030)) {
		t.Errorf("with 30 s set during the pause it ends at %v", end.Sub(begin))
	}
	if err := a.set(at(3001), 0); err != nil {
		t.Fatal(err)
	}
	if _, ok := a.due(); ok {
		t.Error("without a limit it is due")
	}
	if err := a.set(at(3001), -1); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
}

func TestOnlyTheFirstClaimCounts(t *testing.T) {
	w := newWarmSandbox()
	if err := w.claim(t.Context(), session.Claim{}); fault.KindOf(err) != fault.Conflict {
		t.Errorf("before it is warm: %v", err)
	}
	w.open <- struct{}{}
	results := make(chan error, 10)
	for range 10 {
		go func() { results <- w.claim(t.Context(), session.Claim{}) }()
	}
	<-w.claims
	for range 9 {
		if err := <-results; fault.KindOf(err) != fault.Conflict {
			t.Errorf("a second claim: %v", err)
		}
	}
	broken := errors.New("the probes failed")
	w.result <- broken
	if err := <-results; !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := w.claim(t.Context(), session.Claim{}); fault.KindOf(err) != fault.Conflict {
		t.Errorf("after a failed claim: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := newWarmSandbox()
	gone.open <- struct{}{}
	if err := gone.claim(ctx, session.Claim{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTheAccountOfASandboxOwnsWhatItMayWrite(t *testing.T) {
	spec := &session.SandboxSpec{User: "user", Dir: "/work", Volumes: []session.VolumeMount{{Path: "/rw"}, {Path: "/ro", ReadOnly: true}}}
	if a := accountOf(spec); a.Confine || !slices.Equal(a.Folders, []string{"/rw"}) {
		t.Errorf("%+v", a)
	}
	spec.Permissions.Files.Write = []string{}
	if a := accountOf(spec); !a.Confine {
		t.Errorf("an empty list confines nothing: %+v", a)
	}
	spec.User = "root"
	if a := accountOf(spec); a != nil {
		t.Errorf("root has an account: %+v", a)
	}
	var decoded session.Permissions
	data, err := json.Marshal(session.Permissions{Inbound: []int{}, Files: session.FilePermissions{Write: []string{}}})
	if err != nil || json.Unmarshal(data, &decoded) != nil || decoded.Inbound == nil || decoded.Files.Write == nil {
		t.Errorf("%s loses the difference between nothing and everything", data)
	}
}

func TestPortsThatThePermissionsForbidAreNotConnected(t *testing.T) {
	for _, c := range []struct {
		inbound []int
		open    bool
	}{{nil, true}, {[]int{}, false}, {[]int{80}, false}, {[]int{80, 8080}, true}} {
		_, s, _ := sandboxUnder(t, netguard.None, session.SandboxSpec{Tenant: "acme", Permissions: session.Permissions{Inbound: c.inbound}}, nil)
		if err := s.ports.checkInbound(8080); (err == nil) != c.open || err != nil && fault.KindOf(err) != fault.Refused {
			t.Errorf("%v: %v", c.inbound, err)
		}
		if _, err := s.DialPort(t.Context(), 8080); !c.open && fault.KindOf(err) != fault.Conflict && fault.KindOf(err) != fault.Refused {
			t.Errorf("%v is dialed: %v", c.inbound, err)
		}
	}
}
