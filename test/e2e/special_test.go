package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// specials is an agent that leaves files of every kind in its workspace. A program that
// opens one could wait forever or act on a device. It skips those that the sandbox does not
// let it create.
const specials = `
mkfifo pipe sub/pipe sub/.gitignore .gitattributes .envrc
rm a.txt; mkfifo a.txt
rm -rf gone; mkfifo gone
mknod null c 1 3; mknod whiteout c 0 0; mknod disk b 8 0; mknod kmsg c 1 11
mknod sub/a.txt c 0 0
perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("socket")) or die $!; listen(S, 1); unlink "sub/b.txt"; bind(T, sockaddr_un("sub/b.txt")) if socket(T, AF_UNIX, SOCK_STREAM, 0);'
rm -rf .git/index; mkfifo .git/index
mkdir tree; mkfifo tree/1 tree/2
find . -type p -o -type s -o -type c -o -type b | sort > seen.txt
echo one > one.txt
`

// kinds returns the special files of a workspace, as seen on the host.
func kinds(t *testing.T, workspace string) map[string]os.FileMode {
	t.Helper()
	found := map[string]os.FileMode{}
	err := filepath.WalkDir(workspace, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type()&^(os.ModeDir|os.ModeSymlink) != 0 {
			found[strings.TrimPrefix(path, workspace+"/")] = entry.Type()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// plant makes in a workspace what a sandbox could with another runtime: pipes, sockets, and
// the one device that any user of Linux may make. It returns their paths.
func plant(t *testing.T, workspace string) []string {
	t.Helper()
	kinds := map[string]uint32{
		"pipe": unix.S_IFIFO, "sub/pipe": unix.S_IFIFO, "sub/.gitignore": unix.S_IFIFO, ".gitattributes": unix.S_IFIFO,
		".envrc": unix.S_IFIFO, "a.txt": unix.S_IFIFO, "gone": unix.S_IFIFO, "tree/1": unix.S_IFIFO, ".git/index": unix.S_IFIFO,
		"socket": unix.S_IFSOCK, "sub/b.txt": unix.S_IFSOCK,
		"whiteout": unix.S_IFCHR, "sub/a.txt": unix.S_IFCHR, ".gitignore": unix.S_IFCHR,
	}
	for path, kind := range kinds {
		path = filepath.Join(workspace, path)
		err := os.RemoveAll(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = unix.Mknod(path, kind|0o600, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}

func TestPipesSocketsAndDevicesOfASandboxBlockNothingAndAreLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "a\n", "gone/x": "x\n", "sub/a.txt": "a\n", "sub/b.txt": "b\n"})
	first := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", specials))
	ws := m.record(first.ID).State.Workspace.Path
	// gVisor keeps them in its own kernel: the agent sees them, the host does not.
	if seen := m.read(ws, "seen.txt"); !strings.Contains(seen, "pipe\n") || !strings.Contains(seen, "socket\n") {
		t.Errorf("the sandbox has made\n%s", seen)
	}
	if reached := kinds(t, ws); len(reached) > 0 {
		t.Errorf("on the host there are %v", reached)
	}
	made := plant(t, ws)
	m.listsLeftOut(first.ID, made)

	if o := m.aibox(0, "verify", first.ID, "--verify", "cat one.txt; test ! -p pipe"); !strings.Contains(o.stdout+o.stderr, "one") {
		t.Errorf("the verification prints\n%s", o)
	}
	second := m.ended(m.aibox(0, "run", "--resume", first.ID, "--json", "--", "sh", "-c", "test -p pipe && echo two > two.txt"))
	m.listsLeftOut(second.ID, made)
	m.aibox(0, "accept", second.ID, "one.txt", "two.txt")
	if files := m.git(repo, "diff", "--name-only", "HEAD", m.record(second.ID).State.Branch); files != "one.txt\ntwo.txt\n" {
		t.Errorf("the branch changes %q", files)
	}
	m.aibox(0, "discard", second.ID)
	if _, err := os.Lstat(ws); err == nil {
		t.Error("the workspace is left")
	}
	m.aibox(0, "recover", second.ID)
	m.aibox(0, "rm", second.ID)
	m.aibox(0, "rm", first.ID)
	if left := m.stored(); len(left) > 0 {
		t.Errorf("sessions are left: %+v", left)
	}
}

// listsLeftOut checks that a diff shows the regular file and reports each special file as
// left out.
func (m *machine) listsLeftOut(id string, made []string) {
	m.t.Helper()
	o := m.aibox(0, "diff", id)
	if !strings.Contains(o.stdout, "one.txt") {
		m.t.Errorf("the diff shows no one.txt:\n%s", o)
	}
	printed := strings.Split(o.stdout+o.stderr, "\n")
	for _, name := range made {
		if strings.HasPrefix(name, ".git/") {
			continue
		}
		if !slices.ContainsFunc(printed, func(line string) bool {
			return strings.Contains(line, name) && (strings.Contains(line, "pipe") || strings.Contains(line, "socket") || strings.Contains(line, "device"))
		}) {
			m.t.Errorf("the diff does not say that %s is left out:\n%s", name, o)
		}
	}
}

// A session with special files everywhere goes without a question being asked of them.
func TestWorkWithPipesIsRemovedAndCollected(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.customAgent("bot", bot("~/.bot"))
	r := m.ended(m.aibox(0, "run", "bot", "--network", "none", "--repo", m.repo("p", map[string]string{"a.txt": "a\n", "sub/a.txt": "a\n"}), "--json",
		"--prompt", specials+"mkfifo ~/.bot/pipe; mkdir ~/.bot/deep; mkfifo ~/.bot/deep/pipe"))
	plant(t, m.record(r.ID).State.Workspace.Path)
	plant(t, filepath.Join(m.sessions(), r.ID, "homes/bot/.bot"))
	m.aibox(0, "describe", r.ID)
	m.aibox(0, "accept", r.ID, "one.txt")
	m.aibox(0, "gc", "--older-than", "0s", "--dry-run")
	m.aibox(0, "gc", "--older-than", "0s")
	m.aibox(0, "ls", "--json")
	m.aibox(0, "rm", "--force", r.ID)
	if left := m.stored(); len(left) > 0 {
		t.Errorf("sessions are left: %+v", left)
	}
}
