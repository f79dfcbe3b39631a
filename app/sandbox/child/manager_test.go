package child

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"aibox/app/sandbox"
	"aibox/audit"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
)

// host is a session in memory.
type host struct {
	mu     sync.Mutex
	spec   session.Spec
	policy netguard.Policy
	left   time.Duration
	lent   session.Share // the part of the spec's limits that is lent
	events []audit.Type
	refuse error
	spent  []session.Share // of the shares that were given back

	traffic, wanted netguard.Traffic // what is lent in place of what is wanted, unless it is zero
}

func (h *host) Spec() session.Spec { return h.spec }

func (h *host) Parent() session.Parent {
	return session.Parent{Session: "00001-codex", Supervisor: runtime.Process{PID: 7, StartTime: 1}, Sandbox: runtime.Process{PID: 8, StartTime: 1}}
}

func (h *host) Policy() netguard.Policy {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.policy
}

func (h *host) TimeLeft() (time.Duration, bool) { return h.left, h.left != 0 }

func (h *host) Lend(want session.Share) (session.Share, func(session.Share), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != nil {
		return session.Share{}, nil, h.refuse
	}
	if limit := h.spec.Memory.Bytes(); limit > 0 && h.lent.Memory+want.Memory > limit {
		return session.Share{}, nil, fault.New(fault.Limit, "no memory is left")
	}
	h.lent.Memory += want.Memory
	h.wanted = want.Traffic
	granted := want
	if h.traffic != (netguard.Traffic{}) {
		granted.Traffic = h.traffic
	}
	return granted, func(spent session.Share) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.spent = append(h.spent, spent)
		h.lent.Memory -= want.Memory
	}, nil
}

func (h *host) Record(kind audit.Type, _ any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, kind)
}

func (h *host) NoteActivity() {}

func (h *host) has(kind audit.Type) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.events, kind)
}

// sessions holds the records of sandboxes. Their supervisor is this process until they end.
type sessions struct {
	mu      sync.Mutex
	all     map[session.ID]session.Session
	ends    []session.ID
	stuck   bool   // sandboxes do not end when they are stopped
	immune  bool   // nor when they are killed
	refuses bool   // the network cannot be changed
	setting func() // called during a change of the network; may be nil
	fails   int    // how often Load fails
	loaded  chan struct{}
	healthy []session.ID // killed although their supervisor lived
}

func newSessions() *sessions {
	return &sessions{all: map[session.ID]session.Session{}, loaded: make(chan struct{}, 1)}
}

func (s *sessions) Load(id session.ID) (session.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.all[id]
	if s.fails > 0 {
		s.fails--
		return session.Session{}, syscall.EMFILE
	}
	if !ok {
		return found, fs.ErrNotExist
	}
	select {
	case s.loaded <- struct{}{}:
	default:
	}
	return found, nil
}

func (s *sessions) SetNetwork(_ context.Context, id session.ID, lists session.NetworkLists, _ string) error {
	if s.setting != nil {
		s.setting()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuses {
		return errors.New("it does not answer")
	}
	found := s.all[id]
	found.State.Lists = &session.Lists{}
	for _, word := range *lists.Allow {
		found.State.Lists.Allow = append(found.State.Lists.Allow, session.ListEntry{Pattern: word})
	}
	for _, word := range *lists.Deny {
		found.State.Lists.Deny = append(found.State.Lists.Deny, session.ListEntry{Pattern: word})
	}
	s.all[id] = found
	return nil
}

func (s *sessions) StopWithin(_ context.Context, id session.ID, _ string, _ time.Duration) (session.Session, error) {
	if s.stuck {
		return session.Session{}, errors.New("it does not answer")
	}
	return s.Kill(context.Background(), id, "")
}

func (s *sessions) Kill(_ context.Context, id session.ID, _ string) (session.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.all[id]
	if s.immune {
		return session.Session{}, errors.New("it cannot be killed")
	}
	if found.State.Phase != session.Ended {
		found.State.Phase = session.Ended
		s.all[id] = found
		s.ends = append(s.ends, id)
		if found.State.Supervisor.Alive() {
			s.healthy = append(s.healthy, id)
		}
	}
	return found, nil
}

// put stores a sandbox that runs, whose supervisor is a process. If dead is set, it has
// already died.
func (s *sessions) put(spec session.Spec, dead bool, supervisor int) session.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec.ID = session.ID(fmt.Sprintf("%05d-sandbox", len(s.all)+1))
	self, err := runtime.FindProcess(supervisor)
	if err != nil {
		panic(err)
	}
	if dead {
		self.StartTime++
	}
	s.all[spec.ID] = session.Session{Spec: spec, State: session.State{Phase: session.Running, Supervisor: self}}
	return spec.ID
}

