package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

func TestWrongUsageIsRefusedFirst(t *testing.T) {
	for args, want := range map[string]string{
		"--frobnicate":                  "unknown argument '--frobnicate'",
		"--user":                        "--user needs a name",
		"--user --check":                "--user needs a name",
		"--user root":                   "other than root",
		"--user ../x":                   "is not a user name",
		"--purge":                       "go with --uninstall",
		"--yes":                         "go with --uninstall",
		"--check -- true":               "only run after the setup",
		"--replace-runtime --uninstall": "does not go with --uninstall",
		"--uninstall --yes -- true":     "only run after the setup",
	} {
		got := bash(t, script+" "+args)
		if got.code != 2 || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q", args, got.code, got.err)
		}
	}
}

// A directory service can have names that useradd refuses.
func TestAnExistingUserCanHaveAnyName(t *testing.T) {
	m := newMachine(t, map[string]string{"bin/id": "#!/bin/sh\ncase $* in '-u -- '[Aa]nn* | *4242) echo 4242 ;; *) exit 1 ;; esac\n"})
	for name, want := range map[string]string{"Ann.Smith@corp.example": "", "Bob.Smith@corp.example": "is not a user name", "ann smith": "is not a user name", "4242": "is not a user name", "bob": ""} {
		got := m.run("user=''; parse --user '" + name + "'; echo \"$user\"")
		if got.code != 0 && want == "" || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q", name, got.code, got.err)
		}
	}
}

func TestHelpExplainsEveryFlag(t *testing.T) {
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	help := bash(t, script+" --help")
	if help.code != 0 {
		t.Fatalf("exit code %d", help.code)
	}
	_, parse, _ := strings.Cut(string(text), "\nparse() {")
	parse, _, _ = strings.Cut(parse, "\n}\n")
	flags := regexp.MustCompile(`(?m)^\t\t(--[a-z-]+)\)`).FindAllStringSubmatch(parse, -1)
	if len(flags) < 5 {
		t.Fatalf("found only the flags %v", flags)
	}
	for _, flag := range flags {
		if !regexp.MustCompile(`(?m)^  ` + flag[1] + `(?: |$)`).MatchString(help.out) {
			t.Errorf("%s is not explained", flag[1])
		}
	}
}

// The scripts add this folder themselves, so that without it only some targets would work.
func TestMakeFindsGoWhereTheScriptsTellToInstallIt(t *testing.T) {
	got := bash(t, `PATH=/usr/bin:/bin make -s -C ../.. --eval 'path: ; @echo "$$PATH"' path`)
	if got.code != 0 || got.out != "/usr/bin:/bin:/usr/local/go/bin\n" {
		t.Errorf("exit code %d, the PATH is %q, %s", got.code, got.out, got.err)
	}
}

func TestCheckReportsThisMachineWithoutChangingIt(t *testing.T) {
	got := bash(t, script+" --check")
	todo := regexp.MustCompile(`(?m)^(todo|manual) `).MatchString(got.out)
	if (got.code == 3) != todo || (got.code == 0) == todo {
		t.Errorf("exit code %d with\n%s%s", got.code, got.out, got.err)
	}
	// The user of these tests has the setup; root's default user may not.
	if os.Getuid() != 0 && got.code != 0 {
		t.Errorf("the setup of this user is incomplete (make setup):\n%s%s", got.out, got.err)
	}
}

func TestWithoutRootAccessTheScriptStopsWithAHint(t *testing.T) {
	m := newMachine(t, nil)
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	m.write("setup.sh", string(text))
	m.write("bin/sudo", "#!/bin/sh\n[ \"$1\" = -n ] || echo 'ann is not in the sudoers file.' >&2\nexit 1\n")
	for _, path := range []string{filepath.Dir(m.root), m.root, filepath.Join(m.root, "bin"), filepath.Join(m.root, "bin/sudo"), filepath.Join(m.root, "setup.sh")} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	master, slave, err := pty.Open() // a password could be typed there
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	cmd := exec.Command("bash", "-c", `source ./setup.sh; with_proxies=(bash -c 'exec "$@"' x); as_root "${with_proxies[@]}" echo done anyway`)
	cmd.Dir, cmd.Stdin = m.root, slave
	cmd.Env = []string{"PATH=" + filepath.Join(m.root, "bin") + ":" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if os.Getuid() == 0 { // root would not need sudo
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	output, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 3 || strings.Contains(string(output), "\ndone anyway") {
		t.Errorf("ends with %v, %q", err, output)
	}
	for _, want := range []string{"not in the sudoers file", "this needs root, but sudo refused ", ": echo done anyway\n", "have root run this script with --user "} {
		if !strings.Contains(string(output), want) {
			t.Errorf("the output lacks %q: %q", want, output)
		}
	}
}

// Root cannot read the private files of a user on some file systems.
func TestAFolderForTemporaryFilesThatRootCannotReadIsReported(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root does not need sudo")
	}
	m := newMachine(t, map[string]string{"bin/sudo": "#!/bin/sh\ncase \"$*\" in *\"test -r\"*) exit \"$denied\" ;; *true) ;; *) shift; \"$@\" ;; esac\n"})
	path, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	const lines = `export TMPDIR=$1 denied=$3; PATH=$1/bin:$PATH; set -- "$1" "$2"; source "$2"; scratch=$1/tmp; as_root echo done; as_root echo again`
	if got := bash(t, lines, m.root, path, "1"); got.code != 3 || got.out != "" || !strings.Contains(got.err, "root cannot read the folder for temporary files, "+m.root+"\n") {
		t.Errorf("exit code %d, %q, %q", got.code, got.out, got.err)
	}
	if got := bash(t, lines, m.root, path, "0"); got.code != 0 || got.out != "done\nagain\n" {
		t.Errorf("if root can: exit code %d, %q, %q", got.code, got.out, got.err)
	}
}
