package review_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/review"
	"aibox/workspace"
)

// added lists the files of the tree that git add makes of the user's files with the
// agent's changes in them.
func added(b *bench, cs *review.ChangeSet) string {
	b.t.Helper()
	other := filepath.Join(b.t.TempDir(), "other")
	must(b.t, exec.CommandContext(b.t.Context(), "cp", "-a", b.repo, other).Run())
	gitIn(b.t, other, "config", "core.trustctime", "false") // the copies of unchanged files count as unchanged
	gitIn(b.t, other, "config", "core.checkStat", "minimal")
	gitIn(b.t, other, "config", "core.safecrlf", "false") // git add would refuse some
	for _, c := range cs.Changes {
		for _, path := range []review.Path{c.OldPath, c.Path} {
			if path != "" {
				must(b.t, os.RemoveAll(filepath.Join(other, path.Raw())))
			}
		}
		if c.NewBlob != "" {
			to := filepath.Join(other, c.Path.Raw())
			must(b.t, os.MkdirAll(filepath.Dir(to), 0o755))
			must(b.t, exec.CommandContext(b.t.Context(), "cp", "-a", b.path(c.Path.Raw()), to).Run())
		}
	}
	gitIn(b.t, other, "add", "-A")
	return gitIn(b.t, other, "ls-tree", "-r", gitIn(b.t, other, "write-tree"))
}

// age makes the user's files old enough for git to believe their times.
func age(b *bench) {
	b.t.Helper()
	old := time.Now().Add(-time.Hour)
	must(b.t, filepath.WalkDir(b.repo, func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		return errors.Join(err, os.Chtimes(path, old, old))
	}))
}

// asAdded fails unless the branch holds what git add makes of the same files.
func asAdded(b *bench, cs *review.ChangeSet, branch string) {
	b.t.Helper()
	if diff := cmp.Diff(added(b, cs), gitIn(b.t, b.repo, "ls-tree", "-r", branch)); diff != "" {
		b.t.Errorf("git add makes another tree of the same files (-git +aibox):\n%s", diff)
	}
}

