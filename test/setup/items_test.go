package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const restricted = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"

func TestUntestedSystemsAreReported(t *testing.T) {
	for release, want := range map[string]string{
		"ID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian 12\"":           "",
		"ID=debian\nVERSION_ID=\"13\"\nPRETTY_NAME=\"Debian 13\"":           "",
		"ID=ubuntu\nVERSION_ID=\"22.04\"\nPRETTY_NAME=\"Ubuntu 22.04\"":     "",
		"ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"Ubuntu 24.04\"":     "",
		"ID=ubuntu\nVERSION_ID=\"26.04\"\nPRETTY_NAME=\"Ubuntu 26.04 LTS\"": "",
		"ID=linuxmint\nVERSION_ID=\"22\"\nPRETTY_NAME=\"Linux Mint 22\"":    "Linux Mint 22 is not one of the tested systems",
		"ID=debian\nPRETTY_NAME=\"Debian trixie/sid\"":                      "Debian trixie/sid is not one of the tested systems",
	} {
		m := newMachine(t, map[string]string{"etc/os-release": release, "bin/apt-get": "#!/bin/sh\n"})
		got := m.run("check_platform")
		if got.code != 0 || !strings.Contains(got.err, want) || (want == "" && got.err != "") {
			t.Errorf("%q: exit code %d, %q", release, got.code, got.err)
		}
	}
}

func TestWithoutAptGetTheMissingPackagesAreReported(t *testing.T) {
	m := newMachine(t, map[string]string{"etc/os-release": "ID=fedora\nPRETTY_NAME=\"Fedora Linux 43\""})
	bare := "command() { [[ ${*: -1} != apt-get && ${*: -1} != newuidmap ]] && builtin command \"$@\"; }\nmissing_packages() { echo uidmap; }\n"
	if got := m.must(bare + "need_packages"); got != "by hand: install these packages (the names are Debian's): uidmap" {
		t.Errorf("needs %q", got)
	}
	got := m.run(bare + "make_packages")
	if got.code != 3 || !strings.Contains(got.err, "Fedora Linux 43") || !strings.Contains(got.err, "no apt-get to install them: uidmap") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
}

// Docker's own installation without root puts its programs in ~/bin, where the setup does not run them.
func TestAClientInAFolderOfTheUsersOwnIsInstalledWithoutARootDaemon(t *testing.T) {
	m := newMachine(t, map[string]string{"run/systemd/system/.keep": ""})
	for _, name := range []string{"docker", "dockerd"} {
		m.write("bin/"+name, "#!/bin/sh\n")
	}
	const lines = "has_candidate() { [[ $1 == docker.io ]]; }\nuser_path() { echo \"$root/usr/bin\"; }\n"
	got := strings.Fields(m.must(lines + "missing_packages"))
	if !slices.Contains(got, "docker.io") {
		t.Errorf("missing are %q", got)
	}
	if got := m.must(lines + "new_units"); got != "docker.service\ndocker.socket\ncontainerd.service" {
		t.Errorf("these units are held: %q", got)
	}
	const client = "has_candidate() { [[ $1 == docker-cli ]]; }\nuser_path() { echo \"$root/usr/bin\"; }\n" // a package without units
	if got := strings.Fields(m.must(client + "missing_packages")); !slices.Contains(got, "docker-cli") {
		t.Errorf("missing are %q", got)
	}
	if got := m.must(client + "new_units"); got != "" {
		t.Errorf("these units are held for the client: %q", got)
	}
	m.write("usr/bin/docker", "#!/bin/sh\n")
	if got := strings.Fields(m.must(lines + "missing_packages")); slices.Contains(got, "docker.io") {
		t.Errorf("then missing are %q", got)
	}
	if got := m.must(lines + "new_units"); got != "" {
		t.Errorf("then these units are held: %q", got)
	}
}

