package mount

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/paths"
)

func TestAMountIsASourceAndATarget(t *testing.T) {
	for word, want := range map[string]Mount{
		"/data:/data":        {"/data", "/data"},
		"/data:/data:ro":     {"/data", "/data"},
		"~/a b:/srv/a b":     {"~/a b", "/srv/a b"},
		"/with:colon:/mnt/x": {"/with:colon", "/mnt/x"},
		"/ends/in:ro:/mnt/x": {"/ends/in:ro", "/mnt/x"},
	} {
		m, err := Parse(word)
		if err != nil || m != want {
			t.Errorf("%q is %v, %v", word, m, err)
		}
		if again, err := Parse(m.String()); again != m || err != nil {
			t.Errorf("%q is read again as %v, %v", m, again, err)
		}
	}
}

func TestWhatIsNoMountIsRefusedWithTheReason(t *testing.T) {
	for word, says := range map[string]string{
		"":                                 "not SOURCE:TARGET",
		"/data":                            "not SOURCE:TARGET",
		":/data":                           "not SOURCE:TARGET",
		"/data:":                           "not SOURCE:TARGET",
		"/data:ro":                         "not SOURCE:TARGET",
		"/data:/data:rw":                   "read-only",
		"data:/data":                       "must be absolute",
		"./data:/data":                     "must be absolute",
		"~other/data:/data":                "must be absolute",
		"/a,b:/data":                       "comma",
		"/a\nb:/data":                      "control character",
		"/data:data":                       "an absolute path without ..",
		"/data:/":                          "an absolute path without ..",
		"/data:/a/../etc":                  "an absolute path without ..",
		"/data:/a/":                        "an absolute path without ..",
		"/data:/a\x1b[2J":                  "an absolute path without ..",
		"/data:/proc/self":                 "/proc belongs to the system",
		"/data:/etc/ssh":                   "/etc belongs to the system",
		"/data:/usr/bin":                   "/usr belongs to the system",
		"/data:/.aibox/x":                  "/.aibox belongs to the system",
		"/data:/workspace":                 "/workspace belongs to the agent",
		"/data:/workspace/vendor":          "/workspace belongs to the agent",
		"/data:/root/.codex":               "/root belongs to the agent",
		"/data:/tmp":                       "/tmp belongs to the agent",
		"/x:/" + strings.Repeat("a", 1024): "an absolute path without ..",
	} {
		if m, err := Parse(word); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is %v, %v", word, m, err)
		}
	}
}

// folders returns aibox's folders for a home in a temporary folder, in which the paths exist.
func folders(t *testing.T, exist ...string) paths.Dirs {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range exist {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(home, name) }
	return paths.Dirs{
		Home: home, Config: in(".config/aibox"), State: in(".local/state/aibox"), Data: in(".local/share/aibox"),
		Cache: in(".cache/aibox"), Runtime: in("run/aibox"), Workspace: in("agent_workspace"),
	}
}

func TestAMountIsResolvedToAPathWithoutSymlinks(t *testing.T) {
	dirs := folders(t, "data/set")
	if err := os.Symlink(filepath.Join(dirs.Home, "data"), filepath.Join(dirs.Home, "link")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dirs.Home, "notes.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Resolve(dirs, "", []string{"~/link/set:/set:ro", file + ":/srv/notes.txt"})
	want := []string{filepath.Join(dirs.Home, "data/set") + ":/set", file + ":/srv/notes.txt"}
	if err != nil || !slices.Equal(Words(got), want) {
		t.Errorf("they are %v, %v", got, err)
	}
}

func TestNoSandboxSeesKeysOrFoldersOfAibox(t *testing.T) {
	dirs := folders(t, "data", ".config/opencode", ".local/share/docker/containers", ".vault-token", ".local/share/crush/data", ".ssh/keys", ".config/gh", ".local/state/aibox/sessions", "agent_workspace/other", "elsewhere")
	in := func(name string) string { return filepath.Join(dirs.Home, name) }
	for name, target := range map[string]string{"to-keys": ".ssh", "to-home": "."} {
		if err := os.Symlink(in(target), in("data/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(in("elsewhere"), in(".aws")); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{
		"/", "/proc", "/proc/self/root", "/dev/shm", "/sys", "/run", filepath.Dir(dirs.Home), dirs.Home, "~/", "~/data/..",
		"~/.ssh", "~/.ssh/keys", "~/.config", "~/.config/gh", "~/.local", "~/.local/state/aibox/sessions", "~/agent_workspace/other",
		"~/.config/opencode", "~/.local/share/docker/containers", "~/.vault-token", "~/.local/share/crush/data",
		"~/data/to-keys", "~/data/to-keys/keys", "~/data/to-home/.ssh", "~/data/to-home", "~/.aws", "~/elsewhere",
	} {
		if m, err := Resolve(dirs, "", []string{source + ":/data"}); err == nil || !strings.Contains(err.Error(), "no sandbox may see") {
			t.Errorf("%s is mounted: %v, %v", source, m, err)
		}
	}
	if _, err := Resolve(dirs, "", []string{"~/data:/data"}); err != nil {
		t.Errorf("a folder with links to keys, which lead nowhere in a sandbox, is refused: %v", err)
	}
}

func TestOnlyFoldersAndRegularFilesThatExistAreMounted(t *testing.T) {
	dirs := folders(t, "data")
	in := func(name string) string { return filepath.Join(dirs.Home, name) }
	if err := syscall.Mkfifo(in("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", in("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for source, says := range map[string]string{
		"~/pipe": "neither a folder nor a regular file", "~/socket": "neither a folder nor a regular file",
		"~/missing": "does not exist", "~/data/missing/below": "does not exist",
	} {
		if m, err := Resolve(dirs, "", []string{source + ":/data"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s is mounted: %v, %v", source, m, err)
		}
	}
}

func TestMountsDoNotOverlap(t *testing.T) {
	dirs := folders(t, "data")
	for _, targets := range [][2]string{{"/a", "/a"}, {"/a", "/a/b"}, {"/a/b", "/a"}} {
		if _, err := Resolve(dirs, "", []string{"~/data:" + targets[0], "~/data:" + targets[1]}); err == nil || !strings.Contains(err.Error(), "overlap") {
			t.Errorf("%v: %v", targets, err)
		}
	}
	if _, err := Resolve(dirs, "", []string{"~/data:/a", "~/data:/ab"}); err != nil {
		t.Error(err)
	}
	if _, err := Resolve(dirs, "", slices.Repeat([]string{"~/data:/a"}, Max+1)); err == nil {
		t.Error("too many mounts")
	}
}

func TestTheRepositoryIsNotMounted(t *testing.T) {
	dirs := folders(t, "src/shop/data", "src/lib")
	if err := os.Symlink("src", filepath.Join(dirs.Home, "link")); err != nil {
		t.Fatal(err)
	}
	repository := filepath.Join(dirs.Home, "link/shop")
	for source, refused := range map[string]bool{"~/src": true, "~/src/shop": true, "~/link": true, "~/src/shop/data": false, "~/src/lib": false} {
		if m, err := Resolve(dirs, repository, []string{source + ":/data"}); (err != nil) != refused || refused && (fault.KindOf(err) != fault.Refused || !strings.Contains(strings.Join(fault.Hints(err), " "), "--mount=")) {
			t.Errorf("%s: %v, %v", source, m, err)
		}
	}
	if _, err := Resolve(dirs, "https://example.org/shop.git", []string{"~/src:/data"}); err != nil {
		t.Errorf("with the repository of a URL: %v", err)
	}
}
