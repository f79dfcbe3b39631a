package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const restorer = "usr/local/lib/aibox/runsc-restore"

func TestTheRuntimeThatRestoresHasTheProgramAndArgumentsOfTheOther(t *testing.T) {
	for name, object := range map[string]string{
		"ours":      `{"path": "OURS", "runtimeArgs": [` + rightArgs + `]}`,
		"another's": `{"path": "THEIRS", "runtimeArgs": [` + rightArgs + `, "--platform=kvm"]}`,
	} {
		m := registered(t, object)
		before := m.read(daemonJSON)
		if got := m.must(ofUser + "need_restorer"); !strings.Contains(got, "install /usr/local/lib/aibox/runsc-restore") || !strings.Contains(got, "register aibox-restore in ") {
			t.Errorf("%s: needs %q", name, got)
		}
		m.must(ofUser + "make_restorer")
		want := m.must(ofUser + `jq -c '.runtimes.runsc | .runtimeArgs = ["--aibox-runsc=" + .path] + .runtimeArgs | .path = "` + m.root + "/" + restorer + `"' <` + m.root + "/" + daemonJSON)
		if got := m.must(`jq -c '.runtimes["aibox-restore"]' <` + m.root + "/" + daemonJSON); !sameJSON(t, got, want) {
			t.Errorf("%s: registered %s, want %s", name, got, want)
		}
		if got := m.must(ofUser + "need_restorer"); got != "" {
			t.Errorf("%s: then needs %q", name, got)
		}
		m.must(ofUser + "replaced_runtime() { echo '" + strings.TrimSpace(m.must("jq -c .runtimes.runsc <"+m.root+"/"+daemonJSON)) + "'; }; undo_registration")
		if got := m.read(daemonJSON); !sameJSON(t, got, before) {
			t.Errorf("%s: rolled back: %s, before: %s", name, got, before)
		}
	}
}

func TestAChangedProgramThatRestoresIsInstalledAgain(t *testing.T) {
	for name, lines := range map[string]string{
		"unchanged":        "",
		"changed":          "echo changed >$root/" + restorer,
		"writable by all":  "chmod 0757 $root/" + restorer,
		"not a program":    "chmod 0644 $root/" + restorer,
		"another's answer": "ln -sf /bin/true $root/" + restorer,
	} {
		m := registered(t, `{"path": "OURS", "runtimeArgs": [`+rightArgs+`]}`)
		m.must(ofUser + "make_restorer")
		if got := m.must(ofUser + lines + "\nneed_restorer"); (got == "") != (lines == "") {
			t.Errorf("%s: needs %q", name, got)
		}
	}
}

// restoring runs the program that restores with a runsc that prints its arguments.
func restoring(t *testing.T, named string, args ...string) (out string, err error) {
	t.Helper()
	m := newMachine(t, map[string]string{"opt/runsc": "#!/bin/sh\nfor arg; do echo \"[$arg]\"; done\n"})
	m.must("restorer_program >$root/restore; chmod 755 $root/restore")
	if named != "" {
		if err := os.MkdirAll(filepath.Join(m.root, "run/aibox-restore", named), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "RUNSC", m.root+"/opt/runsc")
	}
	cmd := exec.Command(m.root+"/restore", args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + m.root + "/run"}
	text, err := cmd.CombinedOutput()
	return strings.ReplaceAll(strings.ReplaceAll(string(text), m.root, "ROOT"), "\n", ""), err
}

func TestAStartBecomesARestoreAndEveryOtherCallIsUnchanged(t *testing.T) {
	id := strings.Repeat("0a", 32)
	global := []string{"--aibox-runsc=RUNSC", "--ignore-cgroups", "--root", "start", "--log", "/x y", "--log-format", "json"}
	const passed = "[--ignore-cgroups][--root][start][--log][/x y][--log-format][json]"
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a start":           {[]string{"start", id}, passed + "[restore][--detach][--image-path][ROOT/run/aibox-restore/" + id + "/image][" + id + "]"},
		"a creation":        {[]string{"create", "--bundle", "/b", id}, passed + "[create][--bundle][/b][" + id + "]"},
		"a kill":            {[]string{"kill", id, "start"}, passed + "[kill][" + id + "][start]"},
		"a deletion":        {[]string{"delete", "--force", id}, passed + "[delete][--force][" + id + "]"},
		"no command at all": {nil, passed},
	} {
		got, err := restoring(t, id, append(append([]string{}, global...), test.args...)...)
		if err != nil || got != test.want {
			t.Errorf("%s: called %s, %v\nwant %s", name, got, err, test.want)
		}
	}
}