func TestWithoutAptGetTheTestUsesTheStaticBusyboxOfTheSystem(t *testing.T) {
	const bare = "command() { [[ ${*: -1} != apt-get ]] && builtin command \"$@\"; }\n"
	for says, static := range map[string]bool{
		"\tnot a dynamic executable": true, "\tstatically linked": true, "ldd: busybox: Not a valid dynamic program": true, "\tlibc.so.6 => /lib64/libc.so.6": false,
	} {
		m := newMachine(t, map[string]string{"bin/busybox": "#!/bin/sh\n", "bin/ldd": "#!/bin/sh\necho '" + says + "'\n"})
		if missing := strings.Fields(m.must(bare + "missing_packages")); slices.Contains(missing, "busybox-static") == static {
			t.Errorf("%q: missing are %q", says, missing)
		}
		if !static {
			continue
		}
		m.must(bare + "make_proof_program")
		if m.read("usr/local/lib/aibox/proof/bin/busybox") == "" || m.must("need_proof_program") != "" {
			t.Errorf("%q: it is not installed", says)
		}
	}
	for _, name := range []string{"busybox-static", "busybox.static"} { // beside a dynamic one
		m := newMachine(t, map[string]string{
			"bin/busybox": "#!/bin/sh\n", "bin/" + name: "#!/bin/sh\n", "bin/ldd": "#!/bin/sh\ncase $1 in *busybox) echo libc.so.6 ;; *) echo statically linked ;; esac\n",
		})
		if got := m.must("static_busybox"); got != m.root+"/bin/"+name {
			t.Errorf("%s: it is %q", name, got)
		}
	}
	m := newMachine(t, map[string]string{"bin/apt-get": "#!/bin/sh\n"})
	if missing := strings.Fields(m.must("missing_packages")); slices.Contains(missing, "busybox-static") {
		t.Errorf("with apt-get, missing are %q", missing)
	}
}

func TestAnInterruptedInstallationIsCompletedBeforeApt(t *testing.T) {
	programs := map[string]string{}
	for _, name := range []string{"apt-get", "dpkg", "dockerd"} {
		programs["bin/"+name] = "#!/bin/sh\necho \"" + name + " $*\" >>\"$calls\"\n"
	}
	const install = "export calls=$root/calls\nmissing_packages() { echo uidmap; }\nhas_candidate() { true; }\nrecord() { true; }\nmake_packages"
	m := newMachine(t, programs)
	m.must(install)
	if calls := m.read("calls"); !strings.HasPrefix(calls, "apt-get -o DPkg::Lock::Timeout=300 update\n") || strings.Contains(calls, "dpkg --configure") {
		t.Errorf("calls were %q", calls)
	}
	m = newMachine(t, programs)
	m.write("var/lib/dpkg/updates/0001", "")
	m.must(install)
	if calls := m.read("calls"); !strings.HasPrefix(calls, "dpkg --configure -a\napt-get ") {
		t.Errorf("after an interrupted installation, calls were %q", calls)
	}
}

// sudo drops the variables of proxies, and apt knows only their lowercase names.
func TestAptGetHasTheProxiesOfTheEnvironment(t *testing.T) {
	const lines = `missing_packages() { echo uidmap; }
has_candidate() { true; }
record() { true; }
as_root() { echo "$*" >>"$root/arguments"; env -i PATH="$PATH" calls="$root/calls" "$@"; }
export calls=$root/calls HTTP_PROXY='http://ann:it'"'"'s secret@proxy.example:3128' https_proxy=http://proxy.example:3129 HTTPS_PROXY=http://other.example NO_PROXY=localhost
load_proxies
make_packages
make_proof_program`
	m := newMachine(t, map[string]string{"bin/dpkg-deb": "#!/bin/sh\nmkdir -p \"$3/bin\" && echo >\"$3/bin/busybox\"\n"})
	m.write("bin/apt-get", "#!/bin/sh\necho \"${*##* } $http_proxy $https_proxy $no_proxy\" >>\"$calls\"\ncase \"$*\" in *download*) : >busybox-static_1.deb ;; esac\n")
	m.must(lines)
	const proxies = " http://ann:it's secret@proxy.example:3128 http://proxy.example:3129 localhost\n"
	calls := m.read("calls")
	for _, line := range strings.SplitAfter(strings.TrimSuffix(calls, "\n"), "\n") {
		if !strings.HasSuffix(strings.TrimSuffix(line, "\n")+"\n", proxies) {
			t.Errorf("apt-get has %q", line)
		}
	}
	if strings.Count(calls, "\n") < 4 || strings.Contains(m.read("arguments"), "secret@") {
		t.Errorf("the calls are\n%s\nthe arguments of root's commands\n%s", calls, m.read("arguments"))
	}
}

