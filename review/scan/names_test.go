package scan_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/printer"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/workspace"
)

func TestLookAlikesOfDotGitAreRefused(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"}).Prepare()
	names := []string{
		".GIT", ".Git/config", "sub/.git", "sub2/.git/config", "git~1", "GIT~2/x", ".g\u200cit", ".git.", ".git /x", ".git::$INDEX_ALLOCATION", ".git\\x",
		"d/.gi\u200dt",
	}
	for _, name := range names {
		b.Write(name, "evil\n")
	}
	reviewtest.Must(t, os.Symlink("a.txt", b.Path(".gitmodules")))
	cs := b.Compute()
	b.Want(cs)
	if len(cs.Refused) != len(names)+1 {
		t.Errorf("refused %d of %d: %v", len(cs.Refused), len(names)+1, cs.Refused)
	}
}

// TestFoldersWithTheNamesOfGitsFilesDoNotFailAnAccept has folders that git refuses in a tree.
func TestFoldersWithTheNamesOfGitsFilesDoNotFailAnAccept(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n", ".gitattributes": "* text=auto\n"}).Prepare()
	reviewtest.Must(t, os.Remove(b.Path(".gitattributes")))
	names := []string{".gitattributes", "d/.gitmodules", "d/.GitAttributes", "GITATT~1"}
	for _, name := range names {
		b.Write(name+"/x", "x\n")
	}
	b.Write("a.txt", "two\n")
	cs := b.Compute()
	if len(cs.Refused) != len(names) {
		t.Errorf("refused: %v", cs.Refused)
	}
	accepted := b.Take(cs, review.Choice{All: true}, nil)
	if got := reviewtest.GitIn(t, b.Repo, "diff", "--name-only", "main", accepted.Branch); got != "a.txt" {
		t.Errorf("the branch changes %q", got)
	}
}

func TestUnusualNamesAreDeliveredUnchanged(t *testing.T) {
	names := []string{"a b", "new\nline", "tab\t", "-dash", "--help", "\xff\xfe", "\"quoted\"", "back\\slash", "\x1b[31m", "日本", strings.Repeat("n", 255), "e\u0301", "é"}
	files := map[string]string{}
	for _, name := range names {
		files["old/"+name] = name
	}
	b := reviewtest.NewRepository(t, files).Prepare()
	if cs := b.Compute(); !cs.Empty() {
		t.Errorf("untouched, and yet:\n%s", b.NameStatus(cs))
	}
	for _, name := range names {
		b.Write("old/"+name, "changed")
		b.Write("new/"+name, "unlike the others: "+name+name)
	}
	cs := b.Compute()
	if len(cs.Changes) != 2*len(names) {
		t.Errorf("%d changes, want %d", len(cs.Changes), 2*len(names))
	}
	if out := b.NameStatus(cs); strings.Contains(out, "\x1b") || !utf8.ValidString(out) {
		t.Errorf("the list is raw: %q", out)
	}
	b.AppliesTo(cs)
	accepted, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}})
	reviewtest.Must(t, err)
	if got := reviewtest.GitIn(t, b.Repo, "rev-parse", accepted.Branch+"^{tree}"); got != cs.Tree {
		t.Errorf("the branch holds %s, want %s", got, cs.Tree)
	}
	var shown bytes.Buffer
	reviewtest.Must(t, printer.Diff(t.Context(), cs, &shown, printer.DiffOptions{Color: true, Context: -1}))
	if strings.Contains(regexp.MustCompile("\x1b\\[[0-9]{0,2}m").ReplaceAllString(shown.String(), ""), "\x1b") {
		t.Error("the shown patch holds escapes of the agent")
	}
}

