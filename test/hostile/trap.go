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

// patience bounds a git command that an attack leaves hanging.
const patience = 20 * time.Second

// trap is what attacks are written with: it stops at the first error.
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

// do runs f unless something failed before.
func (t *trap) do(f func() error) {
	if t.err == nil {
		t.err = f()
	}
}

func (t *trap) path(name string) string { return filepath.Join(t.dir, name) }

func (t *trap) write(name, content string, perm os.FileMode) string {
	path := t.path(name)
	t.do(func() error { return os.MkdirAll(filepath.Dir(path), 0o755) })
	t.do(func() error { _ = os.Remove(path); return os.WriteFile(path, []byte(content), perm) })
	return path
}

// script is a program that leaves the canary.
func (t *trap) script() string {
	return t.write(".evil.sh", "#!/bin/sh\necho caught > '"+t.canary+"'\ncat 2>/dev/null\nexit 0\n", 0o755)
}

// deaf is script that does not read its input.
func (t *trap) deaf() string {
	return t.write(".evil.sh", "#!/bin/sh\necho caught > '"+t.canary+"'\n", 0o755)
}

func (t *trap) git(args ...string) { t.ask("", args...) }

// ask runs git with an input and returns its output.
func (t *trap) ask(stdin string, args ...string) string {
	var said string
	t.do(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", t.dir, "-c", "user.name=E", "-c", "user.email=e@example.org", "-c", "commit.gpgSign=false"}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("git %v: %w: %s", args, err, out)
		}
		said = strings.TrimSpace(string(out))
		return nil
	})
	return said
}

func (t *trap) config(key, value string) { t.git("config", key, value) }

// touch changes a tracked file, so that there is something to look at.
func (t *trap) touch() { t.write("a.txt", "changed by the agent\n", 0o644) }

// monitor is a configuration file's text that runs the script.
func (t *trap) monitor() string {
	return "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = " + t.script() + "\n"
}

// age sets the times of a file an hour back, so that git's index may trust them.
func (t *trap) age(name string) {
	old := time.Now().Add(-time.Hour)
	t.do(func() error { return os.Chtimes(t.path(name), old, old) })
}

func (t *trap) move(from, to string) {
	t.do(func() error { return os.MkdirAll(filepath.Dir(t.path(to)), 0o755) })
	t.do(func() error { return os.Rename(t.path(from), t.path(to)) })
}

func (t *trap) symlink(to, name string) {
	t.do(func() error { _ = os.RemoveAll(t.path(name)); return os.Symlink(to, t.path(name)) })
}

// unpack stores every packed object in a separate file.
func (t *trap) unpack() {
	packs, _ := filepath.Glob(t.path(".git/objects/pack/*.pack"))
	for _, pack := range packs {
		var data []byte
		t.do(func() (err error) { data, err = os.ReadFile(pack); return err })
		for _, part := range []string{".pack", ".idx", ".rev"} {
			_ = os.Remove(strings.TrimSuffix(pack, ".pack") + part)
		}
		t.ask(string(data), "unpack-objects", "-q")
	}
}

// outside makes a folder beside the canary, with a secret in it.
func (t *trap) outside() string {
	dir := t.canary + ".outside"
	t.do(func() error { return os.MkdirAll(dir, 0o755) })
	t.do(func() error { return os.WriteFile(filepath.Join(dir, "a.txt"), []byte(Secret+"\n"), 0o644) })
	return dir
}

// foreign is a repository outside with one commit that holds the secret.
func (t *trap) foreign() (dir, commit string) {
	dir = t.outside()
	t.git("init", "-q", "-b", "evil", dir)
	t.git("-C", dir, "add", "-A")
	t.git("-C", dir, "commit", "-qm", "x")
	return dir, t.ask("", "-C", dir, "rev-parse", "HEAD")
}

// aside makes a commit in the repository that no branch holds. Its file and its
// subject hold the secret.
func (t *trap) aside(parents ...string) string {
	blob := t.ask(Secret+"\n", "hash-object", "-w", "--stdin")
	tree := t.ask("100644 blob "+blob+"\ta.txt\n", "mktree")
	args := []string{"commit-tree", "-m", Secret}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	return t.ask("", append(args, tree)...)
}
