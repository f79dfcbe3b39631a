package cli

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"aibox/internal/health"
)

const delegated = "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers"

// goodFiles are those of a machine on which nothing is to mend.
func goodFiles() map[string]string {
	return map[string]string{
		"proc/sys/net/bridge/bridge-nf-call-iptables": "1\n",
		"proc/sys/user/max_user_namespaces":           "1000\n",
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

func TestAMachineWithAllItNeedsHasOnlyGoodFindings(t *testing.T) {
	for _, f := range machineOf(goodFiles()).findings(false) {
		if f.State != health.OK || f.Mend != "" || f.Detail == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestEachThingAMachineLacksIsFoundWithWhatMendsIt(t *testing.T) {
	const without = "\x00"
	for name, test := range map[string]struct {
		change            map[string]string
		finding           string
		state             health.State
		detail, mend      string
		alsoWhereItAnswer health.State // the state where a daemon answers
	}{
		"no bridge filter": {
			map[string]string{"proc/sys/net/bridge/bridge-nf-call-iptables": without},
			"bridge filter", health.Missing, "br_netfilter", health.SetUp, health.Missing,
		},
		"namespaces switched off, Debian's way": {
			map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0\n"},
			"user namespaces", health.Missing, "kernel.unprivileged_userns_clone is 0", "sudo sysctl -w kernel.unprivileged_userns_clone=1", health.Warning,
		},
		"no namespaces allowed": {
			map[string]string{"proc/sys/user/max_user_namespaces": "0\n"},
			"user namespaces", health.Missing, "user.max_user_namespaces is 0", "sudo sysctl -w user.max_user_namespaces=28633", health.Warning,
		},
		"a kernel without namespaces": {
			map[string]string{"proc/sys/user/max_user_namespaces": without},
			"user namespaces", health.Missing, "built without", "sudo apt-get install linux-image-amd64, then reboot", health.Warning,
		},
		"AppArmor's restriction": {
			map[string]string{
				"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n",
				"etc/apparmor.d/rootlesskit-docker-proxy":               "profile x /usr/bin/rootlesskit-docker-proxy flags=(unconfined) {\n",
			},
			"AppArmor", health.Missing, "no profile", health.SetUp, health.Warning,
		},
		"no subordinate ids": {
			map[string]string{"etc/subuid": without, "etc/subgid": without},
			"subordinate ids", health.Missing, "/etc/subuid and /etc/subgid", health.SetUp, health.Warning,
		},
		"too few subordinate ids": {
			map[string]string{"etc/subgid": "ann:165536:65535\nanna:1:65536\nann:1:many\n"},
			"subordinate ids", health.Missing, "in /etc/subgid", health.SetUp, health.Warning,
		},
		"controllers that are not delegated": {
			map[string]string{delegated: "memory pids\n"},
			"cgroup delegation", health.Warning, "was not given cpu; the memory and CPU of sandboxes are not limited", health.SetUp, health.Warning,
		},
		"controllers that are delegated from the next start on": {
			map[string]string{delegated: "memory pids\n", delegationFile: "[Service]\nDelegate=cpu\n"},
			"cgroup delegation", health.Warning, "is given cpu when it starts again", "sudo reboot", health.Warning,
		},
		"a machine that has no controllers to give": {
			map[string]string{delegated: "\n", "sys/fs/cgroup/cgroup.controllers": "pids\n"},
			"cgroup delegation", health.Warning, "the cgroups of this machine lack cpu, memory", "", health.Warning,
		},
		"no systemd of the user's": {
			map[string]string{delegated: without},
			"cgroup delegation", health.Warning, "does not run", health.SetUp, health.Warning,
		},
		"old cgroups": {
			map[string]string{"sys/fs/cgroup/cgroup.controllers": without},
			"cgroup delegation", health.Warning, "old cgroups", "", health.Warning,
		},
		"no systemd": {
			map[string]string{"run/systemd/system/units": without, "var/lib/systemd/linger/ann": without},
			"cgroup delegation", health.Warning, "no systemd", "", health.Warning,
		},
		"no lingering": {
			map[string]string{"var/lib/systemd/linger/ann": without},
			"lingering", health.Warning, "logs out", health.SetUp, health.Warning,
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
				case f.Name != test.finding && f.State != health.OK:
					t.Errorf("%s: also %+v", name, f)
				case f.Name == test.finding && (f.State != want || f.Mend != test.mend || !strings.Contains(f.Detail, test.detail)):
					t.Errorf("%s, daemon answers %v: %+v", name, answers, f)
				}
			}
		}
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
		if f := machineOf(files).appArmor(); f.State != health.OK || !strings.Contains(f.Detail, "/etc/apparmor.d/some") {
			t.Errorf("%q: %+v", profile, f)
		}
	}
}

func TestTheSystemsDockerNeedsNothingOfTheUsers(t *testing.T) {
	m := machineOf(map[string]string{"proc/sys/net/bridge/x": ""})
	m.system = true
	if found := m.findings(false); len(found) != 1 || found[0].State != health.OK {
		t.Errorf("found %+v", found)
	}
}
