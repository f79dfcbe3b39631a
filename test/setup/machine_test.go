// Package setup tests the functions of the setup script on fake machines, each of them a
// folder: what the script checks, writes and removes. The tests do not change this machine.
// test/matrix/setup.sh runs the whole script on real systems.
package setup

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const script = "../../scripts/setup-rootless-gvisor.sh"

// machine is a folder that the script uses as the root of a machine, with a user ann and
// with stand-ins for the programs that change a machine. Each stand-in logs its calls.
type machine struct {
	t    *testing.T
	root string
}

// standIns are programs of the fake machine.
var standIns = map[string]string{
	"apparmor_parser": "", "dockerd-rootless-setuptool.sh": "", "loginctl": "", "modprobe": "", "rootlesskit": "", "usermod": "", "sysctl": "",
	"systemctl": `[ "$1" != show ] || echo memory pids`,
}

// newMachine returns a machine with the files, by path.
func newMachine(t *testing.T, files map[string]string) machine {
	t.Helper()
	m := machine{t, t.TempDir()}
	for _, dir := range []string{"bin", "etc", "home/ann", "tmp"} {
		m.write(dir+"/.keep", "")
	}
	for name, body := range standIns {
		m.write("bin/"+name, "#!/bin/sh\n[ \"$1\" = show ] || echo \""+name+" $*\" >>\""+m.root+"/calls\"\n"+body+"\n")
	}
	for path, text := range files {
		m.write(path, text)
	}
	return m
}

func (m machine) write(path, text string) {
	m.t.Helper()
	path = filepath.Join(m.root, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		m.t.Fatal(err)
	}
}

// read returns a file's content, or "" if there is none.
func (m machine) read(path string) string {
	data, err := os.ReadFile(filepath.Join(m.root, path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return string(data)
}

// result is the result of a bash program.
type result struct {
	out, err string
	code     int
}

// run runs lines of bash that can call the script's functions.
func (m machine) run(lines string) result {
	m.t.Helper()
	path, err := filepath.Abs(script)
	if err != nil {
		m.t.Fatal(err)
	}
	return bash(m.t, `set -- "$1" "$2"; source "$2"; root=$1
user=ann uid=4242 home=$root/home/ann runtime_dir=$root/run/user/4242 socket=$runtime_dir/docker.sock scratch=$root/tmp
PATH=$root/bin:$PATH
as_root() { "$@"; }
as_user() { "$@"; }
daemon_answers() { false; }
eval "really_$(declare -f is_pinned)"
is_pinned() { [[ ! -s $1 ]]; } # the release of these machines is an empty file
`+lines, m.root, path)
}

// must runs lines that must succeed, and returns their output.
func (m machine) must(lines string) string {
	m.t.Helper()
	got := m.run(lines)
	if got.code != 0 {
		m.t.Fatalf("%s\nexits with %d: %s%s", lines, got.code, got.out, got.err)
	}
	return strings.TrimSpace(got.out)
}

func bash(t *testing.T, lines string, args ...string) result {
	t.Helper()
	cmd := exec.Command("bash", append([]string{"-c", lines, "bash"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "XDG_RUNTIME_DIR=" + os.Getenv("XDG_RUNTIME_DIR"), "LC_ALL=C.UTF-8"}
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

// snapshot returns the content of every file, by path.
func (m machine) snapshot() map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(m.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

func (m machine) mustBeAsBefore(before map[string]string) {
	m.t.Helper()
	if after := m.snapshot(); !maps.Equal(before, after) {
		m.t.Errorf("files changed: %d before, %d after", len(before), len(after))
	}
}