func TestFilesOfGitLFSReachABranchAsPointers(t *testing.T) {
	b := newRepository(t, map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"}).useLFS()
	b.commit(map[string]string{"old.bin": "\x00old", "same.bin": "\x00same"})
	b.user("mine.bin", "\x00uncommitted")
	b.prepare()
	b.write("old.bin", "\x00changed")
	b.write("deep/new.bin", "\x00new")
	b.write("mine.bin", "\x00uncommitted, and changed")
	b.write("plain.txt", "plain\n")
	cs := b.compute()
	accepted := b.take(cs, review.Choice{All: true}, nil)
	gitIn(t, b.repo, "lfs", "fsck", "main.."+accepted.Branch)
	gitIn(t, b.repo, "lfs", "fsck", accepted.Branch)
	asAdded(b, cs, accepted.Branch)
	for _, text := range []string{"\x00changed", "\x00new", "\x00uncommitted", "\x00uncommitted, and changed"} {
		b.nowhere(text)
	}
	gitIn(t, b.repo, "stash", "-u", "-q")
	gitIn(t, b.repo, "checkout", "-q", accepted.Branch)
	for name, want := range map[string]string{"old.bin": "\x00changed", "same.bin": "\x00same", "deep/new.bin": "\x00new", "mine.bin": "\x00uncommitted, and changed"} {
		b.holds(name, want)
	}
	if status := gitIn(t, b.repo, "status", "--porcelain"); status != "" {
		t.Errorf("after a checkout of the branch git says %q", status)
	}
}

func TestWhatAFilterKeepsUnreadableIsInNoObject(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			b := &bench{t: t, repo: filepath.Join(t.TempDir(), "project"), home: t.TempDir()}
			must(t, os.Mkdir(b.repo, 0o755))
			gitIn(t, b.repo, "init", "-q", "-b", "main", "--object-format="+format)
			settle(t, b.repo)
			b.useCrypt().commit(map[string]string{".gitattributes": "secret/** filter=crypt\n*.key filter=crypt\n", "secret/a": "letters of the user\n", "secret/mode": "mode letters\n"})
			b.user("secret/mine", "uncommitted letters\n")
			b.user("secret/a", "letters of the user\nuncommitted line\n")
			b.prepare()
			b.write("secret/a", "letters of the user\nuncommitted line\nletters of the agent\n")
			b.write("secret/new", "new letters\n")
			b.write("plain.txt", "plain\n")
			must(t, os.Chmod(b.path("secret/mode"), 0o755))
			cs := b.compute()
			accepted := b.take(cs, review.Choice{All: true}, nil)
			asAdded(b, cs, accepted.Branch)
			for _, text := range []string{"letters of", "uncommitted l", "new letters", "mode letters"} {
				b.nowhere(text)
			}
			if got := gitIn(t, b.repo, "cat-file", "--filters", accepted.Branch+":secret/new"); got != "new letters" {
				t.Errorf("the filter gives back %q", got)
			}
			if left, _ := filepath.Glob(filepath.Join(b.ws.GitDir, "aibox", "*.clean-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestTakingAPartAndThenTheRestStoresWhatTakingAllDoes(t *testing.T) {
	start := func() (*bench, *review.ChangeSet) {
		b := newRepository(t, map[string]string{".gitattributes": "*.bin filter=lfs -text\nsecret/** filter=crypt\n*.txt text eol=crlf\n"}).useLFS().useCrypt()
		b.commit(map[string]string{"a.bin": "\x00old", "secret/a": "letters\n", "t.txt": strings.ReplaceAll(ten, "\n", "\r\n"), "unix": ten})
		b.prepare()
		b.write("a.bin", "\x00agent")
		b.write("secret/a", "agent's letters\n")
		b.write("secret/b", "more letters\n")
		b.write("t.txt", strings.ReplaceAll("zero\n"+ten+"11\n", "\n", "\r\n"))
		b.write("new.txt", "one\r\ntwo\r\n")
		b.write("unix", "zero\n"+ten+"11\n")
		b.write(".gitattributes", "*.bin filter=lfs -text\nsecret/** filter=crypt\n*.txt text eol=crlf\nlater text\n")
		b.write("later", "crlf\r\n")
		return b, b.compute()
	}
	b, cs := start()
	all := b.take(cs, review.Choice{All: true}, nil)
	want := gitIn(t, b.repo, "rev-parse", all.Branch+"^{tree}")
	for _, first := range [][]string{{"a.bin", "later"}, {"secret/a", "new.txt"}, {".gitattributes"}, {"t.txt"}} {
		b, cs := start()
		part := b.take(cs, review.Choice{Files: first}, nil)
		rest := b.take(cs, review.Choice{All: true}, &review.Before{Selection: part.Selection, Tree: part.Tree, Branch: part.Branch, Commit: part.Commit})
		if rest.Branch != part.Branch {
			t.Errorf("%q first: the rest went to %s", first, rest.Branch)
		}
		if got := gitIn(t, b.repo, "rev-parse", rest.Branch+"^{tree}"); got != want {
			t.Errorf("%q first: %s", first, gitIn(t, b.repo, "diff", "--raw", rest.Branch, want))
		}
	}
	// Some of a file.
	b, cs = start()
	hunks := b.hunks(cs, "t.txt")
	part := b.take(cs, review.Choice{Hunks: []string{string(hunks[0].ID)}}, nil)
	if got := gitIn(t, b.repo, "show", part.Branch+":t.txt"); got+"\n" != "zero\n"+ten {
		t.Errorf("a part of t.txt is %q", got)
	}
}

func TestAcceptStoresLineEndingsAsGitAddDoes(t *testing.T) {
	contents := map[string]string{
		"lf": "one\ntwo\n", "crlf": "one\r\ntwo\r\n", "mixed": "one\r\ntwo\n", "lone": "one\rtwo\r\n", "binary": "\x00one\r\ntwo\r\n", "none": "one", "empty": "",
	}
	rules := map[string]string{}
	for i, rule := range []string{"text=auto", "text", "text eol=crlf", "-text", "text=auto eol=crlf", "eol=lf", "crlf", "crlf=input", "ident", "binary"} {
		rules[fmt.Sprint(i)] = rule
	}
	rules["none"] = "whatever"
	for _, c := range []struct {
		early  bool // the rules were there when the files were committed, so that none is stored with CRLF
		config []string
	}{
		{false, nil},
		{false, []string{"core.autocrlf=true"}},
		{false, []string{"core.autocrlf=input"}},
		{false, []string{"core.eol=crlf"}},
		{true, nil},
		{true, []string{"core.autocrlf=true", "core.safecrlf=true"}},
		{true, []string{"core.autocrlf=input"}},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			b := newRepository(t, map[string]string{"start": "x\n"})
			attributes := ""
			for dir, rule := range rules {
				attributes += dir + "/** " + rule + "\n"
				for was, content := range contents { // before there are attributes: some are stored with CRLF
					for now := range contents {
						b.user(dir+"/"+was+"-"+now, content)
					}
				}
			}
			age(b)
			set := func() {
				for _, setting := range c.config {
					key, value, _ := strings.Cut(setting, "=")
					gitIn(t, b.repo, "config", key, value)
				}
			}
			if c.early {
				set()
			} else {
				gitIn(t, b.repo, "add", "-A")
				gitIn(t, b.repo, "commit", "-qm", "files")
			}
			b.user(".gitattributes", attributes)
			gitIn(t, b.repo, "-c", "core.safecrlf=false", "add", "-A")
			gitIn(t, b.repo, "commit", "-qm", "files")
			set()
			b.prepare()
			for dir := range rules {
				for now, content := range contents {
					for was := range contents {
						b.write(dir+"/"+was+"-"+now, content)
					}
					b.write(dir+"/new-"+now, content+"$Id: abc $\n")
				}
			}
			cs := b.compute()
			asAdded(b, cs, b.take(cs, review.Choice{All: true}, nil).Branch)
		})
	}
}

func TestAnEncodingOfTheWorkingTreeIsKeptAsGitKeepsIt(t *testing.T) {
	b := newRepository(t, map[string]string{".gitattributes": "*.u16 working-tree-encoding=UTF-16LE\n"})
	utf16 := func(text string) string { return strings.Join(strings.Split(text, ""), "\x00") + "\x00" }
	b.commit(map[string]string{"a.u16": utf16("one\n")}).prepare()
	b.write("a.u16", utf16("two\n"))
	b.write("b.u16", utf16("new\n"))
	cs := b.compute()
	accepted := b.take(cs, review.Choice{All: true}, nil)
	if got := gitIn(t, b.repo, "show", accepted.Branch+":b.u16"); got != "new" {
		t.Errorf("stored %q", got)
	}
	asAdded(b, cs, accepted.Branch)
}

func TestAFilterThatFailsOrHangsFailsTheAcceptAndLeavesNothing(t *testing.T) {
	process := filepath.Join(t.TempDir(), "process")
	for _, c := range []struct {
		name, clean, required string
		kind                  fault.Kind
		want                  string
	}{
		{"it fails", "false", "true", fault.Environment, "x.s: clean filter 'crypt' failed"},
		{"it fails and is not required", "cat >/dev/null; echo no key >&2; exit 3", "false", fault.Environment, "x.s: clean filter 'crypt' failed (no key)"},
		{"it is not installed", "/nowhere/crypt", "true", fault.Environment, "(cannot fork to run external filter '/nowhere/crypt')"},
		{"it is in the repository", "tools/crypt", "true", fault.Environment, "x.s: clean filter 'crypt' failed"},
		{"it hangs", "echo $$ > " + process + "; sleep 600", "true", fault.Limit, "did not end within 2s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newRepository(t, map[string]string{".gitattributes": "*.s filter=crypt\n", "a.txt": "one\n"}).prepare()
			gitIn(t, b.repo, "config", "filter.crypt.clean", c.clean)
			gitIn(t, b.repo, "config", "filter.crypt.required", c.required)
			b.write("x.s", "letters of the agent\n")
			b.write("a.txt", "two\n")
			b.write("tools/crypt", "#!/bin/sh\ncat\n")
			must(t, os.Chmod(b.path("tools/crypt"), 0o755))
			killed := filepath.Join(b.ws.GitDir, "aibox", "other.clean-4194999") // no process has that number
			write(t, filepath.Join(killed, "tree/x.s"), "what a killed accept left\n")
			cs := b.compute()
			before := gitIn(t, b.repo, "for-each-ref") + gitIn(t, b.repo, "count-objects") + b.state()
			began := time.Now()
			_, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}, FilterTime: 2 * time.Second})
			if err == nil || fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			t.Log(err)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if after := gitIn(t, b.repo, "for-each-ref") + gitIn(t, b.repo, "count-objects") + b.state(); after != before {
				t.Errorf("something is left behind:\n%s\nwas\n%s", after, before)
			}
			b.nowhere("letters of the agent")
			if pid, err := os.ReadFile(process); err == nil {
				stat, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
				if fields := strings.Fields(string(stat)); len(fields) > 2 && fields[2] != "Z" {
					t.Errorf("the filter goes on: %s", stat)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(b.ws.GitDir, "aibox", "*.clean-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			// Without that file the rest is there for the taking.
			b.take(cs, review.Choice{Files: []string{"a.txt"}}, nil)
		})
	}
}

