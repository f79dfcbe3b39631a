package volume

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session"
)

func newStore(t *testing.T) (Store, string) {
	t.Helper()
	dir := t.TempDir()
	return NewStore(paths.Dirs{Data: dir}), dir
}

// unused is the check of a volume that no sandbox uses.
func unused() error { return nil }

func TestAVolumeBelongsOnlyToItsTenant(t *testing.T) {
	s, dir := newStore(t)
	if _, err := s.Create("acme", "data"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create("acme", "data"); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a second one: %v", err)
	}
	source, err := s.Source("acme", "data")
	if err != nil || !strings.HasPrefix(source, dir+"/volumes/acme/data/") {
		t.Fatal(source, err)
	}
	info, err := os.Stat(filepath.Dir(source))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder around it has mode %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(source+"/x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []session.Tenant{"evil", "acm", "local"} {
		if _, err := s.Source(tenant, "data"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s mounts it: %v", tenant, err)
		}
		if err := s.Delete(context.Background(), tenant, "data", unused); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s deletes it: %v", tenant, err)
		}
	}
	if all, err := s.List("acme"); err != nil || len(all) != 1 || all[0].Name != "data" || all[0].Created.IsZero() {
		t.Errorf("the list is %v, %v", all, err)
	}
	if err := s.Delete(context.Background(), "acme", "data", unused); err != nil {
		t.Fatal(err)
	}
	if all, err := s.List("acme"); err != nil || len(all) != 0 {
		t.Errorf("after the deletion: %v, %v", all, err)
	}
}

func TestACreationThatWasCutOffIsRepeated(t *testing.T) {
	s, dir := newStore(t)
	if err := os.MkdirAll(dir+"/volumes/acme/data", 0o700); err != nil { // as far as the creation came
		t.Fatal(err)
	}
	if _, err := s.Source("acme", "data"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a volume without its folder can be mounted: %v", err)
	}
	if all, err := s.List("acme"); err != nil || len(all) > 0 {
		t.Errorf("the list is %v, %v", all, err)
	}
	if _, err := s.Create("acme", "data"); err != nil {
		t.Errorf("it cannot be created again: %v", err)
	}
	if _, err := s.Create("acme", "data"); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a second one: %v", err)
	}
	source, err := s.Source("acme", "data")
	if info, statErr := os.Stat(source); err != nil || statErr != nil || !info.IsDir() {
		t.Errorf("%q cannot be mounted: %v, %v", source, err, statErr)
	}
}

func TestATenantHasALimitedNumberOfVolumes(t *testing.T) {
	s, dir := newStore(t)
	for i := range maxVolumes {
		if err := os.MkdirAll(dir+"/volumes/acme/v"+strconv.Itoa(i)+"/content", 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create("acme", "more"); fault.KindOf(err) != fault.Limit {
		t.Errorf("one more: %v", err)
	}
	if _, err := s.Create("acme", "v0"); fault.KindOf(err) != fault.Conflict {
		t.Errorf("one that exists: %v", err)
	}
	if _, err := s.Create("other", "more"); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if err := s.Delete(t.Context(), "acme", "v0", unused); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create("acme", "more"); err != nil {
		t.Errorf("in place of another: %v", err)
	}
}

func TestADeletionThatWasCutOffIsCompletedByTheNextCall(t *testing.T) {
	for name, next := range map[string]func(s Store) error{
		"creation": func(s Store) error { _, err := s.Create("acme", "other"); return err },
		"deletion": func(s Store) error { return s.Delete(context.Background(), "acme", "data", unused) },
	} {
		for age, left := range map[time.Duration]bool{0: false, time.Minute: true} { // a new one may be in use
			s, dir := newStore(t)
			s.sweepAge = age
			if _, err := s.Create("acme", "data"); err != nil {
				t.Fatal(err)
			}
			remains := dir + "/volumes/acme/.aibox-removed-x"
			if err := os.MkdirAll(remains+"/content/folder", 0o700); err != nil {
				t.Fatal(err)
			}
			if err := next(s); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(remains); (err == nil) != left {
				t.Errorf("after a %s that waits %v: %v", name, age, err)
			}
		}
	}
}

func TestNamesThatArePathsAreRefused(t *testing.T) {
	s, dir := newStore(t)
	if err := os.MkdirAll(dir+"/volumes/acme/data/content", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../acme/data", "a/b", "/etc", "a\x00", "A", "-x", "data/content", strings.Repeat("a", 64)} {
		if _, err := s.Source("acme", name); err == nil {
			t.Errorf("the volume %q has a folder", name)
		}
		if _, err := s.Source(session.Tenant(name), "data"); err == nil {
			t.Errorf("the tenant %q has a volume", name)
		}
		if _, err := s.Create("acme", name); err == nil {
			t.Errorf("the volume %q was created", name)
		}
		if err := s.Delete(context.Background(), session.Tenant(name), "data", unused); err == nil {
			t.Errorf("a volume of the tenant %q was deleted", name)
		}
	}
}

func TestASymlinkIsNotAVolume(t *testing.T) {
	s, dir := newStore(t)
	if _, err := s.Create("acme", "data"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", dir+"/volumes/acme/link"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Source("acme", "link"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("it is mounted: %v", err)
	}
}

func TestTheVolumesOfATenantAreMeasured(t *testing.T) {
	s := NewStore(paths.Dirs{Data: t.TempDir()})
	if used, err := s.Bytes("acme"); used != 0 || err != nil {
		t.Errorf("without volumes: %d, %v", used, err)
	}
	for _, tenant := range []session.Tenant{"acme", "other"} {
		if _, err := s.Create(tenant, "data"); err != nil {
			t.Fatal(err)
		}
		folder, err := s.Source(tenant, "data")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "file"), make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if used, err := s.Bytes("acme"); err != nil || used < 1<<20 || used > 1<<20+64<<10 {
		t.Errorf("they take %d bytes, %v", used, err)
	}
}