// fixture is a manager of a session whose agent can have two sandboxes.
type fixture struct {
	*Manager
	host     *host
	sessions *sessions
	launched []session.Launch
	dead     bool            // sandboxes whose supervisor has died
	returned []session.Share // what followed sandboxes have spent of their shares
	start    sandbox.Launch
}

func newFixture() *fixture {
	h := &host{spec: session.Spec{Run: config.Run{Network: "allowlist", Sandboxes: 2, Memory: 3000, Pids: 300, CPUs: 200, Disk: 300, EgressUpload: 30, EgressDownload: 300, EgressUploadHost: 12}}, left: time.Hour}
	h.policy = policyOf(h.spec.Network, []string{"example.org", "*.example.net", "example.com:*"}, []string{"no.example.net"})
	f := &fixture{host: h, sessions: newSessions()}
	f.Manager = New(h, f.sessions)
	f.start = f.Limit(func(ctx context.Context, l session.Launch, _ func(session.Step)) (session.ID, error) {
		f.launched = append(f.launched, l)
		if l.RecordID != nil {
			if err := l.RecordID(ctx, "00001-sandbox"); err != nil {
				return "", err
			}
		}
		return f.sessions.put(l.Spec, f.dead, os.Getpid()), nil
	})
	return f
}

func policyOf(mode string, allow, deny []string) netguard.Policy {
	spec := session.Spec{Run: config.Run{Network: mode, Allow: allow, Deny: deny}}
	policy, _, err := spec.Policy()
	if err != nil {
		panic(err)
	}
	return policy
}

// plain is the launch for a request without settings.
func (f *fixture) plain() session.Launch {
	given, err := f.Defaults(context.Background(), f.Tenant())
	if err != nil {
		panic(err)
	}
	var run config.Run
	for _, field := range config.RunFields() {
		if given.Has(field.Key) {
			if err := field.Set(&run, given.Text(field.Key)); err != nil {
				panic(err)
			}
		}
	}
	run.Network, run.Timeout = "none", amount.Duration(time.Hour)
	return session.Launch{Spec: session.Spec{Agent: session.SandboxAgent, Run: run, Sandbox: &session.SandboxSpec{Tenant: f.Tenant(), Template: "code"}}}
}

func (f *fixture) launch(t interface{ Context() context.Context }, change func(*session.Launch)) (session.ID, error) {
	l := f.plain()
	if change != nil {
		change(&l)
	}
	return f.start(t.Context(), l, func(session.Step) {})
}

func TestASandboxOfAnAgentGetsAPartOfItsSession(t *testing.T) {
	f := newFixture()
	if _, err := f.launch(t, nil); err != nil {
		t.Fatal(err)
	}
	l := f.launched[0]
	if l.Spec.Memory != 1000 || l.Spec.Pids != 100 || l.Spec.Disk != 100 || l.Spec.CPUs != f.host.spec.CPUs || time.Duration(l.Spec.Timeout) > f.host.left {
		t.Errorf("%+v", l.Spec.Run)
	}
	if parent := l.Spec.Sandbox.Parent; parent == nil || *parent != f.host.Parent() || l.Client != parent.Supervisor || l.Spec.ParentOf() != "00001-codex" {
		t.Errorf("its parent is %+v", parent)
	}
	if !f.host.has(audit.SandboxCreated) {
		t.Error("it is not in the session's log")
	}
	if _, ok := l.Blueprint(runtime.Process{}); ok {
		t.Error("a warm sandbox can serve it")
	}
}