// withoutDockerd hides the dockerd of this machine.
const withoutDockerd = "command() { [[ ${*: -1} != dockerd ]] && builtin command \"$@\"; }\nmissing_packages() { echo docker.io; }\nhas_candidate() { true; }\nrecord() { true; }\n"

func TestOnlyUnitsThatComeWithThePackagesAreDisabled(t *testing.T) {
	programs := map[string]string{"run/systemd/system/.keep": ""}
	for _, name := range []string{"apt-get", "systemctl"} {
		programs["bin/"+name] = "#!/bin/sh\necho \"" + name + " $*\" >>\"$calls\"\ncase \"$*\" in *install*) exit ${failed:-0} ;; esac\n"
	}
	const install = "export calls=$root/calls\n" + withoutDockerd + "trap leave EXIT\nmake_packages"
	for name, c := range map[string]struct{ unit, units string }{
		"none before":                     {"", "docker.service docker.socket containerd.service"},
		"the containerd of Kubernetes":    {"usr/lib/systemd/system/containerd.service", "docker.service docker.socket"},
		"a containerd without a package":  {"usr/local/lib/systemd/system/containerd.service", "docker.service docker.socket"},
		"a socket of the administrator's": {"etc/systemd/system/docker.socket", "docker.service containerd.service"},
	} {
		m := newMachine(t, programs)
		if c.unit != "" {
			m.write(c.unit, "")
		}
		if got, want := m.must(withoutDockerd+"need_packages"), "apt-get install --no-install-recommends --no-remove docker.io\nsystemctl disable "+c.units; got != want {
			t.Errorf("%s: needs %q, not %q", name, got, want)
		}
		want := "systemctl mask --runtime " + c.units + "\napt-get -o DPkg::Lock::Timeout=300 update\napt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends --no-remove docker.io\n" +
			"systemctl unmask --runtime " + c.units + "\nsystemctl disable --now " + strings.ReplaceAll(c.units, " ", "\nsystemctl disable --now ") + "\n"
		for _, failed := range []string{"0", "100"} {
			m.write("calls", "")
			if got := m.run("export failed=" + failed + "\n" + install); (got.code == 0) != (failed == "0") {
				t.Errorf("%s: apt-get exits with %s, and the setup with %d: %s", name, failed, got.code, got.err)
			}
			if calls := m.read("calls"); calls != want {
				t.Errorf("%s: apt-get exits with %s, and the calls are\n%s\nnot\n%s", name, failed, calls, want)
			}
			m.write("tmp/.keep", "")
		}
	}
}

// A setup that is killed leaves the units of the packages masked, or, after the next boot, running.
func TestUnitsThatAKilledSetupHeldAreDisabledByTheNextOne(t *testing.T) {
	m := newMachine(t, map[string]string{"run/systemd/system/.keep": "", "var/lib/dpkg/updates/0001": ""})
	for _, name := range []string{"apt-get", "dpkg", "systemctl"} {
		m.write("bin/"+name, "#!/bin/sh\necho \""+name+" $*\" >>\"$calls\"\n")
	}
	const traced = "export calls=$root/calls\ntrap leave EXIT\n"
	m.run(traced + "command() { [[ ${*: -1} != dockerd ]] && builtin command \"$@\"; }\nmissing_packages() { echo docker.io; }\ninstall_packages() { kill -KILL $$; }\nmake_packages")
	m.write("bin/dockerd", "#!/bin/sh\n")
	m.write("usr/lib/systemd/system/containerd.service", "")
	m.write("calls", "")
	m.write("tmp/.keep", "")
	const installed = "missing_packages() { true; }\n"
	const units = "docker.service docker.socket containerd.service"
	if got, want := m.must(installed+"need_packages"), "systemctl disable "+units; got != want {
		t.Errorf("needs %q, not %q", got, want)
	}
	m.must(traced + installed + "make_packages")
	want := "systemctl mask --runtime " + units + "\ndpkg --configure -a\nsystemctl unmask --runtime " + units +
		"\nsystemctl disable --now " + strings.ReplaceAll(units, " ", "\nsystemctl disable --now ") + "\n"
	if calls := m.read("calls"); calls != want {
		t.Errorf("the calls are\n%s\nnot\n%s", calls, want)
	}
	if got := m.must(installed + "need_packages"); got != "" {
		t.Errorf("afterwards, it needs %q", got)
	}
	if records := m.read("var/lib/aibox/setup"); records != "" {
		t.Errorf("afterwards, the records are %q", records)
	}
}