// containerd removes a container that has ended, and the process that watches it, if these words
// of runc say so. Other errors of a kill are no end.
func TestAKillOfAnEndedContainerReportsItInTheWordsOfRunc(t *testing.T) {
	id := strings.Repeat("0a", 32)
	for says, ended := range map[string]bool{"sandbox is not running": true, "permission denied": false} {
		m := newMachine(t, map[string]string{"opt/runsc": "#!/bin/sh\necho '" + says + "' >&2\nexit 128\n"})
		m.must("restorer_program >$root/restore; chmod 755 $root/restore")
		cmd := exec.Command(m.root+"/restore", "--aibox-runsc="+m.root+"/opt/runsc", "--root", "/x", "kill", "--all", id, "9")
		cmd.Env = []string{"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + m.root + "/run"}
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 128 || !strings.Contains(string(out), says) || strings.Contains(string(out), "container not running") != ended {
			t.Errorf("%q: %v, %s", says, err, out)
		}
	}
}

// Docker forgets a container that does not start, and leaves its process.
func TestTheProcessOfAContainerThatDoesNotStartEnds(t *testing.T) {
	id := strings.Repeat("0a", 32)
	for name, c := range map[string]struct {
		named string
		ends  bool
	}{
		"a restore that fails": {named: id, ends: true},
		"no checkpoint":        {named: strings.Repeat("1b", 32), ends: true},
		"a restore":            {named: id},
	} {
		created := exec.Command("sleep", "1000")
		if err := created.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = created.Process.Kill(); _ = created.Wait() })
		restores := "exit 0"
		if c.ends {
			restores = "exit 7"
		}
		m := newMachine(t, map[string]string{"opt/runsc": "#!/bin/sh\n" + `case "$*" in
*" restore "*) ` + restores + ` ;;
"--root /x state ` + id + `") printf '{\n  "status": "created",\n  "pid": ` + strconv.Itoa(created.Process.Pid) + `,\n  "bundle": "/b"\n}' ;;
*) exit 9 ;;
esac
`})
		m.must("restorer_program >$root/restore; chmod 755 $root/restore; mkdir -p $root/run/aibox-restore/" + c.named)
		cmd := exec.Command(m.root+"/restore", "--aibox-runsc="+m.root+"/opt/runsc", "--root", "/x", "start", id)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + m.root + "/run"}
		if err := cmd.Run(); (err != nil) != c.ends || c.named == id && c.ends && cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%s: %v", name, err)
		}
		if !c.ends {
			if err := created.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("%s: the process: %v", name, err)
			}
			continue
		}
		hung := time.AfterFunc(time.Minute, func() {
			t.Errorf("%s: the process does not end", name)
			_ = created.Process.Kill()
		})
		err := created.Wait()
		hung.Stop()
		if err == nil || created.ProcessState.ExitCode() != -1 {
			t.Errorf("%s: the process ended with %v", name, err)
		}
	}
}

func TestAContainerWithoutACheckpointOfAiboxDoesNotStart(t *testing.T) {
	id := strings.Repeat("0a", 32)
	for name, args := range map[string][]string{
		"none is named":      {"--aibox-runsc=RUNSC", "start", strings.Repeat("1b", 32)},
		"a path":             {"--aibox-runsc=RUNSC", "start", "../aibox-restore/" + id},
		"a short id":         {"--aibox-runsc=RUNSC", "start", "0a"},
		"no id":              {"--aibox-runsc=RUNSC", "start"},
		"two ids":            {"--aibox-runsc=RUNSC", "start", id, id},
		"an option":          {"--aibox-runsc=RUNSC", "start", "--x", id},
		"no runsc":           {"start", id},
		"a runsc by PATH":    {"--aibox-runsc=runsc", "start", id},
		"no arguments":       nil,
		"an id with a break": {"--aibox-runsc=RUNSC", "start", id + "\n"},
	} {
		if got, err := restoring(t, id, args...); err == nil || strings.Contains(got, "[") {
			t.Errorf("%s: called %s, %v", name, got, err)
		}
	}
}