func TestASandboxThatExceedsItsSessionIsRefused(t *testing.T) {
	for name, change := range map[string]func(*session.Launch){
		"a host":                  func(l *session.Launch) { l.Spec.Network, l.Spec.Allow = "allowlist", []string{"other.example"} },
		"a port":                  func(l *session.Launch) { l.Spec.Network, l.Spec.Allow = "allowlist", []string{"example.org:22"} },
		"a wider wildcard":        func(l *session.Launch) { l.Spec.Network, l.Spec.Allow = "allowlist", []string{"*.example.org"} },
		"single requests":         func(l *session.Launch) { l.Spec.Network, l.Spec.Allow = "allowlist", []string{"https://example.org/x"} },
		"a preset":                func(l *session.Launch) { l.Spec.Network, l.Spec.Allow = "allowlist", []string{"npm"} },
		"a forge":                 func(l *session.Launch) { l.Spec.Network, l.Spec.Allow = "allowlist", []string{"github"} },
		"every host":              func(l *session.Launch) { l.Spec.Network = "public" },
		"a model":                 func(l *session.Launch) { l.Spec.Network, l.Spec.Inference = "local", "auto" },
		"keys":                    func(l *session.Launch) { l.Keys = map[string]string{"A": "b"} },
		"secrets":                 func(l *session.Launch) { l.Spec.Secret = []string{"A=example.org:X"} },
		"an ssh-agent":            func(l *session.Launch) { l.Spec.SSHAgent = []string{"git@example.org"} },
		"a login":                 func(l *session.Launch) { l.Login = "A=b" },
		"injected secrets":        func(l *session.Launch) { l.Injected = map[string]string{"A": "b"} },
		"an inspection":           func(l *session.Launch) { l.Spec.Inspect = []string{"example.org"} },
		"server-side tools":       func(l *session.Launch) { l.Spec.InferenceTools = []string{"web-search"} },
		"questions":               func(l *session.Launch) { l.Spec.Ask = true },
		"a mount":                 func(l *session.Launch) { l.Spec.Mount = []string{"/etc:/mnt"} },
		"a setting of workspaces": func(l *session.Launch) { l.Spec.Hide = []string{"!.env"} },
		"sandboxes of its own":    func(l *session.Launch) { l.Spec.Sandboxes = 1 },
		"a volume":                func(l *session.Launch) { l.Spec.Sandbox.Volumes = []session.VolumeMount{{Volume: "v", Path: "/v"}} },
		"a pause":                 func(l *session.Launch) { l.Spec.Sandbox.OnTimeout = session.Pause },
		"another tenant":          func(l *session.Launch) { l.Spec.Sandbox.Tenant = session.LocalTenant },
		"another session":         func(l *session.Launch) { l.Spec.Sandbox.Tenant = session.OwnTenant("00002-codex") },
		"a warm sandbox":          func(l *session.Launch) { l.Spec.Sandbox.Warm = &session.WarmStart{} },
		"a snapshot":              func(l *session.Launch) { l.Spec.Sandbox.Snapshot = "s" },
		"more memory":             func(l *session.Launch) { l.Spec.Memory = 3001 },
		"no limit of memory":      func(l *session.Launch) { l.Spec.Memory = 0 },
		"more processors":         func(l *session.Launch) { l.Spec.CPUs = 400 },
		"no limit of processors":  func(l *session.Launch) { l.Spec.CPUs = 0 },
		"more processes":          func(l *session.Launch) { l.Spec.Pids = 101 },
		"no limit of processes":   func(l *session.Launch) { l.Spec.Pids = 0 },
		"more uploads to a host":  func(l *session.Launch) { l.Spec.EgressUploadHost = 5 },
		"a host without a limit":  func(l *session.Launch) { l.Spec.EgressUploadHost = 0 },
		"more uploads":            func(l *session.Launch) { l.Spec.EgressUpload = 31 },
		"no limit of uploads":     func(l *session.Launch) { l.Spec.EgressUpload = 0 },
		"no limit of downloads":   func(l *session.Launch) { l.Spec.EgressDownload = 0 },
		"what is not left to it":  func(l *session.Launch) { l.Spec.Memory = 2999 },
		"a session with an agent": func(l *session.Launch) { l.Spec.Sandbox.Tenant = "" },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			f.host.lent.Memory = 100 << 20
			if id, err := f.launch(t, change); err == nil {
				t.Fatalf("%s is started", id)
			}
			if len(f.launched) > 0 || !f.host.has(audit.SandboxRefused) || f.host.has(audit.SandboxCreated) {
				t.Errorf("launched %d, events %v", len(f.launched), f.host.events)
			}
			if f.host.lent.Memory != 100<<20 {
				t.Errorf("%d bytes stay lent", f.host.lent.Memory)
			}
			if _, err := f.launch(t, nil); err != nil {
				t.Errorf("then one within the session is refused: %v", err)
			}
		})
	}
}

