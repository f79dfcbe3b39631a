package branch_test

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
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/workspace"
)

// added lists the files of the tree that git add creates from the user's files with the
// agent's changes.
func added(b *reviewtest.Fixture, cs *review.ChangeSet) string {
	b.T.Helper()
	other := filepath.Join(b.T.TempDir(), "other")
	reviewtest.Must(b.T, exec.CommandContext(b.T.Context(), "cp", "-a", b.Repo, other).Run())
	reviewtest.GitIn(b.T, other, "config", "core.trustctime", "false") // the copies of unchanged files count as unchanged
	reviewtest.GitIn(b.T, other, "config", "core.checkStat", "minimal")
	reviewtest.GitIn(b.T, other, "config", "core.safecrlf", "false") // git add would refuse some
	for _, c := range cs.Changes {
		for _, path := range []review.Path{c.OldPath, c.Path} {
			if path != "" {
				reviewtest.Must(b.T, os.RemoveAll(filepath.Join(other, path.Raw())))
			}
		}
		if c.NewBlob != "" {
			to := filepath.Join(other, c.Path.Raw())
			reviewtest.Must(b.T, os.MkdirAll(filepath.Dir(to), 0o755))
			reviewtest.Must(b.T, exec.CommandContext(b.T.Context(), "cp", "-a", b.Path(c.Path.Raw()), to).Run())
		}
	}
	reviewtest.GitIn(b.T, other, "add", "-A")
	return reviewtest.GitIn(b.T, other, "ls-tree", "-r", reviewtest.GitIn(b.T, other, "write-tree"))
}

// age makes the user's files old enough for git to believe their times.
func age(b *reviewtest.Fixture) {
	b.T.Helper()
	old := time.Now().Add(-time.Hour)
	reviewtest.Must(b.T, filepath.WalkDir(b.Repo, func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		return errors.Join(err, os.Chtimes(path, old, old))
	}))
}

// asAdded fails unless the branch has the same content as after git add of the same files.
func asAdded(b *reviewtest.Fixture, cs *review.ChangeSet, branch string) {
	b.T.Helper()
	if diff := cmp.Diff(added(b, cs), reviewtest.GitIn(b.T, b.Repo, "ls-tree", "-r", branch)); diff != "" {
		b.T.Errorf("git add makes another tree of the same files (-git +aibox):\n%s", diff)
	}
}

func TestGitLFSFilesReachABranchAsPointers(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"}).UseLFS()
	b.Commit(map[string]string{"old.bin": "\x00old", "same.bin": "\x00same"})
	b.User("mine.bin", "\x00uncommitted")
	b.Prepare()
	b.Write("old.bin", "\x00changed")
	b.Write("deep/new.bin", "\x00new")
	b.Write("mine.bin", "\x00uncommitted, and changed")
	b.Write("plain.txt", "plain\n")
	cs := b.Compute()
	accepted := b.Take(cs, review.Choice{All: true}, nil)
	reviewtest.GitIn(t, b.Repo, "lfs", "fsck", "main.."+accepted.Branch)
	reviewtest.GitIn(t, b.Repo, "lfs", "fsck", accepted.Branch)
	asAdded(b, cs, accepted.Branch)
	for _, text := range []string{"\x00changed", "\x00new", "\x00uncommitted", "\x00uncommitted, and changed"} {
		b.Nowhere(text)
	}
	reviewtest.GitIn(t, b.Repo, "stash", "-u", "-q")
	reviewtest.GitIn(t, b.Repo, "checkout", "-q", accepted.Branch)
	for name, want := range map[string]string{"old.bin": "\x00changed", "same.bin": "\x00same", "deep/new.bin": "\x00new", "mine.bin": "\x00uncommitted, and changed"} {
		b.Holds(name, want)
	}
	if status := reviewtest.GitIn(t, b.Repo, "status", "--porcelain"); status != "" {
		t.Errorf("after a checkout of the branch git says %q", status)
	}
}

// TestABundleThatLacksContentsIsRefused has files that Git LFS would store beside the bundle, and one that
// the user's repository has.
func TestABundleThatLacksContentsIsRefused(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"}).UseLFS()
	b.Commit(map[string]string{"old.bin": "\x00old"})
	b.Prepare()
	b.Write("new.bin", "\x00new")
	b.Write("copy.bin", "\x00old")
	b.Write("plain.txt", "plain\n")
	cs := b.Compute()
	deliver := func(target accept.Target, files ...string) error {
		_, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{Files: files}, Target: target, Bundled: true})
		return err
	}
	for _, target := range []accept.Target{accept.ToBundle, accept.ToBranch} {
		err := deliver(target, "new.bin", "plain.txt")
		if f, ok := errors.AsType[*fault.Fault](err); !ok || f.Kind != fault.Refused || !strings.Contains(err.Error(), "new.bin") {
			t.Errorf("%s: %v", target, err)
		}
	}
	if got := reviewtest.GitIn(t, b.Repo, "branch", "--list", "aibox/*"); got != "" {
		t.Errorf("there is the branch %s", got)
	}
	if err := deliver(accept.ToBundle, "copy.bin", "plain.txt"); err != nil {
		t.Errorf("a file whose content is there: %v", err)
	}
}

