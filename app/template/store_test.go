package template

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"aibox/agents"
	"aibox/internal/fault"
)

// stored returns a store with files of templates of one size.
func stored(t *testing.T, count, size int) Store {
	t.Helper()
	s := Store{Dir: t.TempDir()}
	for i := range count {
		if err := os.WriteFile(s.Path("old-"+strconv.Itoa(i)), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A tenant of the API could fill the disk, and slow down each creation of a sandbox. The
// templates after the last one that is read would exist and not be found.
func TestAStoreHasALimitedNumberAndSizeOfTemplates(t *testing.T) {
	set, d := NewSet(agents.Builtin()), &Definition{From: "code"}
	for name, s := range map[string]Store{"number": stored(t, maxFiles, 1), "size": stored(t, maxBytes/MaxFile, MaxFile)} {
		if _, err := s.Put(t.Context(), set, "new", d); fault.KindOf(err) != fault.Limit {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Put(t.Context(), set, "old-0", d); err != nil {
			t.Errorf("%s, in place of another: %v", name, err)
		}
	}
}

func TestTemplatesThatAreStoredAtTheSameTimeStayWithinTheLimits(t *testing.T) {
	s, set := stored(t, maxFiles-1, 1), NewSet(agents.Builtin())
	var storing sync.WaitGroup
	for i := range 8 {
		storing.Go(func() { _, _ = s.Put(t.Context(), set, "new-"+strconv.Itoa(i), &Definition{From: "code"}) })
	}
	storing.Wait()
	if files, err := filepath.Glob(filepath.Join(s.Dir, "*"+suffix)); err != nil || len(files) != maxFiles {
		t.Errorf("there are %d, %v", len(files), err)
	}
}

func TestOfTwoTemplatesThatAreCreatedWithOneNameOneIsKept(t *testing.T) {
	s, set := Store{Dir: t.TempDir()}, NewSet(agents.Builtin())
	var creating sync.WaitGroup
	var created atomic.Int32
	for i := range 8 {
		creating.Go(func() {
			_, err := s.Create(t.Context(), set, "mine", &Definition{From: "code", Summary: strings.Repeat("x", i)})
			switch {
			case err == nil:
				created.Add(1)
			case fault.KindOf(err) != fault.Usage:
				t.Error(err)
			}
		})
	}
	creating.Wait()
	if created.Load() != 1 {
		t.Errorf("%d were created", created.Load())
	}
}

// A tenant of the API does not learn the paths of this machine.
func TestErrorsOfATenantsTemplatesNameNoFiles(t *testing.T) {
	s, plain := Store{Dir: t.TempDir(), Hidden: true}, NewSet(agents.Builtin())
	for name, text := range map[string]string{"bad": "image='x", "code": "image='x'", "large": strings.Repeat("#", MaxFile+1)} {
		if err := os.WriteFile(s.Path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := s.AddTo(plain)
	if _, err := set.Find("bad"); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "line 1") {
		t.Error(err)
	}
	for name, err := range set.Broken() {
		if text := err.Error() + strings.Join(fault.Hints(err), ""); fault.KindOf(err) != fault.Usage || strings.Contains(text, s.Dir) || strings.Contains(text, "file") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if len(set.Broken()) != 3 {
		t.Errorf("%d are broken", len(set.Broken()))
	}
	if err := os.Mkdir(s.Path("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), plain, "folder", &Definition{From: "code"}); err == nil || fault.KindOf(err) != fault.Internal {
		t.Errorf("a file that cannot be written: %v", err)
	}
}

func TestATemplateInAFolderThatCannotBeReadIsNotCalledMissing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "templates")
	if err := os.WriteFile(file, nil, 0o600); err != nil { // no folder, not even for root
		t.Fatal(err)
	}
	plain := NewSet(agents.Builtin())
	set := Store{Dir: file}.AddTo(plain)
	if _, err := set.Find("mine"); fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), file) || !errors.Is(err, set.Unread()) {
		t.Errorf("%v, not %v", err, set.Unread())
	}
	if _, err := set.Find("code"); err != nil {
		t.Error(err)
	}
	if err := (Store{Dir: file, Hidden: true}).AddTo(plain).Unread(); fault.KindOf(err) != fault.Internal { // whose text tenants do not see
		t.Errorf("a tenant's: %v", err)
	}
	if err := (Store{Dir: file + "-none"}).AddTo(plain).Unread(); err != nil {
		t.Errorf("no folder: %v", err)
	}
}

// A later version of aibox can have a template or an agent with the name of a user's template.
func TestATemplateWithTheNameOfOneOfAiboxsOwnCanBeRemoved(t *testing.T) {
	s, plain := Store{Dir: t.TempDir()}, NewSet(agents.Builtin())
	if err := os.WriteFile(s.Path("codex"), []byte("image='x'"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(s.AddTo(plain), "codex"); err != nil {
		t.Fatal(err)
	}
	if set := s.AddTo(plain); len(set.Broken()) != 0 {
		t.Errorf("left: %v", set.Broken())
	}
	if err := s.Remove(s.AddTo(plain), "codex"); fault.KindOf(err) != fault.Usage {
		t.Errorf("aibox's own: %v", err)
	}
}

func TestAByteOrderMarkIsNamed(t *testing.T) {
	s, plain := Store{Dir: t.TempDir()}, NewSet(agents.Builtin())
	if err := os.WriteFile(s.Path("mine"), []byte("\ufeffimage='x'"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTo(plain).Broken()["mine"]; err == nil || !strings.Contains(err.Error(), "begins with a byte order mark") {
		t.Errorf("the file: %v", err)
	}
	if _, err := Check(plain, "other", &Definition{Dockerfile: "\ufeffARG BASE\nFROM ${BASE}\n"}); err == nil || !strings.Contains(err.Error(), "begins with a byte order mark") {
		t.Errorf("the Dockerfile: %v", err)
	}
}