func TestAPresetHasTheHostsThatItHasInTheSession(t *testing.T) {
	f := newFixture()
	pattern, err := netguard.ParseAllow("mirror.example.net")
	if err != nil {
		t.Fatal(err)
	}
	f.host.policy.Allow = append(f.host.policy.Allow, netguard.Rule{Pattern: pattern, Source: "preset npm"})
	if _, err := f.launch(t, func(l *session.Launch) { l.Spec.Network, l.Spec.Allow = "allowlist", []string{"npm"} }); err != nil {
		t.Fatal(err)
	}
	if got := f.launched[0].Spec.Allow; !slices.Equal(got, []string{"mirror.example.net"}) {
		t.Errorf("it reaches %q", got)
	}
}

// With any request of an agent, a sandbox that starts has at most the network access of its
// session.
func TestNoSandboxReachesMoreThanItsSession(t *testing.T) {
	words := []string{"example.org", "*.example.org", "example.org:22", "example.org:*", "a.example.org", "*.example.net", "x.example.net", "no.example.net:443", "https://example.org/x", "GET https://*.example.net/y", "github", "8.8.8.8"}
	modes := []string{"none", "local", "allowlist", "public"}
	list := rapid.SliceOfN(rapid.SampledFrom(words), 0, 4)
	plainWords := rapid.SliceOfN(rapid.SampledFrom([]string{"example.org", "*.example.org", "a.example.org", "x.example.net", "*"}), 0, 2)
	started := 0
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture()
		outer := session.Spec{Run: config.Run{
			Network: rapid.SampledFrom(modes).Draw(t, "outer mode"), Allow: list.Draw(t, "outer allow"), Deny: plainWords.Draw(t, "outer deny"),
			Inspect: rapid.SampledFrom([][]string{nil, {"example.org"}, {"*.example.net"}}).Draw(t, "inspected"),
		}}
		policy, _, err := outer.Policy()
		if err != nil {
			t.Fatal(err)
		}
		f.host.policy, f.host.spec.Network = policy, outer.Network
		memory := amount.MiB(rapid.IntRange(0, 4000).Draw(t, "memory"))
		pids := rapid.IntRange(0, 200).Draw(t, "processes")
		timeout := amount.Duration(time.Duration(rapid.IntRange(0, 7200).Draw(t, "timeout")) * time.Second)
		_, err = f.launch(context1{}, func(l *session.Launch) {
			l.Spec.Network, l.Spec.Allow, l.Spec.Deny = rapid.SampledFrom(modes).Draw(t, "mode"), list.Draw(t, "allow"), plainWords.Draw(t, "deny")
			l.Spec.Memory, l.Spec.Pids, l.Spec.Timeout = memory, pids, timeout
		})
		if err != nil {
			return
		}
		started++
		l := f.launched[0]
		inner, unresolved, err := l.Spec.Policy()
		if err != nil || len(unresolved) > 0 || len(inner.Inspect) > 0 {
			t.Fatal(inner, unresolved, err)
		}
		for _, d := range destinations(t) {
			if netguard.NewMatcher(inner).Decide(d).Allowed && !(netguard.NewMatcher(policy).Decide(d).Allowed && !netguard.NewMatcher(policy).Inspects(d)) {
				t.Fatalf("%v is allowed by %+v and not by %+v", d, inner, policy)
			}
		}
		if l.Spec.Memory <= 0 || l.Spec.Memory > f.host.spec.Memory || l.Spec.Pids <= 0 || l.Spec.Pids > 100 || l.Spec.Timeout <= 0 || time.Duration(l.Spec.Timeout) > f.host.left {
			t.Fatalf("%+v", l.Spec.Run)
		}
		// The same holds after each change of the session's policy.
		changed := session.Spec{Run: config.Run{Network: outer.Network, Allow: list.Draw(t, "later allow"), Deny: plainWords.Draw(t, "later deny")}}
		later, _, err := changed.Policy()
		if err != nil {
			t.Fatal(err)
		}
		f.host.mu.Lock()
		f.host.policy = later
		f.host.mu.Unlock()
		f.Narrow(context.Background())
		for id, found := range f.sessions.all {
			now, err := policyNow(&found)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range destinations(t) {
				if netguard.NewMatcher(now).Decide(d).Allowed && !netguard.NewMatcher(later).Decide(d).Allowed {
					t.Fatalf("%s still reaches %v", id, d)
				}
			}
		}
	})
	if started == 0 {
		t.Error("no sandbox was started, so nothing was tested")
	}
}

