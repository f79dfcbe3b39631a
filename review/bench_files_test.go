package review_test

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

// picture is everything below a folder, .git included: kind, permissions, inode, times
// and content of each name. Two equal pictures say that nothing was touched.
func picture(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
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

// contents is what a person sees of a working tree: names, kinds, executable bits and
// bytes, without .git.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
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

// user writes a file in the user's working tree.
func (b *bench) user(name, content string) {
	b.t.Helper()
	write(b.t, filepath.Join(b.repo, name), content)
}

func (b *bench) inRepo(name string) string { return filepath.Join(b.repo, name) }

// holds checks the bytes of a file of the user's.
func (b *bench) holds(name, want string) {
	b.t.Helper()
	data, err := os.ReadFile(b.inRepo(name))
	if err != nil || string(data) != want {
		b.t.Errorf("%s holds %q (%v), want %q", name, data, err, want)
	}
}

// state is what a branch must not change.
func (b *bench) state() string {
	b.t.Helper()
	head, err := os.ReadFile(gitIn(b.t, b.repo, "rev-parse", "--path-format=absolute", "--git-path", "HEAD"))
	must(b.t, err)
	return string(head) + gitIn(b.t, b.repo, "status", "--porcelain=v2") + gitIn(b.t, b.repo, "ls-files", "-s", "-t")
}

// commit brings files into the user's repository as git itself does.
func (b *bench) commit(files map[string]string) *bench {
	b.t.Helper()
	for name, content := range files {
		write(b.t, b.inRepo(name), content)
	}
	gitIn(b.t, b.repo, "add", "-A")
	gitIn(b.t, b.repo, "commit", "-q", "-m", "more")
	return b
}

// nowhere fails if text stands in any object of the user's repository.
func (b *bench) nowhere(text string) {
	b.t.Helper()
	if all := gitIn(b.t, b.repo, "cat-file", "--batch", "--batch-all-objects"); strings.Contains(all, text) {
		b.t.Errorf("%q stands in an object of the repository", text)
	}
}

func gitWith(t *testing.T, env []string, stdin []byte, args ...string) string {
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

// stripScores turns R087 into R.
func stripScores(records string) string {
	fields := strings.Split(records, "\x00")
	for i, f := range fields {
		if len(f) == 4 && f[0] == 'R' && strings.Trim(f[1:], "0123456789") == "" {
			fields[i] = "R"
		}
	}
	return strings.Join(fields, "\x00")
}

// ten are ten lines.
const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
