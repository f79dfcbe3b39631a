package agentsession

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aibox/internal/diskuse"
	"aibox/internal/draft"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/session"
)

// tree creates an archive of files by name; a name with an arrow is a link.
func tree(t *testing.T, files map[string]string) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}
		if link, target, ok := strings.Cut(name, " -> "); ok {
			h = &tar.Header{Name: link, Linkname: target, Typeflag: tar.TypeSymlink}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			_, _ = w.Write([]byte(content))
		}
	}
	_ = w.Close()
	return &out
}

func TestAnUploadedTreeIsARepositoryWithOneCommit(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann"})
	canary := filepath.Join(t.TempDir(), "ran")
	added, err := s.Trees.Add(t.Context(), "ann", tree(t, map[string]string{
		"src/main.go": "package main\n", ".gitignore": "*.log\n", "kept.log": "kept\n", "inside -> src/main.go": "",
		".git/config": "[core]\n\tfsmonitor = touch " + canary, "src/.GIT/hooks/pre-commit": "#!/bin/sh\ntouch " + canary,
		".gitattributes": "* filter=evil text=auto\n", "out -> ../../../etc/passwd": "",
	}))
	if err != nil {
		t.Fatal(err)
	}
	repository, err := s.Trees.Repository("ann", added.ID)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "-C", repository, "ls-tree", "-r", "--name-only", "HEAD").CombinedOutput()
	if want := ".gitattributes\n.gitignore\ninside\nkept.log\nsrc/main.go\n"; err != nil || string(out) != want {
		t.Errorf("the commit has %q (%v)", out, err)
	}
	config, _ := os.ReadFile(filepath.Join(repository, ".git/config"))
	if _, err := os.Stat(canary); err == nil || bytes.Contains(config, []byte("fsmonitor")) {
		t.Errorf("the archive's configuration counts: %s", config)
	}
	for name, tenant := range map[string]string{"another tenant's": "ben", "the parent's": "../ann"} {
		if _, err := s.Trees.Repository(session.Tenant(tenant), added.ID); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s tree is found: %v", name, err)
		}
	}
	for _, id := range []string{"", ".", "..", "../ann/" + added.ID, added.ID + "/.git", strings.ToUpper(added.ID)} {
		if _, err := s.Trees.Repository("ann", id); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q is found: %v", id, err)
		}
	}
	if !s.Trees.holds("ann", repository) || s.Trees.holds("ben", repository) || s.Trees.holds("ann", filepath.Dir(repository)) {
		t.Error("it is not the tenant's")
	}
}

func TestATreeThatCannotBeReadLeavesNoFiles(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann"})
	for name, data := range map[string][]byte{
		"no archive": []byte(strings.Repeat("x", 1024)), "a cut one": tree(t, map[string]string{"a": strings.Repeat("a", 4096)}).Bytes()[:1024],
		"an absolute name": tree(t, map[string]string{"/etc/x": "x"}).Bytes(), "dots": tree(t, map[string]string{"../x": "x"}).Bytes(),
	} {
		if _, err := s.Trees.Add(t.Context(), "ann", bytes.NewReader(data)); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(filepath.Join(s.Trees.Dir, "ann")); len(left) != 0 {
			t.Errorf("%s leaves %v", name, left)
		}
	}
	if _, err := s.Trees.Add(t.Context(), "../ann", tree(t, nil)); err == nil {
		t.Error("a tenant's name with dots is accepted")
	}
}