// context1 is a source of contexts for launch.
type context1 struct{}

func (context1) Context() context.Context { return context.Background() }

func destinations(t *rapid.T) []netguard.Destination {
	var all []netguard.Destination
	for _, host := range []string{"example.org", "a.example.org", "b.a.example.org", "x.example.net", "no.example.net", "github.com", "8.8.8.8", "other.example"} {
		for _, port := range []string{":443", ":80", ":22"} {
			d, err := netguard.ParseDestination(host + port)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, d)
		}
	}
	return all
}

func TestAnAgentHasNoMoreSandboxesAtOnceThanItsSessionPermits(t *testing.T) {
	f := newFixture()
	for range 2 {
		if _, err := f.launch(t, func(l *session.Launch) { l.Spec.Memory = 100 }); err != nil {
			t.Fatal(err)
		}
	}
	_, err := f.launch(t, func(l *session.Launch) { l.Spec.Memory = 100 })
	if fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), "2 sandboxes") {
		t.Fatalf("the third: %v", err)
	}
}

func TestASandboxIsLimitedToTheTrafficThatIsLentToIt(t *testing.T) {
	f := newFixture()
	f.host.traffic = netguard.Traffic{Upload: 2 << 20, Download: 3 << 20, UploadPerHost: 1 << 20, DownloadPerHost: 4 << 20}
	if _, err := f.launch(t, func(l *session.Launch) {
		l.Spec.Network, l.Spec.Allow, l.Spec.EgressDownloadHost = "allowlist", []string{"example.org"}, 10
	}); err != nil {
		t.Fatal(err)
	}
	if run := f.launched[0].Spec.Run; run.EgressUpload != 2 || run.EgressDownload != 3 || run.EgressUploadHost != 1 || run.EgressDownloadHost != 4 {
		t.Errorf("%+v", run)
	}
	if want := (netguard.Traffic{Upload: 10 << 20, Download: 100 << 20, UploadPerHost: 4 << 20, DownloadPerHost: 10 << 20}); f.host.wanted != want {
		t.Errorf("it borrows %+v", f.host.wanted)
	}
}