func TestAFilterThatIsNotSetUpStoresWhatGitWouldUnlessItKeepsFilesOut(t *testing.T) {
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1") // where Debian sets up Git LFS
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 3\n"
	b := newRepository(t, map[string]string{
		".gitattributes": "*.nb filter=strip\n*.bin filter=lfs\n*.key filter=git-crypt-team\n", "pointer.bin": pointer, "old.key": "as it is stored\n",
	}).prepare()
	must(t, os.Rename(b.path("old.key"), b.path("moved.key")))
	b.write("copy.bin", pointer)
	b.write("a.nb", "notes\n")
	b.write("b.bin", "\x00content")
	b.write("c.key", "letters")
	cs := b.compute()
	accepted := b.take(cs, review.Choice{Files: []string{"a.nb", "copy.bin", "moved.key"}}, nil)
	if got := gitIn(t, b.repo, "show", accepted.Branch+":a.nb"); got != "notes" {
		t.Errorf("stored %q", got)
	}
	if _, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}}); err == nil || !strings.Contains(err.Error(), "b.bin and 1 more file belong to Git LFS") {
		t.Errorf("all of it: %v", err)
	}
	for path, want := range map[string]string{"b.bin": "Git LFS", "c.key": "git-crypt"} {
		_, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{Files: []string{path}}})
		if fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), path+" belongs to "+want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	b.nowhere("\x00content")
	b.nowhere("letters")
	b.take(cs, review.Choice{Files: []string{"b.bin"}, Risky: []string{"b.bin"}}, nil)
}