// TestFiltersOfTheUserStoreNoFileOfAnUploadedTree has them for all repositories.
func TestFiltersOfTheUserStoreNoFileOfAnUploadedTree(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "old.bin": "\x00old"})
	global := filepath.Join(t.TempDir(), "gitconfig")
	reviewtest.Write(t, global, "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n")
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	b.Prepare()
	b.Write("old.bin", "\x00changed")
	b.Write("new.bin", "\x00new")
	accepted, err := accept.Run(t.Context(), b.Workspace, b.Compute(), accept.Options{Choice: review.Choice{All: true}, Own: true, Bundled: true})
	reviewtest.Must(t, err)
	for name, want := range map[string]string{"old.bin": "\x00changed", "new.bin": "\x00new"} {
		if got := reviewtest.GitIn(t, b.Repo, "show", accepted.Branch+":"+name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// TestAPointerOfGitLFSByTheAgentIsHeldBack has pointers in place of content. Git LFS stores them
// as they are, so a commit would name files of its server that no review showed.
func TestAPointerOfGitLFSByTheAgentIsHeldBack(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"}).UseLFS()
	b.Commit(map[string]string{"old.bin": "\x00old"}).Prepare()
	oid := strings.Repeat("ab", 32)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 5242880\n"
	b.Write("old.bin", pointer)
	b.Write("new.bin", pointer)
	cs := b.Assess()
	for _, path := range []string{"old.bin", "new.bin"} {
		b.WantRisks(cs, path, "lfs-pointer")
		if r := reviewtest.RisksOf(t, cs, path)[0]; r.Found != "5 MiB, "+oid || !r.Holds() {
			t.Errorf("%s: %+v", path, r)
		}
	}
	for _, c := range cs.Changes {
		if text := c.DescribeLFS(); c.Path == "old.bin" && (!strings.Contains(text, " → 5 MiB, ") || !strings.HasSuffix(text, " → ababababab by a pointer to content that is not here") || c.LFS.NewOID != oid) {
			t.Errorf("shown as %q", text)
		}
	}
	accepted := b.Take(cs, review.Choice{All: true, Risky: []string{"old.bin"}}, nil)
	if got := reviewtest.GitIn(t, b.Repo, "cat-file", "blob", accepted.Branch+":old.bin"); got != strings.TrimSpace(pointer) {
		t.Errorf("stored is %q", got)
	}
}

func TestFilteredSecretsAreInNoObject(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			b := &reviewtest.Fixture{T: t, Repo: filepath.Join(t.TempDir(), "project"), Home: t.TempDir()}
			reviewtest.Must(t, os.Mkdir(b.Repo, 0o755))
			reviewtest.GitIn(t, b.Repo, "init", "-q", "-b", "main", "--object-format="+format)
			reviewtest.Settle(t, b.Repo)
			b.UseCrypt().Commit(map[string]string{".gitattributes": "secret/** filter=crypt\n*.key filter=crypt\n", "secret/a": "letters of the user\n", "secret/mode": "mode letters\n"})
			b.User("secret/mine", "uncommitted letters\n")
			b.User("secret/a", "letters of the user\nuncommitted line\n")
			b.Prepare()
			b.Write("secret/a", "letters of the user\nuncommitted line\nletters of the agent\n")
			b.Write("secret/new", "new letters\n")
			b.Write("plain.txt", "plain\n")
			reviewtest.Must(t, os.Chmod(b.Path("secret/mode"), 0o755))
			cs := b.Compute()
			accepted := b.Take(cs, review.Choice{All: true}, nil)
			asAdded(b, cs, accepted.Branch)
			for _, text := range []string{"letters of", "uncommitted l", "new letters", "mode letters"} {
				b.Nowhere(text)
			}
			if got := reviewtest.GitIn(t, b.Repo, "cat-file", "--filters", accepted.Branch+":secret/new"); got != "new letters" {
				t.Errorf("the filter gives back %q", got)
			}
			if left, _ := filepath.Glob(filepath.Join(b.Workspace.GitDir, "aibox", "*.clean-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestAcceptingInPartsStoresTheSameAsAcceptingAll(t *testing.T) {
	start := func() (*reviewtest.Fixture, *review.ChangeSet) {
		b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.bin filter=lfs -text\nsecret/** filter=crypt\n*.txt text eol=crlf\n"}).UseLFS().UseCrypt()
		b.Commit(map[string]string{"a.bin": "\x00old", "secret/a": "letters\n", "t.txt": strings.ReplaceAll(reviewtest.Ten, "\n", "\r\n"), "unix": reviewtest.Ten})
		b.Prepare()
		b.Write("a.bin", "\x00agent")
		b.Write("secret/a", "agent's letters\n")
		b.Write("secret/b", "more letters\n")
		b.Write("t.txt", strings.ReplaceAll("zero\n"+reviewtest.Ten+"11\n", "\n", "\r\n"))
		b.Write("new.txt", "one\r\ntwo\r\n")
		b.Write("unix", "zero\n"+reviewtest.Ten+"11\n")
		b.Write(".gitattributes", "*.bin filter=lfs -text\nsecret/** filter=crypt\n*.txt text eol=crlf\nlater text\n")
		b.Write("later", "crlf\r\n")
		return b, b.Compute()
	}
	b, cs := start()
	all := b.Take(cs, review.Choice{All: true}, nil)
	want := reviewtest.GitIn(t, b.Repo, "rev-parse", all.Branch+"^{tree}")
	for _, first := range [][]string{{"a.bin", "later"}, {"secret/a", "new.txt"}, {".gitattributes"}, {"t.txt"}} {
		b, cs := start()
		part := b.Take(cs, review.Choice{Files: first}, nil)
		rest := b.Take(cs, review.Choice{All: true}, &accept.Prior{Selection: part.Selection, Tree: part.Tree, Branch: part.Branch, Commit: part.Commit})
		if rest.Branch != part.Branch {
			t.Errorf("%q first: the rest went to %s", first, rest.Branch)
		}
		if got := reviewtest.GitIn(t, b.Repo, "rev-parse", rest.Branch+"^{tree}"); got != want {
			t.Errorf("%q first: %s", first, reviewtest.GitIn(t, b.Repo, "diff", "--raw", rest.Branch, want))
		}
	}
	// A part of a file.
	b, cs = start()
	hunks := b.Hunks(cs, "t.txt")
	part := b.Take(cs, review.Choice{Hunks: []string{string(hunks[0].ID)}}, nil)
	if got := reviewtest.GitIn(t, b.Repo, "show", part.Branch+":t.txt"); got+"\n" != "zero\n"+reviewtest.Ten {
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
			b := reviewtest.NewRepository(t, map[string]string{"start": "x\n"})
			attributes := ""
			for dir, rule := range rules {
				attributes += dir + "/** " + rule + "\n"
				for was, content := range contents { // before there are attributes: some are stored with CRLF
					for now := range contents {
						b.User(dir+"/"+was+"-"+now, content)
					}
				}
			}
			age(b)
			set := func() {
				for _, setting := range c.config {
					key, value, _ := strings.Cut(setting, "=")
					reviewtest.GitIn(t, b.Repo, "config", key, value)
				}
			}
			if c.early {
				set()
			} else {
				reviewtest.GitIn(t, b.Repo, "add", "-A")
				reviewtest.GitIn(t, b.Repo, "commit", "-qm", "files")
			}
			b.User(".gitattributes", attributes)
			reviewtest.GitIn(t, b.Repo, "-c", "core.safecrlf=false", "add", "-A")
			reviewtest.GitIn(t, b.Repo, "commit", "-qm", "files")
			set()
			b.Prepare()
			for dir := range rules {
				for now, content := range contents {
					for was := range contents {
						b.Write(dir+"/"+was+"-"+now, content)
					}
					b.Write(dir+"/new-"+now, content+"$Id: abc $\n")
				}
			}
			cs := b.Compute()
			asAdded(b, cs, b.Take(cs, review.Choice{All: true}, nil).Branch)
		})
	}
}

func TestWorkingTreeEncodingMatchesGit(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.u16 working-tree-encoding=UTF-16LE\n"})
	utf16 := func(text string) string { return strings.Join(strings.Split(text, ""), "\x00") + "\x00" }
	b.Commit(map[string]string{"a.u16": utf16("one\n")}).Prepare()
	b.Write("a.u16", utf16("two\n"))
	b.Write("b.u16", utf16("new\n"))
	cs := b.Compute()
	accepted := b.Take(cs, review.Choice{All: true}, nil)
	if got := reviewtest.GitIn(t, b.Repo, "show", accepted.Branch+":b.u16"); got != "new" {
		t.Errorf("stored %q", got)
	}
	asAdded(b, cs, accepted.Branch)
}

// TestRecoveredFilesOfASessionFromACommitAreNotEncodedAgain has an agent that got the stored form.
func TestRecoveredFilesOfASessionFromACommitAreNotEncodedAgain(t *testing.T) {
	for _, encoding := range []string{"ISO-8859-1", "UTF-16"} {
		b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.txt working-tree-encoding=" + encoding + "\n"})
		b.Prepare(func(req *workspace.Request) { req.Clean = true })
		b.Write("a.txt", "caf\u00e9\n")
		saved, err := recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{})
		reviewtest.Must(t, err)
		restored, err := accept.Restore(t.Context(), *saved, "")
		reviewtest.Must(t, err)
		if got := reviewtest.GitIn(t, b.Repo, "show", restored.Branch+":a.txt"); got != "caf\u00e9" {
			t.Errorf("%s: restored %q", encoding, got)
		}
	}
}

func TestAFailingOrHangingFilterFailsTheAccept(t *testing.T) {
	process := filepath.Join(t.TempDir(), "process")
	for _, c := range []struct {
		name, clean, required string
		kind                  fault.Kind
		want                  string
	}{
		{"it fails", "false", "true", fault.Environment, "x.s: clean filter 'crypt' failed"},
		{"it fails and is not required", "cat >/dev/null; echo no key >&2; exit 3", "false", fault.Environment, "x.s: clean filter 'crypt' failed (no key)"},
		{"it is not installed", "/nowhere/crypt", "true", fault.Environment, "x.s: clean filter 'crypt' failed (/nowhere/crypt: "},
		{"it is in the repository", "tools/crypt", "true", fault.Environment, "x.s: clean filter 'crypt' failed"},
		{"it hangs", "echo $$ > " + process + "; sleep 600", "true", fault.Limit, "did not end within 2s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.s filter=crypt\n", "a.txt": "one\n"}).Prepare()
			reviewtest.GitIn(t, b.Repo, "config", "filter.crypt.clean", c.clean)
			reviewtest.GitIn(t, b.Repo, "config", "filter.crypt.required", c.required)
			b.Write("x.s", "letters of the agent\n")
			b.Write("a.txt", "two\n")
			b.Write("tools/crypt", "#!/bin/sh\ncat\n")
			reviewtest.Must(t, os.Chmod(b.Path("tools/crypt"), 0o755))
			killed := filepath.Join(b.Workspace.GitDir, "aibox", "other.clean-4194999") // no process has that id
			reviewtest.Write(t, filepath.Join(killed, "tree/x.s"), "what a killed accept left\n")
			cs := b.Compute()
			before := reviewtest.GitIn(t, b.Repo, "for-each-ref") + reviewtest.GitIn(t, b.Repo, "count-objects") + b.State()
			began := time.Now()
			opts := accept.Options{Choice: review.Choice{All: true}}
			if c.kind == fault.Limit {
				opts.FilterTime = 2 * time.Second
			}
			foreseen := accept.CheckBranch(t.Context(), b.Workspace, cs, opts)
			_, err := accept.Run(t.Context(), b.Workspace, cs, opts)
			if err == nil || fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			t.Log(err)
			if foreseen == nil || foreseen.Error() != err.Error() || fault.KindOf(foreseen) != c.kind {
				t.Errorf("the check returned %v, the accept %v", foreseen, err)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %v", took)
			}
			if after := reviewtest.GitIn(t, b.Repo, "for-each-ref") + reviewtest.GitIn(t, b.Repo, "count-objects") + b.State(); after != before {
				t.Errorf("something is left behind:\n%s\nwas\n%s", after, before)
			}
			b.Nowhere("letters of the agent")
			if pid, err := os.ReadFile(process); err == nil {
				stat, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
				if fields := strings.Fields(string(stat)); len(fields) > 2 && fields[2] != "Z" {
					t.Errorf("the filter continues: %s", stat)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(b.Workspace.GitDir, "aibox", "*.clean-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			// Without that file, the rest can be accepted.
			b.Take(cs, review.Choice{Files: []string{"a.txt"}}, nil)
		})
	}
}

func TestACheckOfADeliveryRunsTheFiltersAndStoresNothing(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.bin filter=lfs -text\n*.s filter=crypt\n*.txt text\n", "a.txt": "one\n"}).UseLFS().UseCrypt()
	reviewtest.GitIn(t, b.Repo, "config", "lfs.repositoryformatversion", "0") // which Git LFS writes when it first runs
	b.User("mine.s", "letters of the user\n")
	b.Prepare()
	b.Write("x.bin", "large\n")
	b.Write("x.s", "letters of the agent\n")
	b.Write("a.txt", "two\r\n")
	cs := b.Compute()
	before := reviewtest.Contents(t, b.InRepo(".git"))
	check := func(opts accept.Options) error {
		t.Helper()
		err := accept.CheckBranch(t.Context(), b.Workspace, cs, opts)
		if diff := cmp.Diff(before, reviewtest.Contents(t, b.InRepo(".git"))); diff != "" {
			t.Errorf("the check changed the repository (-before +after):\n%s", diff)
		}
		if left, _ := filepath.Glob(filepath.Join(b.Workspace.GitDir, "aibox", "*.clean-*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
		return err
	}
	all := accept.Options{Choice: review.Choice{All: true}}
	if err := check(all); err != nil {
		t.Fatal(err)
	}
	if err := check(accept.Options{Choice: all.Choice, Branch: "main"}); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a branch that exists: %v", err)
	}
	accepted := b.Take(cs, all.Choice, nil)
	asAdded(b, cs, accepted.Branch)
}

func TestAnUnconfiguredFilterStoresTheSameAsGit(t *testing.T) {
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1") // where Debian sets up Git LFS
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 3\n"
	b := reviewtest.NewRepository(t, map[string]string{
		".gitattributes": "*.nb filter=strip\n*.bin filter=lfs\n*.key filter=git-crypt-team\n", "pointer.bin": pointer, "old.key": "as it is stored\n",
	}).Prepare()
	reviewtest.Must(t, os.Rename(b.Path("old.key"), b.Path("moved.key")))
	b.Write("copy.bin", pointer)
	b.Write("a.nb", "notes\n")
	b.Write("b.bin", "\x00content")
	b.Write("c.key", "letters")
	cs := b.Compute()
	accepted := b.Take(cs, review.Choice{Files: []string{"a.nb", "copy.bin", "moved.key"}}, nil)
	if got := reviewtest.GitIn(t, b.Repo, "show", accepted.Branch+":a.nb"); got != "notes" {
		t.Errorf("stored %q", got)
	}
	if _, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}}); err == nil || !strings.Contains(err.Error(), "b.bin and 1 more file belong to Git LFS") {
		t.Errorf("all of it: %v", err)
	}
	for path, want := range map[string]string{"b.bin": "Git LFS", "c.key": "git-crypt"} {
		_, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{Files: []string{path}, RiskyParts: []string{path}}})
		if fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), path+" belongs to "+want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	b.Nowhere("\x00content")
	b.Nowhere("letters")
	b.Take(cs, review.Choice{Files: []string{"b.bin"}, Risky: []string{"b.bin"}}, nil)
}

// TestAttributesByTheAgentSelectNoFilter has programs in attributes that were not accepted,
// and in the configuration of the workspace.
func TestAttributesByTheAgentSelectNoFilter(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"})
	ran := b.InRepo("../ran")
	reviewtest.GitIn(t, b.Repo, "config", "filter.mine.clean", "touch "+ran+"-mine; cat")
	b.Prepare()
	for _, filter := range []string{"evil", "mine"} {
		reviewtest.GitIn(t, b.Workspace.Path, "config", "filter."+filter+".clean", "touch "+ran+"; cat")
		reviewtest.GitIn(t, b.Workspace.Path, "config", "filter."+filter+".process", "touch "+ran)
	}
	b.Write(".gitattributes", "* filter=mine\n*.evil filter=evil\n")
	reviewtest.Write(t, b.Path(".git/info/attributes"), "* filter=evil\n")
	b.Write("a.txt", "two\n")
	b.Write("b.evil", "three\n")
	cs := b.Assess()
	accepted := b.Take(cs, review.Choice{All: true}, nil)
	if len(accepted.Left) != 1 || accepted.Left[0].Path != ".gitattributes" {
		t.Errorf("left out: %v", accepted.Left)
	}
	if found, _ := filepath.Glob(ran + "*"); len(found) > 0 {
		t.Errorf("%q ran", found)
	}
	// Accepted by name, the file applies, and only filters from the user's own settings run.
	b.Take(cs, review.Choice{All: true, Risky: []string{".gitattributes"}}, nil)
	if found, _ := filepath.Glob(ran + "*"); len(found) != 1 || !strings.HasSuffix(found[0], "-mine") {
		t.Errorf("%q ran", found)
	}
}

// TestAFilterRunsNoProgramOfTheAgent has a filter whose program is found in the current folder, as a
// library of "python -m" is. The agent's has CRLF line endings, so that git converts it, too.
func TestAFilterRunsNoProgramOfTheAgent(t *testing.T) {
	for _, kind := range []string{"clean", "process"} {
		t.Run(kind, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "* text=auto\n*.nb filter=strip\n", "a.nb": "a\n"})
			ran := b.InRepo("../ran")
			reviewtest.GitIn(t, b.Repo, "config", "filter.strip."+kind, "test -e strip.sh && exec sh strip.sh; test "+kind+" = clean && tr a-z A-Z")
			b.Prepare()
			b.Write("strip.sh", "touch "+ran+" #\r\ncat #\r\n")
			b.Write("a.nb", "more\n")
			accepted, err := accept.Run(t.Context(), b.Workspace, b.Compute(), accept.Options{Choice: review.Choice{All: true}})
			if _, err := os.Lstat(ran); err == nil {
				t.Error("the agent's program ran")
			}
			if kind == "process" { // which does not speak git's protocol
				if err == nil {
					t.Error("a filter that failed does not fail the accept")
				}
				return
			}
			reviewtest.Must(t, err)
			if got := reviewtest.GitIn(t, b.Repo, "show", accepted.Branch+":a.nb"); got != "MORE" {
				t.Errorf("the filter stored %q", got)
			}
		})
	}
}

func TestARestoredStateIsStoredThroughFilters(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "secret/** filter=crypt\n"}).UseCrypt()
	b.Commit(map[string]string{"secret/a": "letters of the user\n"}).Prepare()
	b.Write("secret/a", "letters of the agent\n")
	saved, err := recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{})
	reviewtest.Must(t, err)
	restored, err := accept.Restore(t.Context(), *saved, "")
	reviewtest.Must(t, err)
	b.Nowhere("letters of")
	if got := reviewtest.GitIn(t, b.Repo, "cat-file", "--filters", restored.Branch+":secret/a"); got != "letters of the agent" {
		t.Errorf("the filter gives back %q", got)
	}
}

func TestUnchangedFilesOfACommitKeepTheirBlobs(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "secret/** filter=crypt\n"}).UseCrypt()
	b.Commit(map[string]string{"secret/a": "letters of the user\n", "secret/b": "other letters\n"})
	b.Prepare(func(req *workspace.Request) { req.Clean = true })
	reviewtest.Must(t, os.Rename(b.Path("secret/a"), b.Path("secret/moved")))
	reviewtest.Must(t, os.Chmod(b.Path("secret/b"), 0o755))
	b.Write("secret/new", "new letters\n")
	accepted := b.Take(b.Compute(), review.Choice{All: true}, nil)
	for name, want := range map[string]string{"secret/moved": "letters of the user", "secret/b": "other letters", "secret/new": "new letters"} {
		if got := reviewtest.GitIn(t, b.Repo, "cat-file", "--filters", accepted.Branch+":"+name); got != want {
			t.Errorf("%s: the filter gives back %q", name, got)
		}
	}
}

// TestAnAcceptedFileIsNotStoredAgain has a filter with a different result each time, as
// encryption often has.
func TestAnAcceptedFileIsNotStoredAgain(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.s filter=salt\n"})
	reviewtest.GitIn(t, b.Repo, "config", "filter.salt.clean", "cat; head -c 8 /dev/urandom")
	b.Prepare()
	b.Write("a.s", "one\n")
	b.Write("b.s", "two\n")
	cs := b.Compute()
	part := b.Take(cs, review.Choice{Files: []string{"a.s"}}, nil)
	rest := b.Take(cs, review.Choice{All: true}, &accept.Prior{Selection: part.Selection, Tree: part.Tree, Branch: part.Branch, Commit: part.Commit})
	if got := reviewtest.GitIn(t, b.Repo, "diff", "--name-only", part.Commit, rest.Commit); got != "b.s" {
		t.Errorf("the second commit changes %q", got)
	}
}

func TestFiltersFindTheirKeysInEveryKindOfRepository(t *testing.T) {
	for name, make := range map[string]func(b *reviewtest.Fixture) string{
		"a linked working tree": func(b *reviewtest.Fixture) string {
			dir := filepath.Join(b.T.TempDir(), "linked")
			reviewtest.GitIn(b.T, b.Repo, "config", "extensions.worktreeConfig", "true")
			reviewtest.GitIn(b.T, b.Repo, "worktree", "add", "-q", "-b", "linked", dir)
			return dir
		},
		"a git directory elsewhere": func(b *reviewtest.Fixture) string {
			dir := filepath.Join(b.T.TempDir(), "elsewhere")
			reviewtest.Must(b.T, os.Rename(b.InRepo(".git"), dir))
			reviewtest.GitIn(b.T, b.Repo, "--git-dir", dir, "config", "core.worktree", b.Repo)
			reviewtest.Write(b.T, b.InRepo(".git"), "gitdir: "+dir+"\n")
			return b.Repo
		},
		"a sparse checkout with a split index": func(b *reviewtest.Fixture) string {
			reviewtest.GitIn(b.T, b.Repo, "config", "core.splitIndex", "true")
			reviewtest.GitIn(b.T, b.Repo, "sparse-checkout", "set", "--sparse-index", "secret")
			return b.Repo
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "secret/** filter=crypt\n", "out/x": "x\n"}).UseCrypt()
			b.Commit(map[string]string{"secret/a": "letters of the user\n"})
			b.Repo = make(b)
			b.Prepare()
			b.Write("secret/a", "letters of the agent\n")
			b.Write("secret/:(top)/new\n$(touch x)'`\".s", "more letters\n")
			before := b.State()
			accepted := b.Take(b.Compute(), review.Choice{All: true}, nil)
			b.Nowhere("letters")
			if got := reviewtest.GitIn(t, b.Repo, "cat-file", "--filters", accepted.Branch+":secret/:(top)/new\n$(touch x)'`\".s"); got != "more letters" {
				t.Errorf("the filter gives back %q", got)
			}
			if after := b.State(); after != before {
				t.Errorf("the repository changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// TestASingleHunkOfAGitLFSTextIsTheWholeFile has a text that is stored as a pointer, which is
// text, too: no part of it may be put between lines of the pointer.
func TestASingleHunkOfAGitLFSTextIsTheWholeFile(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.csv filter=lfs -text\n"}).UseLFS()
	b.Commit(map[string]string{"a.csv": reviewtest.Ten}).Prepare()
	b.Write("a.csv", "zero\n"+reviewtest.Ten+"11\n")
	cs := b.Compute()
	hunks := b.Hunks(cs, "a.csv")
	if len(hunks) != 1 || len(hunks[0].Split()) != 1 {
		t.Fatalf("%d hunks", len(hunks))
	}
	err := cs.Files(t.Context(), func(f review.FileDiff) error {
		if shown := f.Shown(); decision.CanChooseLines(&shown[0]) { // the lines of the pointer are not shown, so the others have other numbers
			t.Error("single lines can be chosen on a screen")
		}
		return nil
	}, "a.csv")
	reviewtest.Must(t, err)
	if _, err := cs.Select(t.Context(), review.Choice{Hunks: []string{string(hunks[0].ID) + ":1"}}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no single lines to choose") {
		t.Errorf("choosing a line: %v", err)
	}
	accepted := b.Take(cs, review.Choice{Hunks: []string{string(hunks[0].ID)}}, nil)
	reviewtest.GitIn(t, b.Repo, "lfs", "fsck", accepted.Branch)
	reviewtest.GitIn(t, b.Repo, "checkout", "-q", accepted.Branch)
	b.Holds("a.csv", "zero\n"+reviewtest.Ten+"11\n")
}

// TestAGitLFSTextThatQuotesItsPointerIsTheWholeFile has a line of the pointer in the content, so
// that git compares the two in several parts.
func TestAGitLFSTextThatQuotesItsPointerIsTheWholeFile(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.csv filter=lfs -text\n"}).UseLFS()
	b.Commit(map[string]string{"a.csv": reviewtest.Ten}).Prepare()
	_, oid, _ := strings.Cut(reviewtest.GitIn(t, b.Repo, "show", ":a.csv"), "\n")
	oid, _, _ = strings.Cut(oid, "\n")
	b.Write("a.csv", "zero\n"+oid+"\nlast\n")
	cs := b.Compute()
	err := cs.Files(t.Context(), func(f review.FileDiff) error {
		var text strings.Builder
		for _, line := range f.Shown()[0].Lines {
			text.WriteString(string(rune(line.Op)) + string(line.Text) + "\n")
		}
		if text.String() != "+zero\n+"+oid+"\n+last\n" || len(f.Hunks) != 1 || len(f.Hunks[0].Split()) != 1 {
			t.Errorf("%d hunks, shown as %q", len(f.Hunks), text.String())
		}
		return nil
	}, "a.csv")
	reviewtest.Must(t, err)
}

// TestHunksOfAFilteredTextAreStoredThroughTheFilter has a filter that keeps lines apart.
func TestHunksOfAFilteredTextAreStoredThroughTheFilter(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.up filter=up\n"})
	reviewtest.GitIn(t, b.Repo, "config", "filter.up.clean", "tr a-z A-Z")
	letters := strings.Join(strings.Split("abcdefghijklmnopqrst", ""), "\n") + "\n"
	b.Commit(map[string]string{"x.up": strings.ToUpper(letters)}).Prepare()
	b.Write("x.up", "first\n"+strings.ToUpper(letters)+"last\n")
	cs := b.Compute()
	accepted := b.Take(cs, review.Choice{Hunks: []string{string(b.Hunks(cs, "x.up")[1].ID)}}, nil)
	if got := reviewtest.GitIn(t, b.Repo, "show", accepted.Branch+":x.up"); got != strings.ToUpper(letters+"last") {
		t.Errorf("stored %q", got)
	}
}

// TestAttributesApplyAtAnyDepth has more folders than git is asked about one by
// one.
func TestAttributesApplyAtAnyDepth(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.s filter=up\n", "deep/.gitattributes": "*.l -text\n"})
	reviewtest.GitIn(t, b.Repo, "config", "filter.up.clean", "tr a-z A-Z")
	b.Prepare()
	for i := range 8 {
		dir := fmt.Sprintf("deep/%d/%s", i, strings.Repeat("d/", 700))
		b.Write(dir+"x.s", "letters\n")
		b.Write(dir+"y.u", "letters\n")
		b.Write(fmt.Sprintf("deep/%d/.gitattributes", i), "*.u text eol=crlf\n")
		b.Write(fmt.Sprintf("deep/%d/a.u", i), "letters\r\n")
	}
	cs := b.Compute()
	began := time.Now()
	accepted := b.Take(cs, review.Choice{All: true}, nil)
	t.Log(time.Since(began))
	for _, line := range strings.Split(reviewtest.GitIn(t, b.Repo, "ls-tree", "-r", accepted.Branch, "deep"), "\n") {
		want := map[string]string{"s": "LETTERS\n", "u": "letters\n"}[line[len(line)-1:]]
		if want != "" && !strings.HasSuffix(line, ".gitattributes") && strings.Fields(line)[2] != git.SHA1.BlobID([]byte(want)) {
			t.Errorf("%.80s… is not %q", line, want)
		}
	}
}

// TestAttributesByTheAgentConvertNoText has a line that the review shows as a comment, and
// that is code in the encoding that the agent's attributes name.
func TestAttributesByTheAgentConvertNoText(t *testing.T) {
	const comment = "# see +AAo-import os\n"
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"}).Prepare()
	b.Write(".gitattributes", "*.py working-tree-encoding=UTF-7\n")
	b.Write("b.py", comment)
	accepted := b.Take(b.Assess(), review.Choice{All: true}, nil)
	if len(accepted.Left) != 1 || accepted.Left[0].Path != ".gitattributes" {
		t.Errorf("left out: %v", accepted.Left)
	}
	if got := reviewtest.GitIn(t, b.Repo, "show", accepted.Branch+":b.py") + "\n"; got != comment {
		t.Errorf("the review shows %q, and the branch has %q", comment, got)
	}
}

func TestAttributesByTheAgentTakeNoFilterAway(t *testing.T) {
	for _, line := range []string{"* -filter", "* !filter", "* filter", "* plain", "* -hidden"} {
		t.Run(line, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{
				".gitattributes": "[attr]plain -filter\n[attr]hidden filter=crypt\nsecret/** hidden\n", "a.txt": "one\n",
			}).UseCrypt()
			b.Commit(map[string]string{"secret/a": "letters of the user\n"}).Prepare()
			b.Write("secret/.gitattributes", line+"\n")
			b.Write("secret/a", "letters of the agent\n")
			accepted := b.Take(b.Assess(), review.Choice{All: true}, nil)
			if len(accepted.Left) != 1 || accepted.Left[0].Path != "secret/.gitattributes" {
				t.Errorf("left out: %v", accepted.Left)
			}
			b.Nowhere("letters of")
		})
	}
}

func TestAttributesThatTheAgentRemovesTakeNoFilterAway(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+"-2") },
		"a link":  func(path string) error { return errors.Join(os.Remove(path), os.Symlink("a.txt", path)) },
		"a folder": func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o755), os.WriteFile(path+"/x", []byte("x\n"), 0o644))
		},
		"moved lines": func(path string) error {
			return os.WriteFile(path, []byte("secret/** filter=crypt\n* !filter\n"), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "* !filter\nsecret/** filter=crypt\n", "a.txt": "one\n"}).UseCrypt()
			b.Commit(map[string]string{"secret/a": "letters of the user\n"}).Prepare()
			reviewtest.Must(t, change(b.Path(".gitattributes")))
			b.Write("secret/a", "letters of the agent\n")
			b.Take(b.Assess(), review.Choice{All: true}, nil)
			b.Nowhere("letters of")
		})
	}
}