// A sandbox whose supervisor has died is ended, and its place and its memory can be used
// again.
func TestAPlaceIsFreeWhenItsSandboxHasEnded(t *testing.T) {
	f := newFixture()
	f.dead = true
	if _, err := f.launch(t, nil); err != nil {
		t.Fatal(err)
	}
	f.work.Wait()
	if len(f.children) != 0 || f.host.lent.Memory != 0 || !f.host.has(audit.SandboxEnded) || len(f.sessions.ends) != 1 {
		t.Errorf("%d places, %d bytes, %v, ended %v", len(f.children), f.host.lent.Memory, f.host.events, f.sessions.ends)
	}
}

// followed follows a sandbox, with no pauses, until the channel is closed.
func (f *fixture) followed(id session.ID) <-chan struct{} {
	c := &child{id: id, giveBack: func(spent session.Share) { f.returned = append(f.returned, spent) }}
	f.children[c], f.tryPause = true, 0
	f.work.Add(1)
	done := make(chan struct{})
	go func() { f.follow(c); close(done) }()
	return done
}

// A process may have no free descriptor for a moment.
func TestASandboxWhoseRecordCannotBeReadForAMomentRunsOn(t *testing.T) {
	f := newFixture()
	f.sessions.fails = 1
	supervisor := exec.Command("cat")
	alive, err := supervisor.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	done := f.followed(f.sessions.put(session.Spec{}, false, supervisor.Process.Pid))
	select {
	case <-f.sessions.loaded:
	case <-done:
	}
	_ = alive.Close()
	_ = supervisor.Wait()
	<-done
	if len(f.sessions.healthy) != 0 || len(f.sessions.ends) != 1 || len(f.children) != 0 {
		t.Errorf("killed while it was well: %v; ended are %v, %d places", f.sessions.healthy, f.sessions.ends, len(f.children))
	}
}

func TestASandboxWhoseRecordCannotBeReadIsEnded(t *testing.T) {
	f := newFixture()
	f.sessions.fails = tries
	<-f.followed(f.sessions.put(session.Spec{}, false, os.Getpid()))
	if len(f.sessions.ends) != 1 || len(f.children) != 0 {
		t.Errorf("ended are %v, %d places", f.sessions.ends, len(f.children))
	}
}

// The counters of a supervisor that has died may be old, and a sandbox could spend the same share
// again and again if a share came back whose use is not known.
func TestOnlyTrafficThatASandboxHasNotUsedIsGivenBack(t *testing.T) {
	const share = 10 << 20
	ended := session.State{Phase: session.Ended, Result: &session.Result{Egress: session.Egress{Up: 3, Down: 4}}}
	for name, c := range map[string]struct {
		state    session.State
		dead     bool
		up, down int64
	}{
		"it has ended":              {state: ended, dead: true, up: 3, down: 4},
		"it has ended in no record": {state: session.State{Phase: session.Ended}, dead: true, up: share, down: share},
		"its supervisor has died":   {state: session.State{Phase: session.Running}, dead: true, up: share, down: share},
		"it cannot be followed":     {state: session.State{Phase: session.Running}, up: share, down: share},
		"its record is gone":        {up: share, down: share},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			id := f.sessions.put(session.Spec{}, c.dead, os.Getpid())
			found := f.sessions.all[id]
			found.State.Phase, found.State.Result = c.state.Phase, c.state.Result
			f.sessions.all[id] = found
			switch {
			case c.state.Phase == "":
				delete(f.sessions.all, id)
			case !c.dead:
				f.sessions.fails = tries
			}
			<-f.followed(id)
			if len(f.returned) != 1 {
				t.Fatalf("the share is given back %d times", len(f.returned))
			}
			spent := f.returned[0]
			if min(spent.Upload, share) != c.up || min(spent.Download, share) != c.down || spent.UploadPerHost != spent.Upload || spent.DownloadPerHost != spent.Download {
				t.Errorf("it counts as %+v", spent)
			}
		})
	}
}

