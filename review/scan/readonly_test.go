package scan_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"aibox/internal/git"
	"aibox/review/reviewtest"
	"aibox/workspace"
)

const whyReadOnly = "is read-only in this session, so its change is left out"

func TestNoChangeOfAReadOnlyFileIsInAChangeSet(t *testing.T) {
	files := map[string]string{
		"a.go": "a\n", "tests/a_test.go": "test\n", "tests/deep/b.go": "b\n", "tests/run.sh": "run\n", "tests/same.go": "same\n",
		"tests/gone.go": "gone\n", "ci/build.yml": "build\n", "lock/go.sum": "sum\n", "go.sum": "sum\n", "tests/open/x.go": "x\n",
	}
	b := reviewtest.NewRepository(t, files).Prepare(func(r *workspace.Request) {
		r.ReadOnly = []string{"/tests/*", "!/tests/open/", "ci/", "go.sum"}
	})
	b.Write("a.go", "changed\n")
	b.Write("tests/open/x.go", "changed\n")
	b.Write("tests/a_test.go", "t.Skip()\n")
	b.Write("tests/new_test.go", "new\n")
	b.Write("tests/same.go", "same\n")
	b.Write("tests/deep/new/c.go", "new\n")
	b.Write("sub/go.sum", "new\n")
	reviewtest.Must(t, os.Remove(b.Path("tests/gone.go")))
	reviewtest.Must(t, os.Chmod(b.Path("tests/run.sh"), 0o755))
	reviewtest.Must(t, os.Rename(b.Path("tests/deep/b.go"), b.Path("moved.go")))
	reviewtest.Must(t, os.RemoveAll(b.Path("ci")))
	b.Write("ci", "a file in the place of the folder\n")
	reviewtest.Must(t, os.RemoveAll(b.Path("lock")))
	reviewtest.Must(t, os.Symlink("/etc", b.Path("lock")))
	reviewtest.Must(t, os.Remove(b.Path("go.sum")))
	b.Write("go.sum/below.txt", "a folder in the place of the file\n")

	cs := b.Compute()
	b.Want(cs, "M\ta.go", "A\tmoved.go", "M\ttests/open/x.go")
	var refused []string
	for _, r := range cs.Refused {
		if r.Reason == whyReadOnly {
			refused = append(refused, string(r.Path))
		}
	}
	want := []string{
		"ci", "ci/build.yml", "go.sum", "go.sum/below.txt", "lock", "lock/go.sum", "sub/go.sum", "tests/a_test.go",
		"tests/deep/b.go", "tests/deep/new/c.go", "tests/gone.go", "tests/new_test.go", "tests/run.sh",
	}
	if slices.Sort(refused); !slices.Equal(refused, want) {
		t.Errorf("refused are\n%q, not\n%q", refused, want)
	}
}

func TestSpecialFilesInThePlaceOfReadOnlyOnesDoNotDeleteThem(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"}).Prepare(func(r *workspace.Request) { r.ReadOnly = []string{"a.txt"} })
	reviewtest.Must(t, os.Remove(b.Path("a.txt")))
	reviewtest.Must(t, unix.Mkfifo(b.Path("a.txt"), 0o600))
	cs := b.Compute()
	b.Want(cs)
	if len(cs.Refused) != 1 {
		t.Errorf("refused are %v", cs.Refused)
	}
}

func TestALinkInThePlaceOfAReadOnlyFolderThatDoesNotExistIsRefused(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.go": "a\n"}).Prepare(func(r *workspace.Request) { r.ReadOnly = []string{".github/"} })
	b.Write("ci/workflows/build.yml", "build\n")
	reviewtest.Must(t, os.Symlink("ci", b.Path(".github")))
	cs := b.Compute()
	b.Want(cs, "A\tci/workflows/build.yml")
	if len(cs.Refused) != 1 || cs.Refused[0].Reason != whyReadOnly {
		t.Errorf("refused are %v", cs.Refused)
	}
}

func TestNothingBelowAReadOnlyFileReplacesIt(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.py": "a\n"}).Prepare(func(r *workspace.Request) { r.ReadOnly = []string{"*.py", "!*.py/"} })
	reviewtest.Must(t, os.Remove(b.Path("a.py")))
	b.Write("a.py/b.txt", "b\n")
	b.Want(b.Compute())
}

func TestAPatternOfFoldersProtectsNoFile(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a/b/c": "c\n", "c": "c\n"}).Prepare(func(r *workspace.Request) { r.ReadOnly = []string{"c/"} })
	reviewtest.Must(t, os.RemoveAll(b.Path("a")))
	reviewtest.Must(t, os.Symlink("/etc", b.Path("a")))
	b.Write("c", "changed\n")
	b.Want(b.Compute(), "A\ta", "D\ta/b/c", "M\tc")
}

// Whatever an agent does, the read-only files of the resulting tree are those of the start.
func TestReadOnlyFilesStayAsTheyWere(t *testing.T) {
	names := []string{"a", "a/b", "a/b/c", "b", "b/a", "c/a/b"}
	rapid.Check(t, func(r *rapid.T) {
		files := map[string]string{"first.txt": "first\n"}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(r, "files") {
			free := func(other string) bool {
				return !strings.HasPrefix(other, name+"/") && !strings.HasPrefix(name, other+"/")
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(other string) bool { return !free(other) }) {
				files[name] = name + "\n"
			}
		}
		patterns := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "/a", "b", "a/*", "!b", "c/", "/b/", "*", "!a/", "!a/b"}), 1, 3).Draw(r, "patterns")
		b := reviewtest.NewRepository(t, files).Prepare(func(req *workspace.Request) { req.ReadOnly = patterns })
		for _, step := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 6).Draw(r, "steps") {
			switch rapid.IntRange(0, 2).Draw(r, "action") {
			case 0:
				_ = os.RemoveAll(b.Path(step))
			case 1:
				_ = os.RemoveAll(b.Path(step))
				_ = os.Symlink("/etc", b.Path(step))
			default:
				if info, err := os.Lstat(b.Path(step)); err != nil || info.Mode().IsRegular() {
					_ = os.WriteFile(b.Path(step), []byte("changed\n"), 0o600)
				}
			}
		}
		cs := b.Compute()
		baseline, err := workspace.LoadBaseline(b.Workspace.Baseline)
		reviewtest.Must(t, err)
		readOnly, err := baseline.ReadOnly(patterns)
		reviewtest.Must(t, err)
		listed := func(tree string) (paths []string) {
			entries, err := git.Owned(cs.GitDir).Tree(t.Context(), tree)
			reviewtest.Must(t, err)
			for _, e := range entries {
				if readOnly.Has(e.Path) {
					paths = append(paths, e.Path+" "+e.ID)
				}
			}
			return paths
		}
		if before, after := listed(cs.BaseTree), listed(cs.Tree); !slices.Equal(before, after) {
			r.Errorf("the read-only files were\n%q, and are\n%q", before, after)
		}
	})
}
