package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// socketAttack looks for Unix sockets that lead out of the sandbox: by path, in the mounts,
// behind links, and in the abstract name space.
const socketAttack = `
import os, socket, stat, sys, threading
def reach(name, path):
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(3)
            s.connect(path)
            s.sendall(b'{"type":"stop"}\n')
            print(name, "reached", s.recv(64), flush=True)
    except Exception as e:
        print(name, "refused", type(e).__name__, flush=True)
def serve(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen()
    def answer():
        with s.accept()[0] as client:
            client.recv(64)  # if it closes before the client has written, the client fails
            client.sendall(b"own")
    threading.Thread(target=answer, daemon=True).start()
serve("/tmp/own.sock")
reach("own", "/tmp/own.sock")
reach("path", sys.argv[1])
reach("hard-link", "/workspace/hard.sock")
reach("mounted", "/workspace/mounted.sock")
os.symlink(sys.argv[1], "/tmp/soft.sock")
reach("symlink", "/tmp/soft.sock")
os.symlink(sys.argv[1], "/workspace/soft.sock")
reach("symlink-in-mount", "/workspace/soft.sock")
for name in ("\0aibox", "\0/tmp/dbus", "\0" + sys.argv[1]):
    reach("abstract", name)
for path in ("/run/docker.sock", "/var/run/docker.sock", "/run/user/1000/docker.sock", "/run/containerd/containerd.sock"):
    reach("daemon", path)
for top, folders, files in os.walk("/"):
    if top == "/": folders[:] = [f for f in folders if f not in ("proc", "sys")]
    for name in files:
        path = os.path.join(top, name)
        try:
            if stat.S_ISSOCK(os.lstat(path).st_mode) and path != "/tmp/own.sock": reach("found " + path, path)
        except OSError: pass
print("searched", flush=True)
`

// No program in a sandbox reaches the control socket of its session, nor any other socket of
// the host, even if one is in a mounted folder.
func TestNoSocketOfTheHostIsReachedFromASandbox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"attack.py": socketAttack})
	id := m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", "until [ -f /tmp/control ]; do sleep 0.1; done; python3 attack.py $(cat /tmp/control)")
	control := m.controlSocket(id)
	workspace := m.record(id).State.Workspace.Path
	reached := connections(t, filepath.Join(workspace, "mounted.sock"))
	if err := os.Link(control, filepath.Join(workspace, "hard.sock")); err != nil {
		t.Fatal(err)
	}
	m.aibox(0, "exec", id, "--", "sh", "-c", "echo "+control+" >/tmp/new && mv /tmp/new /tmp/control")
	printed := m.aibox(0, "logs", "-f", id).stdout
	if !strings.Contains(printed, "own reached") || !strings.Contains(printed, "searched") {
		t.Errorf("the attack does not work: %s", printed)
	}
	for _, name := range []string{"mounted.sock", "hard.sock"} {
		if !strings.Contains(printed, "found /workspace/"+name+" refused") {
			t.Errorf("the sandbox does not see %s: %s", name, printed)
		}
	}
	for line := range strings.Lines(printed) {
		if strings.Contains(line, " reached ") && !strings.HasPrefix(line, "own ") {
			t.Errorf("a socket was reached: %s", line)
		}
	}
	if n := strings.Count(printed, " refused "); n < 10 {
		t.Errorf("%d attempts were refused: %s", n, printed)
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("a socket of the host was reached %d times", n)
	}
	if reason := m.record(id).State.Result; reason == nil || reason.ExitCode != 0 {
		t.Errorf("the session was ended from inside: %+v", reason)
	}
}

// connections counts the connections to a new Unix socket until the test ends.
func connections(t *testing.T, path string) *atomic.Int64 {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	count := new(atomic.Int64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			_ = conn.Close()
		}
	}()
	return count
}

// controlSocket returns the path of a running session's control socket.
func (m *machine) controlSocket(id string) string {
	m.t.Helper()
	var found []string
	_ = filepath.WalkDir(filepath.Join(m.sessions(), id), func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type()&os.ModeSocket != 0 {
			found = append(found, path)
		}
		return nil
	})
	if len(found) != 1 {
		m.t.Fatalf("the session has the sockets %q", found)
	}
	return found[0]
}