// A full disk is a usual reason for a failed installation, and leaves no space for records, either.
func TestAllHeldUnitsAreDisabledIfTheRecordsCannotBeWritten(t *testing.T) {
	m := newMachine(t, map[string]string{"run/systemd/system/.keep": ""})
	m.write("bin/systemctl", "#!/bin/sh\necho \"$*\" >>\"$calls\"\n")
	got := m.run("export calls=$root/calls\ntrap leave EXIT\nhold_units docker.service docker.socket\ninstall_file() { cat >/dev/null; false; }\nexit 7")
	if got.code != 7 {
		t.Errorf("it exits with %d: %s", got.code, got.err)
	}
	want := "mask --runtime docker.service docker.socket\nunmask --runtime docker.service docker.socket\ndisable --now docker.service\ndisable --now docker.socket\n"
	if calls := m.read("calls"); calls != want {
		t.Errorf("the calls are\n%s\nnot\n%s", calls, want)
	}
	if _, err := os.Stat(filepath.Join(m.root, "tmp")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder for temporary files: %v", err)
	}
}

func TestAnExistingDockerdKeepsItsUnits(t *testing.T) {
	// The user's own records say nothing about the machine, and are the user's to write.
	m := newMachine(t, map[string]string{"run/systemd/system/.keep": "", "bin/dockerd": "#!/bin/sh\n", ownFile: "held containerd.service\n"})
	if got := m.must("missing_packages() { echo uidmap; }\nneed_packages"); got != "apt-get install --no-install-recommends --no-remove uidmap" {
		t.Errorf("needs %q", got)
	}
}

func TestAppArmorGetsAProfileForRootlesskitAndKeepsItsRestriction(t *testing.T) {
	m := newMachine(t, map[string]string{restricted: "1\n", "etc/apparmor.d/other": "profile other /usr/bin/other {\n}\n"})
	kit := m.root + "/bin/rootlesskit"
	if got := m.must("need_apparmor"); got != "allow user namespaces for "+kit+" (/etc/apparmor.d/aibox-rootlesskit)" {
		t.Errorf("needs %q", got)
	}
	m.must("make_apparmor")
	want := `# Created by aibox's setup. setup-rootless-gvisor.sh --uninstall removes it.
abi <abi/4.0>,
include <tunables/global>

profile aibox-rootlesskit "` + kit + `" flags=(unconfined) {
  userns,

  include if exists <local/aibox-rootlesskit>
}
`
	if got := m.read("etc/apparmor.d/aibox-rootlesskit"); got != want {
		t.Errorf("profile is %q", got)
	}
	if got := m.must("need_apparmor"); got != "" {
		t.Errorf("then needs %q", got)
	}
	m.must("undo_apparmor")
	if m.read("etc/apparmor.d/aibox-rootlesskit") != "" || m.read("etc/apparmor.d/other") == "" {
		t.Error("undo removed the wrong file")
	}
	file := m.root + "/etc/apparmor.d/aibox-rootlesskit"
	if calls := m.read("calls"); calls != "apparmor_parser -r "+m.root+"/tmp/aibox-rootlesskit\napparmor_parser -R "+file+"\n" {
		t.Errorf("calls were %q", calls)
	}
	if m.read(restricted) != "1\n" {
		t.Error("the restriction was changed")
	}
}

// A profile in the file but not in the kernel would look like one that is in force.
func TestAProfileThatAppArmorDoesNotLoadIsNotInstalled(t *testing.T) {
	m := newMachine(t, map[string]string{restricted: "1\n"})
	m.write("bin/apparmor_parser", "#!/bin/sh\n[ ! -e "+m.root+"/etc/apparmor.d/aibox-rootlesskit ] || echo installed before\nexit 1\n")
	got := m.run("make_apparmor")
	if got.code != 3 || strings.Contains(got.err, "installed before") || !strings.Contains(got.err, "AppArmor rejected") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	if m.must("need_apparmor") == "" {
		t.Error("the next run takes the profile for loaded")
	}
}