// TestAttributesOfTheAgentNameNoFilter has attributes that were not accepted, and the
// configuration of the workspace, name programs.
func TestAttributesOfTheAgentNameNoFilter(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n"})
	ran := b.inRepo("../ran")
	gitIn(t, b.repo, "config", "filter.mine.clean", "touch "+ran+"-mine; cat")
	b.prepare()
	for _, filter := range []string{"evil", "mine"} {
		gitIn(t, b.ws.Path, "config", "filter."+filter+".clean", "touch "+ran+"; cat")
		gitIn(t, b.ws.Path, "config", "filter."+filter+".process", "touch "+ran)
	}
	b.write(".gitattributes", "* filter=mine\n*.evil filter=evil\n")
	write(t, b.path(".git/info/attributes"), "* filter=evil\n")
	b.write("a.txt", "two\n")
	b.write("b.evil", "three\n")
	cs := b.assess()
	accepted := b.take(cs, review.Choice{All: true}, nil)
	if len(accepted.Left) != 1 || accepted.Left[0].Path != ".gitattributes" {
		t.Errorf("left out: %v", accepted.Left)
	}
	if found, _ := filepath.Glob(ran + "*"); len(found) > 0 {
		t.Errorf("%q ran", found)
	}
	// Accepted by name it counts, and only filters of the user's own settings run.
	b.take(cs, review.Choice{All: true, Risky: []string{".gitattributes"}}, nil)
	if found, _ := filepath.Glob(ran + "*"); len(found) != 1 || !strings.HasSuffix(found[0], "-mine") {
		t.Errorf("%q ran", found)
	}
}

