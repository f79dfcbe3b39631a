package setup

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const (
	daemonJSON = "home/ann/.config/docker/daemon.json"
	stateFile  = "var/lib/aibox/setup"
	ownFile    = "home/ann/.local/state/aibox/setup"
	runsc      = "usr/local/lib/aibox/runsc-release-20260323.0"
)

func sameJSON(t *testing.T, got, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Errorf("%q: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(a, b)
}

func TestOnlyOurRuntimeIsAddedToTheDaemonsSettingsAndRemoved(t *testing.T) {
	const ours = `{"path": "OURS", "runtimeArgs": ["--ignore-cgroups", "--overlay2=root:self,size=10g"]}`
	for _, test := range []struct{ name, before, with, without string }{
		{"nothing", `{}`, `{"runtimes": {"runsc": ` + ours + `}}`, `{}`},
		{"an empty file", ` `, `{"runtimes": {"runsc": ` + ours + `}}`, `{}`},
		{"keys of others", `{"debug": true, "runtimes": {"kata": {"path": "/kata"}}}`, `{"debug": true, "runtimes": {"kata": {"path": "/kata"}, "runsc": ` + ours + `}}`, `{"debug": true, "runtimes": {"kata": {"path": "/kata"}}}`},
		{"an older one of ours, with a flag", `{"runtimes": {"runsc": {"path": "OLD", "runtimeArgs": ["--platform=kvm"]}}}`, `{"runtimes": {"runsc": {"path": "OURS", "runtimeArgs": ["--platform=kvm", "--ignore-cgroups", "--overlay2=root:self,size=10g"]}}}`, `{}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(t, map[string]string{runsc: ""})
			named := strings.NewReplacer("OURS", m.root+"/"+runsc, "OLD", m.root+"/usr/local/lib/aibox/runsc-old")
			m.write(daemonJSON, named.Replace(test.before))
			m.must("[[ -z $(need_registration) ]] || make_registration")
			if got := m.read(daemonJSON); !sameJSON(t, got, named.Replace(test.with)) {
				t.Errorf("with it: %s", got)
			}
			if got := m.must("need_registration"); got != "" {
				t.Errorf("then needs %q", got)
			}
			m.must("[[ -z $(left_registration) ]] || undo_registration")
			if got := m.read(daemonJSON); !sameJSON(t, got, test.without) {
				t.Errorf("without it: %s", got)
			}
		})
	}
}

func TestOnlySettingsThatTheScriptCreatedAreRemoved(t *testing.T) {
	m := newMachine(t, map[string]string{runsc: ""})
	m.must("as_root() { false; }; make_registration; undo_registration")
	if got := m.read(daemonJSON); got != "" {
		t.Errorf("the created file stays: %q", got)
	}
}

func TestAUserWithoutRootAccessHasRecordsToo(t *testing.T) {
	m := newMachine(t, map[string]string{"home/ann/.local/share/docker/layer": "x"})
	got := m.must("as_root() { exit 9; }; record data ann; record data ann; record unit ann; recorded unit ann && ! recorded unit bob && echo yes")
	if got != "yes" || m.read(ownFile) != "data ann\nunit ann\n" || m.read(stateFile) != "" {
		t.Errorf("printed %q, recorded %q", got, m.read(ownFile))
	}
	m.must("forget_user")
	if got := m.read(ownFile); got != "data ann\n" {
		t.Errorf("the kept records are %q", got)
	}
	m.must("rm -r $(data_dir); forget_user")
	if got := m.read(ownFile); got != "" {
		t.Errorf("then %q", got)
	}
}

// Docker's tool writes the unit and starts the daemon, which takes seconds.
func TestTheUnitOfASetupThatIsKilledMeanwhileIsRemoved(t *testing.T) {
	m := newMachine(t, nil)
	m.run("as_user() { [[ $1 != */dockerd-rootless-setuptool.sh ]] || kill -KILL $$; \"$@\"; }\nmake_unit $root/bin/dockerd-rootless.sh")
	if got := m.must("left_daemon"); got != "stop rootless Docker of ann\nremove its unit docker.service" {
		t.Errorf("would remove %q", got)
	}
}

// The user may do what the tool asks, and create the unit without the setup.
func TestAUnitThatDockersToolDidNotCreateIsNotRecorded(t *testing.T) {
	m := newMachine(t, map[string]string{ownFile: "data ann\n"})
	m.write("bin/dockerd-rootless-setuptool.sh", "#!/bin/sh\necho 'do something first' >&2\nexit 1\n")
	got := m.run("has_unit() { false; }\nmake_unit $root/bin/dockerd-rootless.sh")
	if got.code != 3 || !strings.Contains(got.err, "do something first") || m.read(ownFile) != "data ann\n" {
		t.Errorf("exit code %d, %q, recorded %q", got.code, got.err, m.read(ownFile))
	}
}

func TestUninstallingUnmasksWhatAKilledSetupHeld(t *testing.T) {
	m := newMachine(t, map[string]string{stateFile: "held docker.service\nheld docker.socket\n"})
	m.must("others=bob; forget_user")
	if got := m.read(stateFile); got != "held docker.service\nheld docker.socket\n" {
		t.Errorf("with another user left, the records are %q", got)
	}
	m.must("others=; forget_user")
	if calls := m.read("calls"); calls != "systemctl unmask --runtime docker.service docker.socket\n" || m.read(stateFile) != "" {
		t.Errorf("the calls are\n%s\nthe records %q", calls, m.read(stateFile))
	}
}

// Some users keep their settings in a repository, with links to it.
func TestSettingsThatAreALinkStayOne(t *testing.T) {
	m := newMachine(t, map[string]string{runsc: "", "home/ann/dotfiles/daemon.json": `{"debug": true}`, "home/ann/.config/docker/.keep": ""})
	link := filepath.Join(m.root, daemonJSON)
	if err := os.Symlink("../../dotfiles/daemon.json", link); err != nil {
		t.Fatal(err)
	}
	m.must("make_registration")
	if got := m.read("home/ann/dotfiles/daemon.json"); !strings.Contains(got, "runsc") || got != m.read(daemonJSON) {
		t.Errorf("the target is %s", got)
	}
	m.must("undo_registration")
	if got := m.read("home/ann/dotfiles/daemon.json"); !sameJSON(t, got, `{"debug": true}`) {
		t.Errorf("afterwards, the target is %s", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
}

// A link without a target is the user's, too.
func TestALinkWithoutATargetStays(t *testing.T) {
	m := newMachine(t, map[string]string{runsc: "", "home/ann/dotfiles/.keep": "", "home/ann/.config/docker/.keep": ""})
	if err := os.Symlink("../../dotfiles/daemon.json", filepath.Join(m.root, daemonJSON)); err != nil {
		t.Fatal(err)
	}
	m.must("make_registration; undo_registration")
	if got := m.read(daemonJSON); !sameJSON(t, got, `{}`) {
		t.Errorf("afterwards, the settings are %q", got)
	}
}

// The target can be the settings of the system's daemon, whose folder the user must not own.
func TestSettingsThatTheUserCannotWriteGetAHint(t *testing.T) {
	m := newMachine(t, map[string]string{runsc: "", "etc/docker/daemon.json": `{"debug": true}`, daemonJSON: `{"debug": true}`})
	const closed = "as_user() { [[ $1 != sh ]] && \"$@\"; }\nmake_registration"
	link := filepath.Join(m.root, daemonJSON)
	if got := m.run(closed); got.code != 3 || !strings.Contains(got.err, "try: chown -R ann "+filepath.Dir(link)+"\n") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	target := filepath.Join(m.root, "etc/docker/daemon.json")
	if err := errors.Join(os.Remove(link), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if got := m.run(closed); got.code != 3 || strings.Contains(got.err, "chown") || !strings.Contains(got.err, "cp --remove-destination "+target+" "+link+"\n") {
		t.Errorf("for a link: exit code %d, %q", got.code, got.err)
	}
}

func TestInvalidSettingsAreNotChanged(t *testing.T) {
	m := newMachine(t, map[string]string{runsc: "", daemonJSON: `{"debug": true,`})
	if got := m.must("need_registration"); !strings.HasPrefix(got, "by hand: fix "+m.root+"/"+daemonJSON) {
		t.Errorf("needs %q", got)
	}
	got := m.run("make_registration")
	if got.code != 3 || m.read(daemonJSON) != `{"debug": true,` {
		t.Errorf("exit code %d, file %q", got.code, m.read(daemonJSON))
	}
	if got := m.must("left_registration"); got != "" {
		t.Errorf("left is %q", got)
	}
}

func TestSettingsThatCannotBeReadOrComputedAreNotReplaced(t *testing.T) {
	m := newMachine(t, map[string]string{runsc: "", daemonJSON: `{"debug": true, "runtimes": []}`})
	got := m.run("replace_runtime=yes; make_registration")
	if got.code != 3 || !strings.Contains(got.err, "not changed") || m.read(daemonJSON) != `{"debug": true, "runtimes": []}` {
		t.Errorf("exit code %d, %q, file %q", got.code, got.err, m.read(daemonJSON))
	}
	m.run("make_restorer")
	if m.read(daemonJSON) != `{"debug": true, "runtimes": []}` {
		t.Errorf("the restorer left the file %q", m.read(daemonJSON))
	}
	m.run(": | write_daemon_json")
	if m.read(daemonJSON) != `{"debug": true, "runtimes": []}` {
		t.Errorf("nothing replaced the file: %q", m.read(daemonJSON))
	}
	// Even root cannot read a folder as a file.
	m = newMachine(t, map[string]string{runsc: "", daemonJSON + "/x": ""})
	if got := m.must("need_registration"); !strings.HasPrefix(got, "by hand: fix ") {
		t.Errorf("needs %q", got)
	}
	before := m.snapshot()
	if got := m.run("make_registration"); got.code != 3 || !strings.Contains(got.err, "not changed") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	m.mustBeAsBefore(before)
}

func TestTheDefaultRuntimeIsNotRemoved(t *testing.T) {
	m := newMachine(t, map[string]string{runsc: ""})
	m.must("make_registration")
	before := strings.Replace(m.read(daemonJSON), "{", `{"default-runtime": "runsc",`, 1)
	m.write(daemonJSON, before)
	got := m.run("undo_registration")
	if got.code != 3 || !strings.Contains(got.err, "remove default-runtime") || m.read(daemonJSON) != before {
		t.Errorf("exit code %d, %q, file %q", got.code, got.err, m.read(daemonJSON))
	}
}

func TestUninstallStopsWhileContainersRun(t *testing.T) {
	m := newMachine(t, map[string]string{runsc: "", "bin/docker": "#!/bin/sh\necho aibox-3f9\n"})
	before := m.snapshot()
	got := m.run("yes=yes; daemon_answers() { true; }; uninstall")
	if got.code != 3 || !strings.Contains(got.err, "aibox-3f9") || !strings.Contains(got.err, "aibox stop") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	m.mustBeAsBefore(before)
}

func TestUninstallNeedsConfirmation(t *testing.T) {
	m := newMachine(t, map[string]string{runsc: ""})
	before := m.snapshot()
	if got := m.run("uninstall </dev/null"); got.code != 2 || !strings.Contains(got.err, "--yes") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	if got := m.run("check=yes; uninstall"); got.code != 3 || !strings.Contains(got.out, "undo   runsc") {
		t.Errorf("exit code %d, %q", got.code, got.out)
	}
	m.mustBeAsBefore(before)
}

func TestUninstallRemovesOnlyWhatTheScriptCreatedAndCanRunTwice(t *testing.T) {
	m := newMachine(t, map[string]string{
		runsc: "", "etc/modules-load.d/aibox.conf": "br_netfilter\n", "etc/modules-load.d/other.conf": "other\n",
		stateFile: "package jq\ndata ann\ndata bob\nsubuids 1-65536 ann\nsubgids 1-65536 ann\nlinger ann\n", "etc/subuid": "ann:1:65536\n", "home/ann/.local/share/docker/layer": "x",
	})
	m.must("make_registration")
	quiet := "other_users() { :; }; yes=yes; "
	got := m.run(quiet + "uninstall")
	if got.code != 0 || !strings.Contains(got.err, "apt-get remove jq") || !strings.Contains(got.err, ".local/share/docker") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	for path, stays := range map[string]bool{
		runsc: false, "etc/modules-load.d/aibox.conf": false, daemonJSON: false,
		"etc/modules-load.d/other.conf": true, "home/ann/.local/share/docker/layer": true,
	} {
		if (m.read(path) != "") != stays {
			t.Errorf("%s: stays %v, must %v", path, !stays, stays)
		}
	}
	if got := m.read(stateFile); got != "data ann\ndata bob\nsubuids 1-65536 ann\n" {
		t.Errorf("records are %q", got)
	}
	before := m.snapshot()
	if got := m.must(quiet + "uninstall"); got != "nothing to remove for ann" {
		t.Errorf("the second time: %q", got)
	}
	m.mustBeAsBefore(before)
	// rootlesskit is a stand-in here, so the folder itself stays.
	m.must(quiet + "purge=yes; undo_data")
	if got := m.read("calls"); !strings.Contains(got, "rootlesskit rm -rf -- "+m.root+"/home/ann/.local/share/docker") {
		t.Errorf("calls were %q", got)
	}
}

// An earlier run that was interrupted can have ended the lingering, and with it the manager.
func TestUninstallNeedsNoSystemdManagerOfTheUser(t *testing.T) {
	const unit, enabled = "home/ann/.config/systemd/user/docker.service", "home/ann/.config/systemd/user/default.target.wants/docker.service"
	m := newMachine(t, map[string]string{ownFile: "unit ann\n", unit: "[Unit]\n", enabled: "", "bin/systemctl": "#!/bin/sh\nexit 1\n"})
	m.must("undo_daemon")
	for _, file := range []string{unit, enabled} {
		if _, err := os.Lstat(filepath.Join(m.root, file)); err == nil {
			t.Errorf("%s stays", file)
		}
	}
}

func TestPurgeKeepsDataFromBeforeTheSetup(t *testing.T) {
	m := newMachine(t, map[string]string{"home/ann/.local/share/docker/layer": "x"})
	if got := m.must("purge=yes; left_data"); got != "" {
		t.Errorf("would delete %q", got)
	}
}

func TestSharedFilesStayForOtherUsers(t *testing.T) {
	m := newMachine(t, map[string]string{runsc: "", "etc/modules-load.d/aibox.conf": "br_netfilter\n", stateFile: "package jq\nlinger ann\ndata bob\n"})
	m.must("make_registration")
	got := m.run("other_users() { echo bob; }; yes=yes; uninstall")
	if got.code != 0 || !strings.Contains(got.out, "because other users need them: bob") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	if got := m.must("installed_runsc"); got == "" || m.read("etc/modules-load.d/aibox.conf") == "" {
		t.Error("a shared file is gone")
	}
	if got := m.read(stateFile); got != "package jq\ndata bob\n" {
		t.Errorf("records are %q", got)
	}
}

func TestOtherUsersAreFoundByTheirDaemonsSettings(t *testing.T) {
	m := newMachine(t, nil)
	m.write("home/bob/.config/docker/daemon.json", `{"runtimes": {"runsc": {"path": "`+m.root+`/`+runsc+`"}}}`)
	m.write("home/cid/.config/docker/daemon.json", `{"runtimes": {"runsc": {"path": "/opt/runsc"}}}`)
	m.write("home/dan/.config/docker/.keep", "")
	m.write("bin/getent", "#!/bin/sh\nfor n in ann bob cid dan; do echo \"$n:x:4242:4242::"+m.root+"/home/$n:/bin/sh\"; done\n")
	// Dan's is a pipe. The test holds it open, so that a script that reads it does not wait.
	const pipe = `pipe=$root/home/dan/.config/docker/daemon.json; mkfifo "$pipe"; exec 7<>"$pipe"; cat "$root/home/bob/.config/docker/daemon.json" >&7; echo >&7` + "\n"
	if got := m.must(pipe + "other_users"); got != "bob" {
		t.Errorf("found %q", got)
	}
}