// zeros is an endless sequence of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestEndlessAndTooManyTreesAreRefused(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann"})
	folder := filepath.Join(s.Trees.Dir, "ann")
	add := func(name string, h *tar.Header, rest io.Reader) {
		t.Helper()
		before, _ := os.ReadDir(folder)
		var begin bytes.Buffer
		w := tar.NewWriter(&begin)
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Trees.Add(t.Context(), "ann", io.MultiReader(&begin, rest)); fault.KindOf(err) != fault.Limit {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(folder); len(left) != len(before) {
			t.Errorf("%s leaves %d entries in place of %d", name, len(left), len(before))
		}
	}
	add("a file beyond the limit", &tar.Header{Name: "a", Size: maxTreeBytes + 1, Typeflag: tar.TypeReg}, zeros{})
	for n := range maxTrees {
		if err := os.Mkdir(filepath.Join(folder, strconv.Itoa(n)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	add("a tree beyond the limit", &tar.Header{Name: "d/", Mode: 0o700, Typeflag: tar.TypeDir}, bytes.NewReader(make([]byte, 1024)))
	if _, err := s.Trees.Add(t.Context(), "ben", tree(t, nil)); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}

func TestOldTreesWithoutASessionAreRemoved(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann"})
	var ids []string
	for range 2 {
		added, err := s.Trees.Add(t.Context(), "ann", tree(t, map[string]string{"a": "a"}))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, added.ID)
		old := time.Now().Add(-2 * treeLife)
		if err := os.Chtimes(filepath.Join(s.Trees.Dir, "ann", added.ID), old, old); err != nil {
			t.Fatal(err)
		}
		s.Trees.InUse = func(repository string) bool { return strings.HasSuffix(repository, ids[0]) }
	}
	if _, err := s.Trees.Add(t.Context(), "ann", tree(t, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Trees.Repository("ann", ids[0]); err != nil {
		t.Errorf("the one with a session is gone: %v", err)
	}
	if _, err := s.Trees.Repository("ann", ids[1]); err == nil {
		t.Error("the old one is kept")
	}
}

func TestWhatUploadsOfDeadProcessesHaveLeftIsRemoved(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann"})
	begun := func(name string) string {
		t.Helper()
		folder := filepath.Join(s.Trees.Dir, "ann", draftPrefix+name)
		if err := os.MkdirAll(filepath.Join(folder, draftTree), 0o700); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	if err := s.Trees.Sweep(); err != nil { // nothing was ever uploaded
		t.Fatal(err)
	}
	alive, dead, created, old := begun("alive"), begun("dead"), begun("created"), begun("old")
	lock, err := flock.Try(filepath.Join(alive, draft.LockFile), flock.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.WriteFile(filepath.Join(dead, draft.LockFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-2 * draft.LockTime)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if err := s.Trees.Sweep(); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]bool{alive: true, created: true, dead: false, old: false} {
		if _, err := os.Stat(folder); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(folder), err)
		}
	}
	added, err := s.Trees.Add(t.Context(), "ann", tree(t, map[string]string{"a": "a"}))
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Trees.Dir, "ann")); len(left) != 3 {
		t.Errorf("the tree %s and two drafts are %v", added.ID, left)
	}
}

// disk is the room of a tenant with a total of bytes; 0 is no limit.
type disk struct {
	trees    *Trees
	mu       sync.Mutex
	total    int64
	reserved int64
	most     int64 // reserved and used at once
}

// room is a reservation of a disk.
type room struct {
	*disk
	bytes int64
}

func (r *room) Reserve(_ context.Context, bytes int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	used, err := r.trees.Bytes("ann")
	if err != nil || bytes <= r.bytes {
		return err
	}
	if r.total > 0 && used+r.reserved-r.bytes+bytes > r.total {
		return fault.New(fault.Limit, "there is no room")
	}
	r.reserved += bytes - r.bytes
	r.bytes = bytes
	r.most = max(r.most, used+r.reserved)
	return nil
}

func (r *room) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reserved -= r.bytes
	r.bytes = 0
}

// The quota bounds the files of a tree, and the tree with its repository.
func TestATreeBeyondTheQuotaOfDiskIsRefused(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann"})
	all := &disk{trees: &s.Trees}
	s.Trees.Room = func(session.Tenant) Room { return &room{disk: all} }
	random := make([]byte, 300<<10)
	_, _ = rand.Read(random)
	add := func() error {
		_, err := s.Trees.Add(t.Context(), "ann", tree(t, map[string]string{"data": string(random)}))
		return err
	}
	if err := add(); err != nil {
		t.Fatalf("without a quota: %v", err)
	}
	one, err := s.Trees.Bytes("ann")
	if err != nil || one < 600<<10 {
		t.Fatalf("a tree takes %d bytes (%v)", one, err)
	}
	for name, room := range map[string]int64{"nothing": 0, "less than the files": 200 << 10, "less than files and repository": 400 << 10} {
		all.total = one + room
		if err := add(); fault.KindOf(err) != fault.Limit || all.reserved > 0 {
			t.Errorf("with %s left: %v, and %d bytes are still reserved", name, err, all.reserved)
		}
		if now, err := s.Trees.Bytes("ann"); now != one || err != nil {
			t.Errorf("with %s left, %d bytes stay in place of %d (%v)", name, now, one, err)
		}
	}
	if all.total = 3 * one; add() != nil || all.reserved > 0 {
		t.Errorf("a tree that fits is refused, or its %d bytes are still reserved", all.reserved)
	}
}

// gate is an archive that ends only when all have been read up to their ends or were refused.
type gate struct {
	io.Reader
	reached *sync.WaitGroup
	once    sync.Once
	passed  func()
}

func (g *gate) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if err == io.EOF {
		g.once.Do(func() { g.reached.Done(); g.reached.Wait(); g.passed() })
	}
	return n, err
}

// The files of uploads that are not complete count, too. Each could otherwise fill what the quota
// leaves.
func TestTreesThatAreUploadedAtTheSameTimeStayWithinTheQuotaOfDisk(t *testing.T) {
	s := newService(t, Policy{Tenant: "ann"})
	all := &disk{trees: &s.Trees, total: 4 << 20}
	s.Trees.Room = func(session.Tenant) Room { return &room{disk: all} }
	random := make([]byte, 1<<20)
	_, _ = rand.Read(random)
	archive := tree(t, map[string]string{"data": string(random)}).Bytes()
	const uploads = 6
	var uploading, reached sync.WaitGroup
	reached.Add(uploads)
	var stored, refused atomic.Int32
	for range uploads {
		uploading.Go(func() {
			in := &gate{Reader: bytes.NewReader(archive), reached: &reached, passed: func() {
				if taken, err := diskuse.Total([]string{filepath.Join(s.Trees.Dir, "ann")}, 1000); err != nil || taken > all.total {
					t.Errorf("before the ends of the archives, they take %d bytes, %v", taken, err)
				}
			}}
			_, err := s.Trees.Add(t.Context(), "ann", in)
			in.once.Do(reached.Done) // it was refused before its end
			switch {
			case err == nil:
				stored.Add(1)
			case fault.KindOf(err) == fault.Limit:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	uploading.Wait()
	if stored.Load() != 1 || refused.Load() != uploads-1 || all.most > all.total || all.reserved != 0 {
		t.Errorf("%d are stored and %d refused; up to %d bytes were used or reserved, and %d are", stored.Load(), refused.Load(), all.most, all.reserved)
	}
}