func TestASavedStateThatIsRestoredIsStoredThroughFilters(t *testing.T) {
	b := newRepository(t, map[string]string{".gitattributes": "secret/** filter=crypt\n"}).useCrypt()
	b.commit(map[string]string{"secret/a": "letters of the user\n"}).prepare()
	b.write("secret/a", "letters of the agent\n")
	saved, err := review.PutAway(t.Context(), b.ws, review.Discarded, review.Options{})
	must(t, err)
	restored, err := review.Restore(t.Context(), *saved, "")
	must(t, err)
	b.nowhere("letters of")
	if got := gitIn(t, b.repo, "cat-file", "--filters", restored.Branch+":secret/a"); got != "letters of the agent" {
		t.Errorf("the filter gives back %q", got)
	}
}

func TestAWorkspaceOfACommitKeepsWhatItWasGivenStored(t *testing.T) {
	b := newRepository(t, map[string]string{".gitattributes": "secret/** filter=crypt\n"}).useCrypt()
	b.commit(map[string]string{"secret/a": "letters of the user\n", "secret/b": "other letters\n"})
	b.prepare(func(req *workspace.Request) { req.Clean = true })
	must(t, os.Rename(b.path("secret/a"), b.path("secret/moved")))
	must(t, os.Chmod(b.path("secret/b"), 0o755))
	b.write("secret/new", "new letters\n")
	accepted := b.take(b.compute(), review.Choice{All: true}, nil)
	for name, want := range map[string]string{"secret/moved": "letters of the user", "secret/b": "other letters", "secret/new": "new letters"} {
		if got := gitIn(t, b.repo, "cat-file", "--filters", accepted.Branch+":"+name); got != want {
			t.Errorf("%s: the filter gives back %q", name, got)
		}
	}
}

// TestAFileThatWasAcceptedBeforeIsNotStoredAgain has a filter that gives something else
// each time, as encryption often does.
func TestAFileThatWasAcceptedBeforeIsNotStoredAgain(t *testing.T) {
	b := newRepository(t, map[string]string{".gitattributes": "*.s filter=salt\n"})
	gitIn(t, b.repo, "config", "filter.salt.clean", "cat; head -c 8 /dev/urandom")
	b.prepare()
	b.write("a.s", "one\n")
	b.write("b.s", "two\n")
	cs := b.compute()
	part := b.take(cs, review.Choice{Files: []string{"a.s"}}, nil)
	rest := b.take(cs, review.Choice{All: true}, &review.Before{Selection: part.Selection, Tree: part.Tree, Branch: part.Branch, Commit: part.Commit})
	if got := gitIn(t, b.repo, "diff", "--name-only", part.Commit, rest.Commit); got != "b.s" {
		t.Errorf("the second commit changes %q", got)
	}
}

