// Package hostile makes repositories that attack whoever looks at them: what an
// agent may leave in a workspace. Each attack is made by code, comes with a
// canary that tells that it worked, and with the plain git command that falls
// for it. The package is for tests only.
package hostile

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Secret is what attacks of the kind Leak try to get into a diff.
const Secret = "canary-content-from-outside-5d1c"

// patience bounds a git command that an attack leaves hanging.
const patience = 20 * time.Second

// Attack is one way to abuse a repository.
type Attack struct {
	Name string
	// Plant turns the repository at dir (with a .git folder, HEAD holding a.txt)
	// into a trap. The trap, when it works, makes the file canary, or shows
	// Secret when Leak is set.
	Plant func(dir, canary string) error
	Leak  bool
	// Provoke is the git command that falls for it, run in In below dir.
	Provoke []string
	In      string
}

// trap is a helper to write attacks: it stops at the first error.
type trap struct {
	dir, canary string
	err         error
}

func plant(f func(t *trap)) func(dir, canary string) error {
	return func(dir, canary string) error {
		t := &trap{dir: dir, canary: canary}
		f(t)
		return t.err
	}
}

func (t *trap) write(name, content string, perm os.FileMode) string {
	path := filepath.Join(t.dir, name)
	if t.err == nil {
		t.err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if t.err == nil {
		_ = os.Remove(path)
		t.err = os.WriteFile(path, []byte(content), perm)
	}
	return path
}

// script is a program that leaves the canary.
func (t *trap) script() string {
	return t.write(".evil.sh", "#!/bin/sh\necho caught > '"+t.canary+"'\ncat 2>/dev/null\nexit 0\n", 0o755)
}

func (t *trap) git(args ...string) {
	if t.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", t.dir, "-c", "user.name=E", "-c", "user.email=e@example.org"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.err = fmt.Errorf("git %v: %w: %s", args, err, out)
	}
}

func (t *trap) config(key, value string) { t.git("config", key, value) }

// touch changes a tracked file, so that there is something to look at.
func (t *trap) touch() { t.write("a.txt", "changed by the agent\n", 0o644) }

// monitor is a configuration file's text that runs the script.
func (t *trap) monitor() string {
	return "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = " + t.script() + "\n"
}

func (t *trap) move(from, to string) {
	if t.err == nil {
		t.err = os.Rename(filepath.Join(t.dir, from), filepath.Join(t.dir, to))
	}
}

// setting is an attack through one setting in .git/config.
func setting(name, key string, provoke ...string) Attack {
	return Attack{Name: name, Provoke: provoke, Plant: plant(func(t *trap) {
		t.config(key, t.script())
		t.touch()
	})}
}

// driver is an attack through an attribute and the setting it names.
func driver(name, attribute, key string, provoke ...string) Attack {
	return Attack{Name: name, Provoke: provoke, Plant: plant(func(t *trap) {
		t.config(key, t.script())
		t.write(".gitattributes", "* "+attribute+"\n", 0o644)
		t.touch()
	})}
}

// hook is an attack through a hook that runs on commit.
func hook(name, dir string) Attack {
	return Attack{Name: name, Provoke: []string{"-c", "user.name=U", "-c", "user.email=u@example.org", "commit", "-qam", "x"}, Plant: plant(func(t *trap) {
		t.touch()
		script := t.script()
		for _, hook := range []string{"pre-commit", "post-index-change", "reference-transaction", "post-checkout"} {
			t.write(dir+"/"+hook, "#!/bin/sh\nexec "+script+" </dev/null\n", 0o755)
		}
		if dir != ".git/hooks" {
			t.config("core.hooksPath", dir)
		}
	})}
}

// Attacks is the corpus.
func Attacks() []Attack {
	status, diff := []string{"status"}, []string{"diff"}
	attacks := []Attack{
		setting("core.fsmonitor", "core.fsmonitor", status...),
		setting("diff.external", "diff.external", diff...),
		setting("gpg.program", "gpg.program", "-c", "user.name=U", "-c", "user.email=u@example.org", "commit", "-qam", "x", "-S"),
		setting("core.editor", "core.editor", "-c", "user.name=U", "-c", "user.email=u@example.org", "commit", "-qa"),
		setting("an alias", "alias.evil-st", "evil-st"),
		driver("textconv", "diff=evil", "diff.evil.textconv", diff...),
		driver("a diff command", "diff=evil", "diff.evil.command", diff...),
		driver("a clean filter", "filter=evil", "filter.evil.clean", diff...),
		driver("a process filter", "filter=evil", "filter.evil.process", diff...),
		driver("a smudge filter", "filter=evil", "filter.evil.smudge", "checkout", "--", "a.txt"),
		driver("Git LFS", "filter=lfs diff=lfs merge=lfs -text", "filter.lfs.process", diff...),
		hook("hooks", ".git/hooks"),
		hook("core.hooksPath", "tools/hooks"),
		remote("core.sshCommand", "core.sshCommand", "ssh://example.invalid/x"),
		remote("core.gitProxy", "core.gitProxy", "git://example.invalid/x"),
		remote("an ext remote", "", "ext"),
	}
	attacks[4].Plant = plant(func(t *trap) { t.config("alias.evil-st", "!"+t.script()) })
	return append(attacks, redirections(status, diff)...)
}

// remote is an attack that waits for a fetch.
func remote(name, key, url string) Attack {
	return Attack{Name: name, Provoke: []string{"fetch", "origin"}, Plant: plant(func(t *trap) {
		script := t.write(".evil.sh", "#!/bin/sh\necho caught > '"+t.canary+"'\n", 0o755)
		if url == "ext" {
			t.config("protocol.ext.allow", "always")
			t.config("remote.origin.url", "ext::"+script)
			return
		}
		t.config(key, script)
		t.config("remote.origin.url", url)
	})}
}

