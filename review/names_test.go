package review_test

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
	"aibox/workspace"
)

func TestLookAlikesOfDotGitAreRefused(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n"}).prepare()
	names := []string{
		".GIT", ".Git/config", "sub/.git", "sub2/.git/config", "git~1", "GIT~2/x", ".g\u200cit", ".git.", ".git /x", ".git::$INDEX_ALLOCATION", ".git\\x",
		"d/.gi\u200dt",
	}
	for _, name := range names {
		b.write(name, "evil\n")
	}
	must(t, os.Symlink("a.txt", b.path(".gitmodules")))
	cs := b.compute()
	b.want(cs)
	if len(cs.Refused) != len(names)+1 {
		t.Errorf("refused %d of %d: %v", len(cs.Refused), len(names)+1, cs.Refused)
	}
}

func TestAwkwardNamesArriveUnchanged(t *testing.T) {
	names := []string{"a b", "new\nline", "tab\t", "-dash", "--help", "\xff\xfe", "\"quoted\"", "back\\slash", "\x1b[31m", "日本", strings.Repeat("n", 255), "e\u0301", "é"}
	files := map[string]string{}
	for _, name := range names {
		files["old/"+name] = name
	}
	b := newRepository(t, files).prepare()
	if cs := b.compute(); !cs.Empty() {
		t.Errorf("untouched, and yet:\n%s", b.nameStatus(cs))
	}
	for _, name := range names {
		b.write("old/"+name, "changed")
		b.write("new/"+name, "unlike the others: "+name+name)
	}
	cs := b.compute()
	if len(cs.Changes) != 2*len(names) {
		t.Errorf("%d changes, want %d", len(cs.Changes), 2*len(names))
	}
	if out := b.nameStatus(cs); strings.Contains(out, "\x1b") || !utf8.ValidString(out) {
		t.Errorf("the list is raw: %q", out)
	}
	b.appliesTo(cs)
	accepted, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}})
	must(t, err)
	if got := gitIn(t, b.repo, "rev-parse", accepted.Branch+"^{tree}"); got != cs.Tree {
		t.Errorf("the branch holds %s, want %s", got, cs.Tree)
	}
	var shown bytes.Buffer
	must(t, cs.Show(t.Context(), &shown, review.ShowOptions{Color: true, Context: -1}))
	if strings.Contains(regexp.MustCompile("\x1b\\[[0-9]{0,2}m").ReplaceAllString(shown.String(), ""), "\x1b") {
		t.Error("the shown patch holds escapes of the agent")
	}
}

func TestADeepTreeIsReadAndRemoved(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n"}).prepare()
	deep := func(depth int, name string) {
		fd, err := unix.Open(b.ws.Path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		for range depth {
			must(t, unix.Mkdirat(fd, name, 0o755))
			next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			must(t, err)
			unix.Close(fd)
			fd = next
		}
		file, err := unix.Openat(fd, "file", unix.O_CREAT|unix.O_WRONLY, 0o644)
		must(t, err)
		unix.Close(file)
		must(t, unix.Fchmod(fd, 0))
		unix.Close(fd)
	}
	deep(2000, "d")
	deep(4000, "e")
	cs := b.compute()
	if len(cs.Changes) != 1 {
		t.Errorf("%d changes", len(cs.Changes))
	}
	if len(cs.Refused) != 1 {
		t.Errorf("refused: %d", len(cs.Refused))
	}
	if _, err := review.PutAway(t.Context(), b.ws, review.Discarded, review.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.ws.Path); !os.IsNotExist(err) {
		t.Error("the workspace is still there")
	}
}

func TestIgnoredFilesAreFoldedByTheUsersOwnRules(t *testing.T) {
	b := newRepository(t, map[string]string{".gitignore": "node_modules/\n*.log\n!keep.log\n/build\n", "src/.gitignore": "gen\n", "src/a.go": "package a\n"}).prepare()
	b.write("node_modules/x/index.js", "x")
	b.write("node_modules/y/index.js", "y")
	b.write("deep/down/node_modules/z", "z")
	b.write("a.log", "log")
	b.write("keep.log", "log")
	b.write("build/out", "o")
	b.write("src/build", "not ignored")
	b.write("src/gen/g.go", "g")
	b.write(".gitignore", "*\n") // the agent hides everything: in vain
	b.write("evil.sh", "evil")
	cs := b.compute()
	b.want(cs, "M\t.gitignore", "A\tevil.sh", "A\tkeep.log", "A\tsrc/build")
	got := map[string]int{}
	for _, i := range cs.Ignored {
		got[string(i.Path)] = i.Files
	}
	if diff := cmp.Diff(map[string]int{"node_modules": 2, "deep/down/node_modules": 1, "a.log": 1, "build": 1, "src/gen": 1}, got); diff != "" {
		t.Errorf("ignored (-want +got):\n%s", diff)
	}
}

func TestCaseClashesAreNoted(t *testing.T) {
	b := newRepository(t, map[string]string{"Readme.md": "one\n"}).prepare()
	b.write("README.md", "two\n")
	cs := b.compute()
	b.want(cs, "A\tREADME.md")
	if len(cs.Changes[0].Notes) != 1 || !strings.Contains(cs.Changes[0].Notes[0], "Readme.md") {
		t.Errorf("notes: %v", cs.Changes[0].Notes)
	}
}

// What an agent keeps for itself is listed and is no change, unless the user has files
// there, at whose changes and deletion people have to look.
func TestFoldersThatAnAgentKeepsForItselfAreNoChange(t *testing.T) {
	for _, mine := range []bool{false, true} {
		files := map[string]string{"a.txt": "one\n", "sub/b.txt": "bee\n"}
		if mine {
			files[".cache.v4/mine"], files[".cache.v4/gone"] = "1\n", "2\n"
		}
		b := newRepository(t, files).prepare(func(r *workspace.Request) { r.Scratch = []string{".cache.v*"} })
		b.write(".cache.v4/cache.db", "x")
		b.write("sub/.cache.v4/deep", "not at the top")
		b.write(".cache.vx", "not a folder")
		want := []string{"A\t.cache.vx", "A\tsub/.cache.v4/deep"}
		if mine {
			b.write(".cache.v4/mine", "changed\n")
			if err := os.Remove(b.path(".cache.v4/gone")); err != nil {
				t.Fatal(err)
			}
			want = append([]string{"A\t.cache.v4/cache.db", "D\t.cache.v4/gone", "M\t.cache.v4/mine"}, want...)
		}
		cs := b.compute()
		b.want(cs, want...)
		ignored := []review.Ignored{{Path: ".cache.v4", Files: 1, Scratch: true}}
		if mine {
			ignored = nil
		}
		if diff := cmp.Diff(ignored, cs.Ignored); diff != "" {
			t.Errorf("with files of the user's: %v: ignored (-want +got):\n%s", mine, diff)
		}
		if out := gitIn(t, b.ws.Path, "status", "--porcelain"); !mine && out != "?? .cache.vx\n?? sub/.cache.v4/" {
			t.Errorf("git in the workspace says\n%s", out)
		}
	}
}