func TestNoProfileIsCreatedUnlessItIsNeeded(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no AppArmor":         {},
		"no restriction":      {restricted: "0\n"},
		"the package has one": {restricted: "1\n", "etc/apparmor.d/rootlesskit": "abi <abi/4.0>,\nprofile rootlesskit KIT flags=(unconfined) {\n"},
		"one without a name":  {restricted: "1\n", "etc/apparmor.d/usr.bin.rootlesskit": "\"KIT\" flags=(unconfined) {\n"},
	} {
		m := newMachine(t, nil)
		for path, text := range files {
			m.write(path, strings.ReplaceAll(text, "KIT", m.root+"/bin/rootlesskit"))
		}
		if got := m.must("need_apparmor"); got != "" {
			t.Errorf("%s: needs %q", name, got)
		}
	}
}

func TestKernelSettingsThatForbidNamespacesAreLeftToTheUser(t *testing.T) {
	for path, want := range map[string]string{
		"proc/sys/kernel/unprivileged_userns_clone": "by hand: sysctl -w kernel.unprivileged_userns_clone=1",
		"proc/sys/user/max_user_namespaces":         "by hand: sysctl -w user.max_user_namespaces=28633",
	} {
		m := newMachine(t, map[string]string{"proc/sys/user/max_user_namespaces": "100\n", path: "0\n"})
		if got := m.must("need_user_namespaces"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: needs %q", path, got)
		}
		if got := m.run("make_user_namespaces"); got.code != 3 || m.read("calls") != "" {
			t.Errorf("%s: exit code %d, calls %q", path, got.code, m.read("calls"))
		}
	}
}

func TestSubordinateIdsStartAfterThoseInUse(t *testing.T) {
	m := newMachine(t, map[string]string{"etc/subuid": "bob:100000:65536\n", "etc/subgid": "bob:100000:65536\ncid:200000:65536\nann:300000:10\n"})
	want := "usermod --add-subuids 300010-365545 ann\nusermod --add-subgids 300010-365545 ann"
	if got := m.must("need_subordinate_ids"); got != want {
		t.Errorf("needs %q", got)
	}
	m.must("make_subordinate_ids")
	if got := m.read("calls"); got != want+"\n" {
		t.Errorf("calls were %q", got)
	}
	m.write("etc/subuid", "bob:100000:65536\nann:300010:65536\n")
	m.write("etc/subgid", "ann:300010:30000\nann:400000:40000\n") // changed by hand since
	if got := m.must("need_subordinate_ids"); got != "" {
		t.Errorf("then needs %q", got)
	}
	if got := m.must("left_subordinate_ids"); got != "" {
		t.Errorf("without --purge it would remove %q", got)
	}
	if got := m.must("purge=yes; left_subordinate_ids"); got != "usermod --del-subuids 300010-365545 ann" {
		t.Errorf("would remove %q", got)
	}
	m.write("bin/usermod", "#!/bin/sh\necho user ann is currently used by process 1 >&2; exit 8\n")
	if got := m.run("purge=yes; undo_subordinate_ids"); got.code != 0 || !strings.Contains(got.err, "failed, because ann is logged in; run this later as root: usermod --del-subuids") {
		t.Errorf("for a user who is logged in: exit code %d, %q", got.code, got.err)
	}
}

// Ranges that are computed from the uids of a directory service are large. Its names can have a backslash.
func TestSubordinateIdsCanBeLargeAndNamesCanHaveABackslash(t *testing.T) {
	const corp = "user='CORP\\ann'\n"
	m := newMachine(t, map[string]string{"etc/subuid": "bob:2147483648:65536\n", "etc/subgid": "bob:2147483648:65536\nCORP\\ann:3000000000:65536\n"})
	if got, want := m.must(corp+"need_subordinate_ids"), `usermod --add-subuids 3000065536-3000131071 CORP\ann`; got != want {
		t.Errorf("needs %q, not %q", got, want)
	}
	if got := m.must(corp + "make_subordinate_ids; purge=yes; echo 'CORP\\ann:3000065536:65536' >>$root/etc/subuid; left_subordinate_ids"); !strings.HasSuffix(got, `usermod --del-subuids 3000065536-3000131071 CORP\ann`) {
		t.Errorf("left is %q", got)
	}
	m.write("etc/subgid", "bob:4294900000:60000\n")
	if got := m.must("need_subordinate_ids"); !strings.HasPrefix(got, "by hand: give ann 65536 ids ") || strings.Contains(got, "\n") {
		t.Errorf("with none left, needs %q", got)
	}
	if got := m.run("make_subordinate_ids"); got.code != 3 || !strings.Contains(got.err, "no subordinate ids for ann") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
}

