package doctor

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

const delegated = "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers"

// goodFiles are the files of a machine without problems.
func goodFiles() map[string]string {
	return map[string]string{
		"proc/sys/net/bridge/bridge-nf-call-iptables": "1\n",
		"proc/sys/user/max_user_namespaces":           "1000\n",
		"etc/modules-load.d/aibox.conf":               "br_netfilter\n",
		"etc/subuid":                                  "bob:100000:65536\nann:165536:65536\n",
		"etc/subgid":                                  "1000:165536:65536\n",
		"run/systemd/system/units":                    "",
		"sys/fs/cgroup/cgroup.controllers":            "cpu io memory pids\n",
		delegated:                                     "cpu io memory pids\n",
		"var/lib/systemd/linger/ann":                  "",
	}
}

func machineOf(files map[string]string) machine {
	root := fstest.MapFS{}
	for path, text := range files {
		root[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return machine{files: root, user: "ann", uid: "1000"}
}

func TestAMachineThatMeetsAllRequirementsHasOnlyGoodFindings(t *testing.T) {
	for _, f := range machineOf(goodFiles()).findings(false) {
		if f.State != OK || f.Fix != "" || f.Detail == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestEachMissingRequirementIsReportedWithItsFix(t *testing.T) {
	const without = "\x00"
	for name, test := range map[string]struct {
		change            map[string]string
		finding           string
		state             State
		detail, mend      string
		alsoWhereItAnswer State // the state if a daemon answers
	}{
		"no bridge filter": {
			map[string]string{"proc/sys/net/bridge/bridge-nf-call-iptables": without},
			"bridge filter", Missing, "br_netfilter", SetupCommand, Missing,
		},
		"a bridge filter until the next boot": {
			map[string]string{"etc/modules-load.d/aibox.conf": without, "etc/modules-load.d/modules.conf": "# br_netfilter\nbr_netfilter_x\n"},
			"bridge filter", Warning, "not loaded at the next boot", SetupCommand, Warning,
		},
		"namespaces switched off, Debian's way": {
			map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0\n"},
			"user namespaces", Missing, "kernel.unprivileged_userns_clone is 0", "sudo sysctl -w kernel.unprivileged_userns_clone=1", Warning,
		},
		"no namespaces allowed": {
			map[string]string{"proc/sys/user/max_user_namespaces": "0\n"},
			"user namespaces", Missing, "user.max_user_namespaces is 0", "sudo sysctl -w user.max_user_namespaces=28633", Warning,
		},
		"a kernel without namespaces": {
			map[string]string{"proc/sys/user/max_user_namespaces": without},
			"user namespaces", Missing, "built without", "sudo apt-get install linux-image-amd64, then reboot", Warning,
		},
		"AppArmor's restriction": {
			map[string]string{
				"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n",
				"etc/apparmor.d/rootlesskit-docker-proxy":               "profile x /usr/bin/rootlesskit-docker-proxy flags=(unconfined) {\n",
			},
			"AppArmor", Missing, "no profile", SetupCommand, Warning,
		},
		"no subordinate ids": {
			map[string]string{"etc/subuid": without, "etc/subgid": without},
			"subordinate ids", Missing, "/etc/subuid and /etc/subgid", SetupCommand, Warning,
		},
		"too few subordinate ids": {
			map[string]string{"etc/subgid": "ann:165536:65535\nanna:1:65536\nann:1:many\n"},
			"subordinate ids", Missing, "in /etc/subgid", SetupCommand, Warning,
		},
		"controllers that are not delegated": {
			map[string]string{delegated: "memory pids\n"},
			"cgroup delegation", Warning, "was not given cpu; aibox itself limits sandboxes, and only to whole processors", SetupCommand, Warning,
		},
		"controllers that are delegated from the next start on": {
			map[string]string{delegated: "memory pids\n", delegationFile: "[Service]\nDelegate=cpu\n"},
			"cgroup delegation", Warning, "is given cpu when it starts again", "sudo reboot", Warning,
		},
		"a machine that has no controllers to give": {
			map[string]string{delegated: "\n", "sys/fs/cgroup/cgroup.controllers": "pids\n"},
			"cgroup delegation", Warning, "the cgroups of this machine lack cpu, memory", "", Warning,
		},
		"no systemd of the user's": {
			map[string]string{delegated: without},
			"cgroup delegation", Warning, "does not run", SetupCommand, Warning,
		},
		"cgroup v1": {
			map[string]string{"sys/fs/cgroup/cgroup.controllers": without},
			"cgroup delegation", Warning, "cgroup v1", "", Warning,
		},
		"systemd is not running": {
			map[string]string{"run/systemd/system/units": without, "var/lib/systemd/linger/ann": without},
			"cgroup delegation", Warning, "systemd is not running", "", Warning,
		},
		"no lingering": {
			map[string]string{"var/lib/systemd/linger/ann": without},
			"lingering", Warning, "logs out", SetupCommand, Warning,
		},
	} {
		files := goodFiles()
		maps.Copy(files, test.change)
		maps.DeleteFunc(files, func(_, text string) bool { return text == without })
		for _, answers := range []bool{false, true} {
			want := test.state
			if answers {
				want = test.alsoWhereItAnswer
			}
			for _, f := range machineOf(files).findings(answers) {
				switch {
				case f.Name != test.finding && f.State != OK:
					t.Errorf("%s: also %+v", name, f)
				case f.Name == test.finding && (f.State != want || f.Fix != test.mend || !strings.Contains(f.Detail, test.detail)):
					t.Errorf("%s, daemon answers %v: %+v", name, answers, f)
				}
			}
		}
	}
}

func TestSubordinateIDsCanBeInSeveralRanges(t *testing.T) {
	files := goodFiles()
	files["etc/subuid"] = "ann:100000:32768\nbob:150000:65536\n1000:300000:32768\n"
	if f := machineOf(files).subordinateIDs(); f.State != OK {
		t.Errorf("%+v", f)
	}
}

func TestAProfileForRootlesskitLiftsAppArmorsRestriction(t *testing.T) {
	for _, profile := range []string{
		"abi <abi/4.0>,\n\nprofile rootlesskit /usr/bin/rootlesskit flags=(unconfined) {\n  userns,\n}\n",
		"profile aibox-rootlesskit \"/usr/bin/rootlesskit\" flags=(unconfined) {\n",
		"\"/home/ann/bin/rootlesskit\" flags=(unconfined) {\n",
	} {
		files := goodFiles()
		files["proc/sys/kernel/apparmor_restrict_unprivileged_userns"] = "1\n"
		files["etc/apparmor.d/some"] = profile
		if f := machineOf(files).appArmor(); f.State != OK || !strings.Contains(f.Detail, "/etc/apparmor.d/some") {
			t.Errorf("%q: %+v", profile, f)
		}
	}
}

func TestAnyFileThatLoadsTheBridgeFilterCounts(t *testing.T) {
	files := goodFiles()
	delete(files, "etc/modules-load.d/aibox.conf")
	files["usr/lib/modules-load.d/k8s.conf"] = "overlay\n br_netfilter\n"
	if f := machineOf(files).bridgeFilter(); f.State != OK {
		t.Errorf("%+v", f)
	}
}

func TestTheSystemsDockerNeedsNoConfigurationOfTheUser(t *testing.T) {
	m := machineOf(map[string]string{"proc/sys/net/bridge/x": "", "run/systemd/system/units": ""}) // dockerd loads the module itself
	m.system = true
	if found := m.findings(false); len(found) != 1 || found[0].State != OK {
		t.Errorf("found %+v", found)
	}
}