// The record of a failed start is gone, and with it the counters of its traffic.
func TestAStartThatFailsGivesBackOnlyTrafficThatNoProgramCanHaveUsed(t *testing.T) {
	for name, c := range map[string]struct {
		stages []string
		used   bool
	}{
		"at once":                     {nil, false},
		"before a program has begun":  {[]string{"network", "sandbox", "probes"}, false},
		"while tools are asked":       {[]string{"sandbox", session.StagePresets}, true},
		"when a program has begun":    {[]string{"sandbox", session.StageStart}, true},
		"when a snapshot's continues": {[]string{"sandbox", session.StageRestore}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			var seen []string
			start := f.Limit(func(ctx context.Context, l session.Launch, step func(session.Step)) (session.ID, error) {
				if err := l.RecordID(ctx, "00001-sandbox"); err != nil {
					return "", err
				}
				for _, stage := range c.stages {
					step(session.Step{Name: stage})
				}
				return "", context.Canceled
			})
			if _, err := start(t.Context(), f.plain(), func(s session.Step) { seen = append(seen, s.Name) }); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if len(f.host.spent) != 1 || len(f.children) != 0 || !slices.Equal(seen, c.stages) {
				t.Fatalf("it gave back %v, %d places are taken, the caller saw %v", f.host.spent, len(f.children), seen)
			}
			want := session.Share{}
			if c.used {
				want.Traffic = netguard.Traffic{Upload: math.MaxInt64, Download: math.MaxInt64, UploadPerHost: math.MaxInt64, DownloadPerHost: math.MaxInt64}
			}
			if f.host.spent[0] != want {
				t.Errorf("it counts as %+v", f.host.spent[0])
			}
		})
	}
}

func TestASandboxThatCannotBeEndedKeepsItsShare(t *testing.T) {
	f := newFixture()
	f.sessions.immune = true
	<-f.followed(f.sessions.put(session.Spec{}, true, os.Getpid()))
	if len(f.returned) != 0 || len(f.children) != 1 {
		t.Errorf("%+v is given back, %d places are taken", f.returned, len(f.children))
	}
}

// A sandbox whose policy cannot be narrowed after its start keeps its share until it has ended.
func TestASandboxThatCannotBeKeptHasItsShareUntilItsEnd(t *testing.T) {
	f := newFixture()
	f.sessions.refuses, f.sessions.stuck, f.sessions.immune = true, true, true
	narrowing := f.Limit(func(_ context.Context, l session.Launch, _ func(session.Step)) (session.ID, error) {
		f.host.mu.Lock()
		f.host.policy = policyOf("allowlist", nil, nil)
		f.host.mu.Unlock()
		return f.sessions.put(l.Spec, false, os.Getpid()), nil
	})
	l := f.plain()
	l.Spec.Network, l.Spec.Allow = "allowlist", []string{"example.org"}
	if _, err := narrowing(t.Context(), l, func(session.Step) {}); err == nil {
		t.Fatal("it reaches a host that its session does not reach")
	}
	if len(f.children) != 1 || f.host.lent.Memory == 0 {
		t.Errorf("%d places and %d bytes of memory are taken while it runs", len(f.children), f.host.lent.Memory)
	}
}

func TestASessionCreatesALimitedNumberOfSandboxes(t *testing.T) {
	f := newFixture()
	f.created = maxCreated - 1
	if _, err := f.launch(t, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.launch(t, nil); fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), "1000") {
		t.Errorf("another one: %v", err)
	}
}