func TestMissingControllersAreDelegatedAndTheDelegationIsRemoved(t *testing.T) {
	m := newMachine(t, map[string]string{"run/systemd/system/.keep": "", "sys/fs/cgroup/cgroup.controllers": "cpu\n"})
	if got := m.must("need_delegation"); got != "delegate cpu cpuset io memory pids to systemd user managers (/etc/systemd/system/user@.service.d/aibox.conf)" {
		t.Errorf("needs %q", got)
	}
	m.write("sys/fs/cgroup/user.slice/user-4242.slice/user@4242.service/cgroup.controllers", "memory pids\n")
	if got := m.run("make_delegation"); got.code != 0 || !strings.Contains(got.err, "takes effect when ann logs in again") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	if got := m.read("etc/systemd/system/user@.service.d/aibox.conf"); got != "[Service]\nDelegate=cpu cpuset io memory pids\n" {
		t.Errorf("wrote %q", got)
	}
	if got := m.must("others='bob'; left_delegation"); got != "" {
		t.Errorf("would remove for others: %q", got)
	}
	m.must("undo_delegation")
	if got := m.must("left_delegation"); got != "" {
		t.Errorf("left is %q", got)
	}
	m.write("bin/systemctl", "#!/bin/sh\necho cpu cpuset io memory pids\n")
	if got := m.must("need_delegation"); got != "" {
		t.Errorf("with everything delegated it needs %q", got)
	}
}

func TestTheBridgeFilterIsLoadedAtEveryBoot(t *testing.T) {
	const bridge, systemd = "proc/sys/net/bridge/bridge-nf-call-iptables", "run/systemd/system/.keep"
	for name, test := range map[string]struct {
		files map[string]string
		needs bool
	}{
		"nothing is loaded":           {map[string]string{}, true},
		"not now":                     {map[string]string{systemd: "", "etc/modules-load.d/aibox.conf": "br_netfilter\n"}, true},
		"no systemd":                  {map[string]string{bridge: "1\n"}, false},
		"loaded only until a reboot":  {map[string]string{bridge: "1\n", systemd: "", "etc/modules-load.d/modules.conf": "# br_netfilter\nbr_netfilter_x\n"}, true},
		"the setup's file":            {map[string]string{bridge: "1\n", systemd: "", "etc/modules-load.d/aibox.conf": "br_netfilter\n"}, false},
		"a file of the administrator": {map[string]string{bridge: "1\n", systemd: "", "etc/modules-load.d/k8s.conf": "overlay\n br_netfilter\n"}, false},
		"a file of a package":         {map[string]string{bridge: "1\n", systemd: "", "usr/lib/modules-load.d/x.conf": "br_netfilter\n"}, false},
	} {
		if got := newMachine(t, test.files).must("need_bridge_filter"); (got != "") != test.needs {
			t.Errorf("%s: needs %q", name, got)
		}
	}
	// In a container, the module can only be loaded on the host.
	m := newMachine(t, map[string]string{bridge: "1\n", systemd: "", "bin/modprobe": "#!/bin/sh\nexit 1\n"})
	m.must("make_bridge_filter")
	if got := m.must("need_bridge_filter"); got != "" {
		t.Errorf("then needs %q", got)
	}
}

func TestNamesWithABackslashAreFoundAgain(t *testing.T) {
	const corp = "user='CORP\\ann'\n"
	m := newMachine(t, map[string]string{
		"run/systemd/system/.keep": "", `var/lib/systemd/linger/CORP\\ann`: "", stateFile: "linger CORP\\ann\n",
		"etc/udev/rules.d/80-aibox.rules": "--modify user:CORP\\ann:rw /dev/fuse\n--modify user:bob:rw /dev/fuse\n",
		"bin/getfacl":                     "#!/bin/bash\necho 'user:CORP\\ann:rw-'\n",
	})
	if got := m.must(corp + "need_linger; left_linger"); got != `loginctl disable-linger CORP\ann` {
		t.Errorf("of lingering, it needs and would remove %q", got)
	}
	if got := m.must(corp + "left_devices; undo_udev"); !strings.Contains(got, `remove CORP\ann from /etc/udev`) {
		t.Errorf("of devices, it would remove %q", got)
	}
	if got := m.read("etc/udev/rules.d/80-aibox.rules"); got != "--modify user:bob:rw /dev/fuse\n" {
		t.Errorf("the rules are %q", got)
	}
	if got := m.must(corp + "is_device() { :; }; has_access /dev/fuse && echo yes"); got != "yes" {
		t.Error("the access is not found")
	}
	if got := m.must(corp + `record runtime "$(base64 -w 0 <<<'{"path":"/theirs"}')" "$user"; replaced_runtime`); got != `{"path":"/theirs"}` {
		t.Errorf("the replaced runtime is %s", got)
	}
}