// redirections are attacks that lead git to another configuration, another
// repository or other files.
func redirections(status, diff []string) []Attack {
	return []Attack{
		{Name: "a .git file", Provoke: status, Plant: plant(func(t *trap) {
			t.move(".git", "elsewhere")
			t.write("elsewhere/config", t.monitor(), 0o644)
			t.write(".git", "gitdir: elsewhere\n", 0o644)
		})},
		{Name: "a .git symlink", Provoke: status, Plant: plant(func(t *trap) {
			t.move(".git", "elsewhere")
			t.write("elsewhere/config", t.monitor(), 0o644)
			if t.err == nil {
				t.err = os.Symlink("elsewhere", filepath.Join(t.dir, ".git"))
			}
		})},
		{Name: "include.path", Provoke: status, Plant: plant(func(t *trap) {
			t.config("include.path", t.write("evil.inc", t.monitor(), 0o644))
		})},
		{Name: "includeIf", Provoke: status, Plant: plant(func(t *trap) {
			t.config("includeIf.gitdir:/.path", t.write("evil.inc", t.monitor(), 0o644))
		})},
		{Name: "config.worktree", Provoke: status, Plant: plant(func(t *trap) {
			t.config("extensions.worktreeConfig", "true")
			t.write(".git/config.worktree", t.monitor(), 0o644)
		})},
		{Name: "commondir", Provoke: status, Plant: plant(func(t *trap) {
			for _, name := range []string{"objects", "refs", "packed-refs"} {
				if _, err := os.Stat(filepath.Join(t.dir, ".git", name)); err == nil {
					t.write("common/x", "", 0o644)
					t.move(".git/"+name, "common/"+name)
				}
			}
			t.write("common/config", t.monitor(), 0o644)
			t.write(".git/commondir", "../common\n", 0o644)
		})},
		{Name: "info/attributes", Provoke: diff, Plant: plant(func(t *trap) {
			t.config("diff.evil.textconv", t.script())
			t.write(".git/info/attributes", "* diff=evil\n", 0o644)
			t.touch()
		})},
		{Name: "core.attributesFile", Provoke: diff, Plant: plant(func(t *trap) {
			t.config("diff.evil.textconv", t.script())
			t.config("core.attributesFile", t.write("attributes", "* diff=evil\n", 0o644))
			t.touch()
		})},
		{Name: "a submodule with a monitor", Provoke: status, Plant: plant(func(t *trap) {
			t.git("init", "-q", "sub")
			t.write("sub/file", "x\n", 0o644)
			t.git("-C", "sub", "add", "-A")
			t.git("-C", "sub", "-c", "user.name=E", "-c", "user.email=e@example.org", "commit", "-qm", "x")
			t.git("-c", "advice.addEmbeddedRepo=false", "add", "sub")
			t.write("sub/.git/config", t.monitor(), 0o644)
			t.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = -u./.evil.sh\n", 0o644)
		})},
		{Name: "a bare repository in the tree", Provoke: status, In: "fixtures/repo", Plant: plant(func(t *trap) {
			t.write("fixtures/repo/HEAD", "ref: refs/heads/main\n", 0o644)
			t.write("fixtures/repo/objects/.keep", "", 0o644)
			t.write("fixtures/repo/refs/.keep", "", 0o644)
			t.write("fixtures/repo/work/.keep", "", 0o644)
			t.write("fixtures/repo/index.keep", "", 0o644)
			t.write("fixtures/repo/config", t.monitor()+"\tworktree = work\n", 0o644)
		})},
		{Name: "core.worktree", Leak: true, Provoke: diff, Plant: plant(func(t *trap) {
			outside := t.outside()
			t.config("core.worktree", outside)
		})},
		{Name: "alternates", Leak: true, Provoke: []string{"grep", "canary", "evil"}, Plant: plant(func(t *trap) {
			outside := t.outside()
			t.git("init", "-q", "-b", "evil", outside)
			t.git("-C", outside, "add", "-A")
			t.git("-C", outside, "-c", "user.name=E", "-c", "user.email=e@example.org", "commit", "-qm", "x")
			t.write(".git/objects/info/alternates", outside+"/.git/objects\n", 0o644)
			if head, err := os.ReadFile(filepath.Join(outside, ".git/refs/heads/evil")); err == nil {
				t.write(".git/refs/heads/evil", string(head), 0o644)
			}
		})},
		{Name: "a symlink to a secret", Leak: true, Provoke: []string{"diff", "--no-index", "--", "/dev/null", "dir/a.txt"}, Plant: plant(func(t *trap) {
			outside := t.outside()
			if t.err == nil {
				t.err = os.Symlink(outside, filepath.Join(t.dir, "dir"))
			}
		})},
	}
}

// outside makes a folder beside the canary, with a secret in it.
func (t *trap) outside() string {
	dir := t.canary + ".outside"
	if t.err == nil {
		t.err = os.MkdirAll(dir, 0o755)
	}
	if t.err == nil {
		t.err = os.WriteFile(filepath.Join(dir, "a.txt"), []byte(Secret+"\n"), 0o644)
	}
	return dir
}

// Falls runs the plain git command that the attack waits for, in the planted
// repository at dir, and reports whether the attack worked.
func (a Attack) Falls(dir, canary string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", a.Provoke...)
	cmd.WaitDelay = time.Second
	cmd.Dir = filepath.Join(dir, a.In)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null")
	out, _ := cmd.CombinedOutput() // many an attack makes git fail afterwards
	if a.Leak {
		return strings.Contains(string(out), Secret)
	}
	_, err := os.Stat(canary)
	return err == nil
}