func TestFiltersFindTheirKeysInARepositoryOfAnyKind(t *testing.T) {
	for name, make := range map[string]func(b *bench) string{
		"a linked working tree": func(b *bench) string {
			dir := filepath.Join(b.t.TempDir(), "linked")
			gitIn(b.t, b.repo, "config", "extensions.worktreeConfig", "true")
			gitIn(b.t, b.repo, "worktree", "add", "-q", "-b", "linked", dir)
			return dir
		},
		"a git directory elsewhere": func(b *bench) string {
			dir := filepath.Join(b.t.TempDir(), "elsewhere")
			must(b.t, os.Rename(b.inRepo(".git"), dir))
			gitIn(b.t, b.repo, "--git-dir", dir, "config", "core.worktree", b.repo)
			write(b.t, b.inRepo(".git"), "gitdir: "+dir+"\n")
			return b.repo
		},
		"a sparse checkout with a split index": func(b *bench) string {
			gitIn(b.t, b.repo, "config", "core.splitIndex", "true")
			gitIn(b.t, b.repo, "sparse-checkout", "set", "--sparse-index", "secret")
			return b.repo
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRepository(t, map[string]string{".gitattributes": "secret/** filter=crypt\n", "out/x": "x\n"}).useCrypt()
			b.commit(map[string]string{"secret/a": "letters of the user\n"})
			b.repo = make(b)
			b.prepare()
			b.write("secret/a", "letters of the agent\n")
			b.write("secret/:(top)/new\n$(touch x)'`\".s", "more letters\n")
			before := b.state()
			accepted := b.take(b.compute(), review.Choice{All: true}, nil)
			b.nowhere("letters")
			if got := gitIn(t, b.repo, "cat-file", "--filters", accepted.Branch+":secret/:(top)/new\n$(touch x)'`\".s"); got != "more letters" {
				t.Errorf("the filter gives back %q", got)
			}
			if after := b.state(); after != before {
				t.Errorf("the repository changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// TestTheOnlyHunkOfATextInGitLFSIsAllOfIt has a text that is stored as a pointer, which is
// text, too: no part of it may be put between lines of the pointer.
func TestTheOnlyHunkOfATextInGitLFSIsAllOfIt(t *testing.T) {
	b := newRepository(t, map[string]string{".gitattributes": "*.csv filter=lfs -text\n"}).useLFS()
	b.commit(map[string]string{"a.csv": ten}).prepare()
	b.write("a.csv", "zero\n"+ten+"11\n")
	cs := b.compute()
	hunks := b.hunks(cs, "a.csv")
	if len(hunks) != 1 || len(hunks[0].Split()) != 1 {
		t.Fatalf("%d hunks", len(hunks))
	}
	accepted := b.take(cs, review.Choice{Hunks: []string{string(hunks[0].ID)}}, nil)
	gitIn(t, b.repo, "lfs", "fsck", accepted.Branch)
	gitIn(t, b.repo, "checkout", "-q", accepted.Branch)
	b.holds("a.csv", "zero\n"+ten+"11\n")
}

// TestPartsOfATextWithAFilterAreStoredThroughIt has a filter that keeps lines apart.
func TestPartsOfATextWithAFilterAreStoredThroughIt(t *testing.T) {
	b := newRepository(t, map[string]string{".gitattributes": "*.up filter=up\n"})
	gitIn(t, b.repo, "config", "filter.up.clean", "tr a-z A-Z")
	letters := strings.Join(strings.Split("abcdefghijklmnopqrst", ""), "\n") + "\n"
	b.commit(map[string]string{"x.up": strings.ToUpper(letters)}).prepare()
	b.write("x.up", "first\n"+strings.ToUpper(letters)+"last\n")
	cs := b.compute()
	accepted := b.take(cs, review.Choice{Hunks: []string{string(b.hunks(cs, "x.up")[1].ID)}}, nil)
	if got := gitIn(t, b.repo, "show", accepted.Branch+":x.up"); got != strings.ToUpper(letters+"last") {
		t.Errorf("stored %q", got)
	}
}

// TestAttributesCountHoweverDeepFilesLie has more folders than git is asked about one by
// one.
func TestAttributesCountHoweverDeepFilesLie(t *testing.T) {
	b := newRepository(t, map[string]string{".gitattributes": "*.s filter=up\n", "deep/.gitattributes": "*.l -text\n"})
	gitIn(t, b.repo, "config", "filter.up.clean", "tr a-z A-Z")
	b.prepare()
	for i := range 8 {
		dir := fmt.Sprintf("deep/%d/%s", i, strings.Repeat("d/", 700))
		b.write(dir+"x.s", "letters\n")
		b.write(dir+"y.u", "letters\n")
		b.write(fmt.Sprintf("deep/%d/.gitattributes", i), "*.u text eol=crlf\n")
		b.write(fmt.Sprintf("deep/%d/a.u", i), "letters\r\n")
	}
	cs := b.compute()
	began := time.Now()
	accepted := b.take(cs, review.Choice{All: true}, nil)
	t.Log(time.Since(began))
	for _, line := range strings.Split(gitIn(t, b.repo, "ls-tree", "-r", accepted.Branch, "deep"), "\n") {
		want := map[string]string{"s": "LETTERS\n", "u": "letters\n"}[line[len(line)-1:]]
		if want != "" && !strings.HasSuffix(line, ".gitattributes") && strings.Fields(line)[2] != git.SHA1.BlobID([]byte(want)) {
			t.Errorf("%.80s… is not %q", line, want)
		}
	}
}
