package reviewtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Picture records everything below a folder, .git included: kind, permissions, inode, times
// and content of each name. If two pictures are equal, nothing was touched.
func Picture(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	Must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		content := ""
		switch {
		case entry.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		case entry.Type()&fs.ModeSymlink != 0:
			content, _ = os.Readlink(path)
		}
		all[path] = fmt.Sprintf("%o %d %d %d %q", st.Mode, st.Ino, st.Mtim.Nano(), st.Ctim.Nano(), content)
		return nil
	}))
	return all
}

// Contents records the visible state of a working tree: names, kinds, executable bits and
// bytes, without .git.
func Contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	Must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if name == ".git" || strings.HasPrefix(name, ".git/") {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case entry.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[name] = fmt.Sprintf("%v %s", info.Mode().Perm()&0o100 != 0, data)
		case entry.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			all[name] = "-> " + target
		case entry.IsDir():
			all[name] = "folder"
		}
		return nil
	}))
	return all
}

// User writes a file in the user's working tree.
func (b *Fixture) User(name, content string) {
	b.T.Helper()
	Write(b.T, filepath.Join(b.Repo, name), content)
}

func (b *Fixture) InRepo(name string) string { return filepath.Join(b.Repo, name) }

// Holds checks the bytes of one of the user's files.
func (b *Fixture) Holds(name, want string) {
	b.T.Helper()
	data, err := os.ReadFile(b.InRepo(name))
	if err != nil || string(data) != want {
		b.T.Errorf("%s holds %q (%v), want %q", name, data, err, want)
	}
}

// State returns the state of the repository that a delivery to a branch must not change.
func (b *Fixture) State() string {
	b.T.Helper()
	head, err := os.ReadFile(GitIn(b.T, b.Repo, "rev-parse", "--path-format=absolute", "--git-path", "HEAD"))
	Must(b.T, err)
	return string(head) + GitIn(b.T, b.Repo, "status", "--porcelain=v2") + GitIn(b.T, b.Repo, "ls-files", "-s", "-t")
}

// Commit commits files in the user's repository with git.
func (b *Fixture) Commit(files map[string]string) *Fixture {
	b.T.Helper()
	for name, content := range files {
		Write(b.T, b.InRepo(name), content)
	}
	GitIn(b.T, b.Repo, "add", "-A")
	GitIn(b.T, b.Repo, "commit", "-q", "-m", "more")
	return b
}

// Nowhere fails if any object of the user's repository contains text.
func (b *Fixture) Nowhere(text string) {
	b.T.Helper()
	if all := GitIn(b.T, b.Repo, "cat-file", "--batch", "--batch-all-objects"); strings.Contains(all, text) {
		b.T.Errorf("%q stands in an object of the repository", text)
	}
}

func GitWith(t *testing.T, env []string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Env, cmd.Stdin = append(os.Environ(), env...), bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// StripScores replaces R087 with R.
func StripScores(records string) string {
	fields := strings.Split(records, "\x00")
	for i, f := range fields {
		if len(f) == 4 && f[0] == 'R' && strings.Trim(f[1:], "0123456789") == "" {
			fields[i] = "R"
		}
	}
	return strings.Join(fields, "\x00")
}

// Ten holds ten lines.
const Ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