func TestNothingIsDelegatedWithoutSystemdAndCgroupV2(t *testing.T) {
	for _, files := range []map[string]string{{"sys/fs/cgroup/cgroup.controllers": "cpu\n"}, {"run/systemd/system/.keep": ""}} {
		if got := newMachine(t, files).must("need_delegation"); got != "" {
			t.Errorf("%v: needs %q", files, got)
		}
	}
}

func TestLingeringIsDisabledOnlyIfTheScriptEnabledIt(t *testing.T) {
	lingers := map[string]string{"run/systemd/system/.keep": "", "var/lib/systemd/linger/ann": ""}
	if got := newMachine(t, lingers).must("left_linger"); got != "" {
		t.Errorf("would undo another's setting: %q", got)
	}
	m := newMachine(t, map[string]string{"run/systemd/system/.keep": ""})
	m.must("wait_until() { :; }; load_user() { :; }; make_linger")
	m.write("var/lib/systemd/linger/ann", "")
	if got := m.must("left_linger"); got != "loginctl disable-linger ann" {
		t.Errorf("would remove %q", got)
	}
	if got := m.read("calls"); got != "loginctl enable-linger ann\n" {
		t.Errorf("calls were %q", got)
	}
}

// bareMachine has no item of the setup.
func bareMachine(t *testing.T) machine {
	return newMachine(t, map[string]string{"etc/os-release": "ID=debian\nVERSION_ID=13\n", restricted: "1\n", "run/systemd/system/.keep": ""})
}

func TestCheckPrintsOneLinePerItemAndChangesNothing(t *testing.T) {
	m := bareMachine(t)
	before := m.snapshot()
	got := m.run("as_root() { echo \"root is asked for: $*\"; exit 9; }\nneed_packages() { printf 'one\\ntwo\\n'; }\ncheck")
	if got.code != 3 {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	line := regexp.MustCompile(`^(ok|todo|manual) +[a-z ]+`)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	for _, l := range lines[:len(lines)-1] {
		if !line.MatchString(l) {
			t.Errorf("a line is %q", l)
		}
	}
	for _, want := range []string{"todo   packages         one; two", "manual user namespaces ", "todo   linger           loginctl enable-linger ann", "todo   apparmor "} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no line %q in\n%s", want, got.out)
		}
	}
	m.mustBeAsBefore(before)
}

func TestCheckExitsWithZeroIfNothingIsMissing(t *testing.T) {
	m := newMachine(t, nil)
	got := m.run(`for item in "${ITEMS[@]}"; do eval "need_$item() { :; }"; done; check`)
	if got.code != 0 || !strings.HasSuffix(got.out, "nothing to do for ann\n") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
}

func TestEveryItemHasItsTwoFunctions(t *testing.T) {
	newMachine(t, nil).must(`for item in "${ITEMS[@]}"; do declare -F "need_$item" "make_$item"; done
		for item in "${UNINSTALL_ITEMS[@]}"; do declare -F "left_$item" "undo_$item"; done`)
}

func TestAHomeCanBeASymlink(t *testing.T) {
	// The link itself belongs to root, and the folder to ann.
	m := newMachine(t, map[string]string{
		"bin/id": "#!/bin/sh\necho 4242\n", "bin/stat": "#!/bin/sh\ncase \"$*\" in *-L*) echo 4242 ;; *) echo 0 ;; esac\n",
	})
	m.write("bin/getent", "#!/bin/sh\necho ann:x:4242:4242::"+m.root+"/home/ann:/bin/sh\n")
	if got := m.run(`load_user; echo "$uid $home"`); got.code != 0 || got.out != "4242 "+m.root+"/home/ann\n" {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
}
