package snapshot

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/draft"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/runtime"
	"aibox/session"
)

var facts = Facts{Runtime: "r", Args: []string{"--a"}, Init: "aibox-init-1", Protocol: 6}

// spec is the spec of a sandbox that continues from a snapshot.
func spec(id string) *session.Spec {
	return &session.Spec{
		Agent: session.SandboxAgent, Run: config.Run{Pids: 100, Network: "none"},
		Sandbox: &session.SandboxSpec{Tenant: "acme", Template: "code", User: "user", Snapshot: id},
	}
}

func newStore(t *testing.T) Store {
	t.Helper()
	return NewStore(paths.Dirs{Data: t.TempDir()})
}

// begun returns a draft with two files.
func begun(t *testing.T, s Store, id string) *Draft {
	t.Helper()
	d, err := s.Begin("acme", id)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"pages.img": "memory", "checkpoint.img": "kernel"} {
		if err := os.WriteFile(filepath.Join(d.State(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// taken returns a snapshot of the tenant acme.
func taken(t *testing.T, s Store) Snapshot {
	t.Helper()
	id := NewID()
	m, err := begun(t, s, id).Commit(t.Context(), Snapshot{Name: "n", Created: time.Now(), ImageID: "sha256:1", Facts: facts, Spec: *spec("")})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func open(t *testing.T, s Store, id string) (*Opened, error) {
	t.Helper()
	return s.Open(t.Context(), "sha256:1", spec(id), facts)
}

func TestOnlyTheTenantFindsASnapshotAndOnlyWhenComplete(t *testing.T) {
	s := newStore(t)
	m := taken(t, s)
	if m.Bytes != 12 || len(m.Files) != 2 || m.Files[0].Name != "checkpoint.img" {
		t.Errorf("%+v", m)
	}
	all, err := s.List("acme")
	if err != nil || len(all) != 1 || all[0].ID != m.ID || all[0].Name != "n" {
		t.Errorf("%+v, %v", all, err)
	}
	opened, err := open(t, s, m.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("acme", m.ID); fault.KindOf(err) != fault.Conflict {
		t.Errorf("deleting what is used: %v", err)
	}
	if info, err := os.Stat(filepath.Join(opened.State, "pages.img")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Dir(opened.State)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []session.Tenant{"evil", "local", "acm"} {
		other := spec(m.ID)
		other.Sandbox.Tenant = tenant
		_, openErr := s.Open(t.Context(), "sha256:1", other, facts)
		_, findErr := s.Find(tenant, m.ID)
		for what, err := range map[string]error{"open": openErr, "find": findErr, "delete": s.Delete(tenant, m.ID)} {
			if fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s by %s: %v", what, tenant, err)
			}
		}
	}
	if err := s.Delete("acme", m.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find("acme", m.ID); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

// A program repeats a call whose answer was lost.
func TestASnapshotThatIsUsedWhileItIsDeletedDoesNotExist(t *testing.T) {
	s := newStore(t)
	for range 200 {
		m := taken(t, s)
		var all sync.WaitGroup
		errs := make(chan error, 8)
		for range cap(errs) / 2 {
			all.Go(func() { errs <- s.Delete("acme", m.ID) })
			all.Go(func() {
				opened, err := s.Open(t.Context(), "sha256:1", spec(m.ID), facts)
				if err == nil {
					err = opened.Close()
				}
				errs <- err
			})
		}
		all.Wait()
		for range cap(errs) {
			if err := <-errs; err != nil && fault.KindOf(err) != fault.NotFound && fault.KindOf(err) != fault.Conflict {
				t.Fatal(err)
			}
		}
	}
}

func TestASnapshotThatIsBeingDeletedCannotBeDeletedAgain(t *testing.T) {
	s := newStore(t)
	m := taken(t, s)
	folder, _ := s.folder("acme", m.ID)
	deleting, err := lock(folder, m.ID, flock.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("acme", m.ID); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if err := deleting.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("acme", m.ID); err != nil {
		t.Error(err)
	}
}

func TestADamagedSnapshotIsMeasuredAndCanBeDeleted(t *testing.T) {
	s := newStore(t)
	m, broken := taken(t, s), taken(t, s)
	whole, err := s.Bytes("acme")
	if err != nil || whole != m.Bytes+broken.Bytes {
		t.Errorf("%d bytes, %v", whole, err)
	}
	if err := os.WriteFile(filepath.Join(s.root, "acme", broken.ID, manifestFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if bytes, err := s.Bytes("acme"); err != nil || bytes < whole {
		t.Errorf("%d bytes, not at least %d, %v", bytes, whole, err)
	}
	if !IsID(broken.ID) || IsID("snap-7d") || IsID("snap-../../../../x.y") {
		t.Error("an id is not recognized")
	}
	if err := s.Delete("acme", broken.ID); err != nil {
		t.Error(err)
	}
	if bytes, err := s.Bytes("acme"); err != nil || bytes != m.Bytes {
		t.Errorf("%d bytes, %v", bytes, err)
	}
}

func TestIDsThatArePathsAreRefused(t *testing.T) {
	s := newStore(t)
	m := taken(t, s)
	for _, id := range []string{"", ".", "..", "../acme/" + m.ID, "/" + m.ID, m.ID + "/", m.ID + "/state", strings.ToUpper(m.ID), draftPrefix + "x"} {
		if _, err := s.Find("acme", id); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", id, err)
		}
		if err := s.Delete("acme", id); fault.KindOf(err) != fault.NotFound {
			t.Errorf("deleting %q: %v", id, err)
		}
	}
	if _, err := s.Find("../acme", m.ID); err == nil {
		t.Error("a tenant is a path")
	}
}

func TestAChangedFileIsRefused(t *testing.T) {
	for name, change := range map[string]func(folder string) error{
		"content":    func(f string) error { return os.WriteFile(f+"/state/pages.img", []byte("mem0ry"), 0o600) },
		"size":       func(f string) error { return os.WriteFile(f+"/state/pages.img", []byte("memory!"), 0o600) },
		"missing":    func(f string) error { return os.Remove(f + "/state/pages.img") },
		"renamed":    func(f string) error { return os.Rename(f+"/state/pages.img", f+"/state/pages") },
		"more":       func(f string) error { return os.WriteFile(f+"/state/z", nil, 0o600) },
		"a folder":   func(f string) error { return os.Mkdir(f+"/state/z", 0o700) },
		"a link":     func(f string) error { return relink(f+"/state/pages.img", f+"/aside") },
		"a manifest": func(f string) error { return os.WriteFile(f+"/manifest.json", []byte("{}"), 0o600) },
		"half of it": func(f string) error { return os.Truncate(f+"/manifest.json", 50) },
		"another's": func(f string) error {
			data, err := os.ReadFile(f + "/manifest.json")
			return errors.Join(err, os.WriteFile(f+"/manifest.json", []byte(strings.Replace(string(data), `"tenant":"acme"`, `"tenant":"evil"`, 1)), 0o600))
		},
	} {
		s := newStore(t)
		m := taken(t, s)
		folder, _ := s.folder("acme", m.ID)
		if err := change(folder); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, s, m.ID); fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// relink replaces a file by a link to it.
func relink(path, aside string) error {
	return errors.Join(os.Rename(path, aside), os.Symlink(aside, path))
}

func TestOnlyTheSameKindOfSandboxContinuesFromASnapshot(t *testing.T) {
	s := newStore(t)
	m := taken(t, s)
	for name, change := range map[string]func(*runtime.ImageID, *session.Spec, *Facts){
		"image":     func(i *runtime.ImageID, _ *session.Spec, _ *Facts) { *i = "sha256:2" },
		"runsc":     func(_ *runtime.ImageID, _ *session.Spec, f *Facts) { f.Runtime = "other" },
		"arguments": func(_ *runtime.ImageID, _ *session.Spec, f *Facts) { f.Args = nil },
		"init":      func(_ *runtime.ImageID, _ *session.Spec, f *Facts) { f.Init = "aibox-init-2" },
		"protocol":  func(_ *runtime.ImageID, _ *session.Spec, f *Facts) { f.Protocol++ },
		"template":  func(_ *runtime.ImageID, s *session.Spec, _ *Facts) { s.Sandbox.Template = "browser" },
		"user":      func(_ *runtime.ImageID, s *session.Spec, _ *Facts) { s.Sandbox.User = "root" },
		"folder":    func(_ *runtime.ImageID, s *session.Spec, _ *Facts) { s.Sandbox.Dir = "/" },
		"root":      func(_ *runtime.ImageID, s *session.Spec, _ *Facts) { s.Sandbox.Permissions.Root = true },
		"no write":  func(_ *runtime.ImageID, s *session.Spec, _ *Facts) { s.Sandbox.Permissions.Files.Write = []string{} },
		"hidden": func(_ *runtime.ImageID, s *session.Spec, _ *Facts) {
			s.Sandbox.Permissions.Files.Hidden = []string{"/x"}
		},
		"children": func(_ *runtime.ImageID, s *session.Spec, _ *Facts) { s.Sandbox.Permissions.Processes.NoChildren = true },
		"pids":     func(_ *runtime.ImageID, s *session.Spec, _ *Facts) { s.Pids++ },
		"volumes": func(_ *runtime.ImageID, s *session.Spec, _ *Facts) {
			s.Sandbox.Volumes = make([]session.VolumeMount, 1)
		},
		"inspection": func(_ *runtime.ImageID, s *session.Spec, _ *Facts) { s.Inspect = []string{"a.example"} },
		"ssh-agent":  func(_ *runtime.ImageID, s *session.Spec, _ *Facts) { s.SSHAgent = []string{"git@a.example"} },
		"secrets":    func(_ *runtime.ImageID, s *session.Spec, _ *Facts) { s.Secret = []string{"K=a.example"} },
	} {
		image, asked, now := runtime.ImageID("sha256:1"), spec(m.ID), facts
		change(&image, asked, &now)
		if _, err := s.Open(t.Context(), image, asked, now); fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	free := spec(m.ID) // properties that are enforced outside of the sandbox may differ
	free.Network, free.Memory, free.Sandbox.Permissions.Inbound = "public", 1024, []int{}
	opened, err := s.Open(t.Context(), "sha256:1", free, facts)
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}

func TestARefusalToStoreASandboxSaysWhichOneCanBeStored(t *testing.T) {
	for hint, change := range map[string]func(*session.Spec){
		"without volumes":               func(s *session.Spec) { s.Sandbox.Volumes = make([]session.VolumeMount, 1) },
		"without the setting inspect":   func(s *session.Spec) { s.Inspect = []string{"a.example"} },
		"without the setting ssh-agent": func(s *session.Spec) { s.SSHAgent = []string{"git@a.example"} },
		"without the setting secret":    func(s *session.Spec) { s.Secret = []string{"K=a.example"} },
	} {
		spec := session.Spec{Sandbox: &session.SandboxSpec{}}
		change(&spec)
		if err := Storable(&spec); fault.KindOf(err) != fault.Refused || !strings.Contains(strings.Join(fault.Hints(err), ""), hint) {
			t.Errorf("%v has the hints %q", err, fault.Hints(err))
		}
	}
}

func TestHostsThatToolsInASandboxPrintAreNotAllowedInOneFromASnapshot(t *testing.T) {
	s := newStore(t)
	m := taken(t, s)
	asked := spec(m.ID)
	asked.Network, asked.Allow = "allowlist", []string{"a.example", "pip"}
	if _, err := s.Open(t.Context(), "sha256:1", asked, facts); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "the preset pip") {
		t.Errorf("pip: %v", err)
	}
	asked.Allow = []string{"a.example", "github"}
	opened, err := s.Open(t.Context(), "sha256:1", asked, facts)
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}

func TestADraftIsNotASnapshotAndItsRemainsAreRemoved(t *testing.T) {
	s := newStore(t)
	killed, whole := begun(t, s, "snap-killed"), taken(t, s)
	filling := begun(t, s, "snap-filling")
	if err := killed.lock.Close(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	if all, err := s.List("acme"); err != nil || len(all) != 1 || all[0].ID != whole.ID {
		t.Errorf("%+v, %v", all, err)
	}
	for _, id := range []string{"snap-killed", "snap-filling"} {
		if _, err := open(t, s, id); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed.folder); !errors.Is(err, os.ErrNotExist) {
		t.Error("the rest of a killed one is left")
	}
	if _, err := filling.Commit(t.Context(), Snapshot{Spec: *spec("")}); err != nil {
		t.Errorf("the one that is being filled: %v", err)
	}
	if all, err := s.List("acme"); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestADraftWithoutALockIsRemovedWhenItsOwnerHadTimeToLockIt(t *testing.T) {
	s := newStore(t)
	whole := taken(t, s)
	folder := func(age time.Duration) string {
		path := filepath.Join(s.root, "acme", draftPrefix+"snap-"+age.String())
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		changed := time.Now().Add(-age)
		if err := os.Chtimes(path, changed, changed); err != nil {
			t.Fatal(err)
		}
		return path
	}
	young, old := folder(0), folder(2*draft.LockTime)
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the one that is about to be filled: %v", err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old one: %v", err)
	}
	if all, err := s.List("acme"); err != nil || len(all) != 1 || all[0].ID != whole.ID {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAFailedSnapshotLeavesNoFiles(t *testing.T) {
	s := newStore(t)
	empty, err := s.Begin("acme", "snap-empty")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := empty.Commit(t.Context(), Snapshot{Spec: *spec("")}); err == nil {
		t.Error("a snapshot of nothing was stored")
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := begun(t, s, "snap-canceled").Commit(canceled, Snapshot{Spec: *spec("")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	large := begun(t, s, "snap-large")
	if _, err := large.Check(11); fault.KindOf(err) != fault.Limit {
		t.Error(err)
	}
	if n, err := large.Check(12); err != nil || n != 12 {
		t.Error(n, err)
	}
	if err := large.Discard(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Join(s.root, "acme"))
	if err != nil || len(entries) > 0 {
		t.Errorf("left are %v, %v", entries, err)
	}
}

func TestFactsHoldTheDigestOfTheRuntime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runsc")
	of := func(text string, args ...string) Facts {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := FactsOf(runtime.Info{Runtimes: []runtime.Runtime{{Name: "runsc", Path: path, Args: args}}}, "/x/aibox-init-1")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one := of("1", "--a")
	if err := one.check(of("1", "--a")); err != nil {
		t.Error(err)
	}
	for _, other := range []Facts{of("2", "--a"), of("1"), of("1", "--a", "--b")} {
		if err := one.check(other); fault.KindOf(err) != fault.Refused {
			t.Errorf("%+v: %v", other, err)
		}
	}
	if _, err := FactsOf(runtime.Info{}, "/init"); fault.KindOf(err) != fault.Environment {
		t.Error(err)
	}
}

// The snapshot of a fork whose process was killed is deleted by nothing else.
func TestASnapshotThatHasExpiredDoesNotExistAndIsSwept(t *testing.T) {
	s := newStore(t)
	lasting := taken(t, s)
	expiring := func(in time.Duration) Snapshot {
		m, err := begun(t, s, NewID()).Commit(t.Context(), Snapshot{Created: time.Now(), Expires: time.Now().Add(in), ImageID: "sha256:1", Facts: facts, Spec: *spec("")})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	current := expiring(time.Hour)
	expired := expiring(-time.Second)
	if _, err := s.Find("acme", expired.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("it is found: %v", err)
	}
	if _, err := open(t, s, expired.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("it is opened: %v", err)
	}
	all, err := s.List("acme")
	if err != nil || len(all) != 2 {
		t.Errorf("%d are listed, %v", len(all), err)
	}
	folder, err := s.folder("acme", expired.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its files are left: %v", err)
	}
	for _, m := range []Snapshot{lasting, current} {
		if _, err := s.Find("acme", m.ID); err != nil {
			t.Error(err)
		}
	}
}