func TestADeepTreeIsReadAndRemoved(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"}).Prepare()
	deep := func(depth int, name string) {
		fd, err := unix.Open(b.Workspace.Path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		reviewtest.Must(t, err)
		for range depth {
			reviewtest.Must(t, unix.Mkdirat(fd, name, 0o755))
			next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			reviewtest.Must(t, err)
			unix.Close(fd)
			fd = next
		}
		file, err := unix.Openat(fd, "file", unix.O_CREAT|unix.O_WRONLY, 0o644)
		reviewtest.Must(t, err)
		unix.Close(file)
		reviewtest.Must(t, unix.Fchmod(fd, 0))
		unix.Close(fd)
	}
	deep(2000, "d")
	deep(4000, "e")
	cs := b.Compute()
	if len(cs.Changes) != 1 {
		t.Errorf("%d changes", len(cs.Changes))
	}
	if len(cs.Refused) != 1 {
		t.Errorf("refused: %d", len(cs.Refused))
	}
	if _, err := recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.Workspace.Path); !os.IsNotExist(err) {
		t.Error("the workspace is still there")
	}
}

func TestIgnoredFilesAreFoldedByTheUsersOwnRules(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitignore": "node_modules/\n*.log\n!keep.log\n/build\n", "src/.gitignore": "gen\n", "src/a.go": "package a\n"}).Prepare()
	b.Write("node_modules/x/index.js", "x")
	b.Write("node_modules/y/index.js", "y")
	b.Write("deep/down/node_modules/z", "z")
	b.Write("a.log", "log")
	b.Write("keep.log", "log")
	b.Write("build/out", "o")
	b.Write("src/build", "not ignored")
	b.Write("src/gen/g.go", "g")
	b.Write(".gitignore", "*\n") // the agent ignores everything, which has no effect
	b.Write("evil.sh", "evil")
	cs := b.Compute()
	b.Want(cs, "M\t.gitignore", "A\tevil.sh", "A\tkeep.log", "A\tsrc/build")
	got := map[string]int{}
	for _, i := range cs.Ignored {
		got[string(i.Path)] = i.Files
	}
	if diff := cmp.Diff(map[string]int{"node_modules": 2, "deep/down/node_modules": 1, "a.log": 1, "build": 1, "src/gen": 1}, got); diff != "" {
		t.Errorf("ignored (-want +got):\n%s", diff)
	}
}

func TestCaseClashesAreNoted(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"Readme.md": "one\n"}).Prepare()
	b.Write("README.md", "two\n")
	cs := b.Compute()
	b.Want(cs, "A\tREADME.md")
	if len(cs.Changes[0].Notes) != 1 || !strings.Contains(cs.Changes[0].Notes[0], "Readme.md") {
		t.Errorf("notes: %v", cs.Changes[0].Notes)
	}
}

// Files that an agent keeps for its own use are listed and are not changes, unless the user
// has files there, whose changes and deletions must be reviewed.
func TestFoldersOfTheAgentAreNotListed(t *testing.T) {
	for _, mine := range []bool{false, true} {
		files := map[string]string{"a.txt": "one\n", "sub/b.txt": "bee\n"}
		if mine {
			files[".cache.v4/mine"], files[".cache.v4/gone"] = "1\n", "2\n"
		}
		b := reviewtest.NewRepository(t, files).Prepare(func(r *workspace.Request) { r.Scratch = []string{".cache.v*"} })
		b.Write(".cache.v4/cache.db", "x")
		b.Write("sub/.cache.v4/deep", "not at the top")
		b.Write(".cache.vx", "not a folder")
		want := []string{"A\t.cache.vx", "A\tsub/.cache.v4/deep"}
		if mine {
			b.Write(".cache.v4/mine", "changed\n")
			if err := os.Remove(b.Path(".cache.v4/gone")); err != nil {
				t.Fatal(err)
			}
			want = append([]string{"A\t.cache.v4/cache.db", "D\t.cache.v4/gone", "M\t.cache.v4/mine"}, want...)
		}
		cs := b.Compute()
		b.Want(cs, want...)
		ignored := []review.Ignored{{Path: ".cache.v4", Files: 1, Scratch: true}}
		if mine {
			ignored = nil
		}
		if diff := cmp.Diff(ignored, cs.Ignored); diff != "" {
			t.Errorf("with files of the user's: %v: ignored (-want +got):\n%s", mine, diff)
		}
		if out := reviewtest.GitIn(t, b.Workspace.Path, "status", "--porcelain"); !mine && out != "?? .cache.vx\n?? sub/.cache.v4/" {
			t.Errorf("git in the workspace prints\n%s", out)
		}
	}
}