func TestAllSandboxesEndWithTheSession(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		f := newFixture()
		f.sessions.stuck = stuck
		for range 2 {
			if _, err := f.launch(t, func(l *session.Launch) { l.Spec.Memory = 100 }); err != nil {
				t.Fatal(err)
			}
		}
		// The supervisor is this test process, which does not end.
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_ = f.End(ctx)
		if len(f.sessions.ends) != 2 {
			t.Errorf("ended are %v", f.sessions.ends)
		}
		if _, err := f.launch(t, nil); err == nil {
			t.Error("another one is started")
		}
	}
}

func TestTheEndOfASessionEndsAStart(t *testing.T) {
	f := newFixture()
	begun := make(chan struct{})
	start := f.Limit(func(ctx context.Context, _ session.Launch, _ func(session.Step)) (session.ID, error) {
		close(begun)
		<-ctx.Done()
		return "", ctx.Err()
	})
	result := make(chan error, 1)
	go func() {
		_, err := start(context.Background(), f.plain(), func(session.Step) {})
		result <- err
	}()
	<-begun
	if err := f.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err == nil {
		t.Error("it was started")
	}
	if f.host.lent.Memory != 0 {
		t.Errorf("%d bytes stay lent", f.host.lent.Memory)
	}
}

// Otherwise an earlier policy of the session could replace a narrower one in the sandbox.
func TestThePolicyOfASandboxIsNotNarrowedTwiceAtOnce(t *testing.T) {
	f := newFixture()
	id, err := f.launch(t, func(l *session.Launch) { l.Spec.Network, l.Spec.Allow = "allowlist", []string{"example.org"} })
	if err != nil {
		t.Fatal(err)
	}
	f.host.mu.Lock()
	f.host.policy = policyOf("allowlist", nil, nil)
	f.host.mu.Unlock()
	changes := 0
	f.sessions.setting = func() {
		changes++
		given, giveUp := context.WithCancel(t.Context())
		giveUp()
		if unlock, err := f.narrowing.Lock(given, string(id)); err == nil {
			unlock()
			t.Error("another one could narrow it meanwhile")
		}
	}
	f.Narrow(t.Context())
	if changes != 1 {
		t.Errorf("it was changed %d times", changes)
	}
}

// The deny list of a sandbox can have an entry twice: its own, and the one that the user denied.
func TestADenialOfTheSessionAppliesInASandboxWithItsOwnDenials(t *testing.T) {
	f := newFixture()
	f.host.policy = policyOf("public", nil, []string{"a.example"})
	id, err := f.launch(t, func(l *session.Launch) { l.Spec.Network = "public" })
	if err != nil {
		t.Fatal(err)
	}
	lists := session.NetworkLists{Allow: &[]string{}, Deny: &[]string{"a.example", "b.example", "b.example"}}
	if err := f.sessions.SetNetwork(t.Context(), id, lists, ""); err != nil {
		t.Fatal(err)
	}
	f.host.mu.Lock()
	f.host.policy = policyOf("public", nil, []string{"a.example", "c.example"})
	f.host.mu.Unlock()
	f.Narrow(t.Context())
	found := f.sessions.all[id]
	now, err := policyNow(&found)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a.example", "b.example", "c.example"} {
		if d, err := netguard.ParseDestination(host + ":443"); err != nil || netguard.NewMatcher(now).Decide(d).Allowed {
			t.Errorf("the sandbox reaches %s (%v)", host, err)
		}
	}
	f.sessions.setting = func() { t.Error("it was changed again, without a change of its session") }
	f.Narrow(t.Context())
}

func TestASandboxWhosePolicyCannotBeChangedIsEnded(t *testing.T) {
	f := newFixture()
	id, err := f.launch(t, func(l *session.Launch) { l.Spec.Network, l.Spec.Allow = "allowlist", []string{"example.org"} })
	if err != nil {
		t.Fatal(err)
	}
	f.sessions.refuses = true
	f.host.mu.Lock()
	f.host.policy = policyOf("allowlist", nil, nil)
	f.host.mu.Unlock()
	f.Narrow(t.Context())
	if !slices.Contains(f.sessions.ends, id) {
		t.Error("it still reaches the host")
	}
}
