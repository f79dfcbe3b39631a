package paths

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"aibox/internal/fault"
)

func TestOnlyAbsoluteXDGVariablesCount(t *testing.T) {
	t.Setenv("HOME", "/home/someone")
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("XDG_DATA_HOME", "/data")
	dirs, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	if dirs.State != "/home/someone/.local/state/aibox" || dirs.Data != "/data/aibox" {
		t.Errorf("got %+v", dirs)
	}
}

// Two processes with different folders would not see each other's locks.
func TestProcessesWithAndWithoutTheVariableHaveTheSameRuntimeFolder(t *testing.T) {
	before := runtimeDirs
	runtimeDirs = t.TempDir()
	t.Cleanup(func() { runtimeDirs = before })
	t.Setenv("HOME", "/home/someone")
	t.Setenv("XDG_STATE_HOME", "")
	foreign := "/usr"
	if os.Getuid() == 0 {
		foreign = t.TempDir()
		if err := os.Chown(foreign, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	own, below := filepath.Join(runtimeDirs, strconv.Itoa(os.Getuid())), "/home/someone/.local/state/aibox/runtime"
	expect := func(when, variable, socket, want string) {
		t.Helper()
		t.Setenv("XDG_RUNTIME_DIR", variable)
		dirs, err := Default()
		if err != nil || dirs.Runtime != want || RuntimeDir() != socket {
			t.Errorf("%s, with %q: the sockets are in %q, the locks in %q (%v)", when, variable, RuntimeDir(), dirs.Runtime, err)
		}
	}
	for _, variable := range []string{"", "relative", foreign} {
		expect("without the system's folder", variable, own, below)
	}
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, variable := range []string{"", "relative", foreign, own} {
		expect("with the system's folder", variable, own, own+"/aibox")
	}
	other := t.TempDir()
	expect("with another one", other, other, other+"/aibox")
	expect("with one that does not exist yet", other+"/new", other+"/new", other+"/new/aibox")
}

func TestAHomeThatIsNotAWholePathIsAnError(t *testing.T) {
	for _, home := range []string{"", "relative"} {
		t.Setenv("HOME", home)
		if _, err := Default(); err == nil {
			t.Errorf("%q: no error", home)
		}
	}
}

func TestWithoutHOMETheHomeIsThatOfTheAccount(t *testing.T) {
	account, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "") // restores it afterwards
	if err := os.Unsetenv("HOME"); err != nil {
		t.Fatal(err)
	}
	if dirs, err := Default(); err != nil || dirs.Home != account.HomeDir {
		t.Errorf("the home is %q, %v; the account's is %q", dirs.Home, err, account.HomeDir)
	}
}

func TestPrivateFolderIsRestrictedAndNeverASymlink(t *testing.T) {
	root := t.TempDir()
	loose := filepath.Join(root, "loose")
	if err := os.Mkdir(loose, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := MakePrivate(loose); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(loose); info.Mode().Perm() != 0o700 {
		t.Errorf("mode is %v", info.Mode())
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(loose, link); err != nil {
		t.Fatal(err)
	}
	if err := MakePrivate(link); err == nil {
		t.Error("a symlink was taken for a folder")
	}
}

func TestAnotherUsersFolderIsNotPrivate(t *testing.T) {
	dir := "/usr"
	if os.Getuid() == 0 {
		dir = t.TempDir()
		if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, 1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := MakePrivate(dir); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("got %v", err)
	}
}

// Between its creation and a later change of its mode, another user could open it or create
// files in it.
func TestPrivateFoldersAreMadePrivateAndSoAreTheirParents(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	root := t.TempDir()
	if err := MakePrivate(filepath.Join(root, "a", "b", "c")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "a/b", "a/b/c"} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestWritingAFileReplacesItWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	for _, text := range []string{"first and long", "second"} {
		if err := WriteFile(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("got %q", got)
		}
	}
	if got, err := ReadSmall(file, 6); string(got) != "second" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	entries, _ := os.ReadDir(filepath.Dir(file))
	if info, _ := os.Stat(file); len(entries) != 1 || info.Mode().Perm() != 0o600 {
		t.Errorf("%d files, mode %v", len(entries), info.Mode())
	}
}

func TestOnlySmallRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := WriteFile(at("large"), []byte("1234567")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("large"), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, most := range map[string]int64{"large": 6, "link": 100, "pipe": 100, "folder": 1 << 20, "missing": 100} {
		if got, err := ReadSmall(at(name), most); err == nil {
			t.Errorf("%s is read as %q", name, got)
		}
	}
}

func TestAFolderThatCannotBeMadeIsReportedWithTheFolderAbove(t *testing.T) {
	above := filepath.Join(t.TempDir(), "above")
	if err := os.Mkdir(above, 0o500); err != nil {
		t.Fatal(err)
	}
	err := MakePrivate(filepath.Join(above, "a", "b"))
	if hints := fault.Hints(err); fault.KindOf(err) != fault.Environment || len(hints) != 1 || !strings.Contains(hints[0], "`ls -ld "+above+"`") {
		t.Errorf("got %v with %q", err, hints)
	}
}
