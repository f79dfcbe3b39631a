package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mountAttack tries to change what is mounted, and to reach the host through it. Each line
// that begins with "changed" or "reached" is a success of the attack.
const mountAttack = `
import os, socket, sys
folder, file = "/data", "/srv/notes.txt"
def attempt(name, action):
    try:
        action()
        print("changed", name)
    except OSError as err:
        print("refused", name, err.strerror)
print("read", open(folder + "/a.txt").read().strip(), open(file).read().strip(), sorted(os.listdir(folder + "/sub")))
attempt("write", lambda: open(folder + "/a.txt", "w"))
attempt("append", lambda: open(folder + "/a.txt", "a"))
attempt("create", lambda: open(folder + "/new", "x"))
attempt("truncate", lambda: os.truncate(folder + "/a.txt", 0))
attempt("remove", lambda: os.remove(folder + "/a.txt"))
attempt("rename", lambda: os.rename(folder + "/a.txt", folder + "/b.txt"))
attempt("folder", lambda: os.mkdir(folder + "/made"))
attempt("link", lambda: os.link(folder + "/a.txt", folder + "/hard"))
attempt("symlink", lambda: os.symlink("/", folder + "/soft"))
attempt("mode", lambda: os.chmod(folder + "/a.txt", 0o777))
attempt("owner", lambda: os.chown(folder + "/a.txt", 1, 1))
attempt("times", lambda: os.utime(folder + "/a.txt", (1, 1)))
attempt("attribute", lambda: os.setxattr(folder + "/a.txt", "user.x", b"1"))
attempt("pipe", lambda: os.open(folder + "/pipe", os.O_WRONLY | os.O_NONBLOCK))
attempt("file", lambda: open(file, "a"))
attempt("linked out", lambda: open("/workspace/out", "x") if os.system("ln /data/a.txt /workspace/out 2>/dev/null") == 0 else open(folder + "/a.txt", "w"))
attempt("host file by link", lambda: print("reached", open(folder + "/host").read()) or sys.stdout.flush())
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(folder + "/socket")
    print("reached the socket")
except OSError as err:
    print("refused socket", err.strerror)
for flags in ("remount,rw", "remount,rw,bind"):
    if os.system("mount -o " + flags + " /data 2>/dev/null") == 0:
        attempt("remounted", lambda: open(folder + "/a.txt", "w"))
print("done")
`

// mounted makes a folder and a file of the user outside of the repository.
func (m *machine) mounted() (folder, file string) {
	folder, file = filepath.Join(m.home, "data"), filepath.Join(m.home, "notes.txt")
	m.write(folder+"/a.txt", "one\n")
	m.write(folder+"/sub/b.txt", "two\n")
	m.write(file, "notes\n")
	return folder, file
}

func TestTheAgentReadsAMountAndCannotChangeOrLeaveIt(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	folder, file := m.mounted()
	m.write(m.home+"/secret.txt", "of the host\n")
	if err := os.Symlink(m.home+"/secret.txt", folder+"/host"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(folder+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(folder+"/pipe", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	reached := connections(t, folder+"/socket")
	before, err := os.Stat(folder + "/a.txt")
	if err != nil {
		t.Fatal(err)
	}

	repo := m.repo("p", map[string]string{"attack.py": mountAttack})
	o := m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--mount", "~/data:/data", "--mount", file+":/srv/notes.txt:ro", "--", "python3", "attack.py")
	if !strings.Contains(o.stdout, "read one notes ['b.txt']") || !strings.Contains(o.stdout, "done") {
		t.Errorf("the mounts are not readable:\n%s", o)
	}
	if !strings.Contains(o.stderr, "read-only: "+folder+" at /data, "+file+" at /srv/notes.txt") {
		t.Errorf("the run does not name the mounts:\n%s", o)
	}
	if strings.Contains(o.stdout, "changed ") || strings.Contains(o.stdout, "reached ") || strings.Count(o.stdout, "refused ") < 18 || reached.Load() > 0 {
		t.Errorf("the mounts were changed or left:\n%s", o)
	}
	after, err := os.Stat(folder + "/a.txt")
	if err != nil || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) || m.read(folder, "a.txt") != "one\n" || m.read(file) != "notes\n" || len(glob(t, folder+"/*")) != 5 {
		t.Errorf("the user's files are changed: %v, %v, %v", after, err, glob(t, folder+"/*"))
	}
}

func TestAMountIsPartOfWhatFollowsASession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	folder, _ := m.mounted()
	repo := m.repo("p", map[string]string{"x.txt": "x\n"})
	o := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--mount", folder+":/data", "--verify", "grep one /data/a.txt", "--json", "--", "sh", "-c", "cp /data/a.txt x.txt"))
	if o := m.aibox(0, "verify", o.ID, "--verify", "grep two /data/sub/b.txt"); !strings.Contains(o.stdout+o.stderr, "two") {
		t.Errorf("a verification does not see the mount:\n%s", o)
	}
	o = m.ended(m.aibox(0, "run", "--resume", o.ID, "--json", "--", "grep", "one", "/data/a.txt"))
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run", "--resume", o.ID, "--", "true"}, {"rerun", o.ID}, {"fork", o.ID, "--", "true"}, {"verify", o.ID}} {
		if o := m.aibox(2, args...); !strings.Contains(o.stderr, folder+"\" does not exist") || !strings.Contains(o.stderr, "--mount=") {
			t.Errorf("%v without the folder: %s", args, o)
		}
	}
	if err := os.Symlink(m.home, folder); err != nil {
		t.Fatal(err)
	}
	if o := m.aibox(4, "rerun", o.ID); !strings.Contains(o.stderr, "no sandbox may see") {
		t.Errorf("a mount that became a link to the home folder: %s", o)
	}
	m.aibox(0, "rerun", o.ID, "--mount=", "--", "sh", "-c", "test ! -e /data")
}

func TestAMountThatIsNotPossibleStartsNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.mounted()
	repo := m.repo("p", map[string]string{"x.txt": "x\n", ".aibox.toml": ""})
	for word, want := range map[string]struct {
		code int
		says string
	}{
		"data:/data":               {2, "--mount " + m.home + "/data:/data"},
		"~/data:/data:rw":          {2, "every mount is read-only"},
		"~/nothing:/data":          {2, "does not exist"},
		"~/data:/workspace/vendor": {2, "belongs to the agent"},
		"/:/host":                  {4, "no sandbox may see"},
		"~/:/home/me":              {4, "no sandbox may see"},
		"~/.ssh:/keys":             {2, "does not exist"},
	} {
		if o := m.aibox(want.code, "run", "shell", "--network", "none", "--repo", repo, "--mount", word, "--", "true"); !strings.Contains(o.stderr, want.says) {
			t.Errorf("%s: %s", word, o)
		}
	}
	m.write(repo+"/.aibox.toml", "mount = [\"~/data:/data\"]\n")
	if o := m.aibox(2, "run", "shell", "--network", "none", "--repo", repo, "--", "true"); !strings.Contains(o.stderr, "mount") {
		t.Errorf("a repository's file mounts: %s", o)
	}
	if left := glob(t, m.sessions()+"/*"); len(left) > 0 {
		t.Errorf("refused runs left %v", left)
	}
}
