package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/lazyregexp"
)

// machine is the source of the findings about the kernel, systemd and the user's account.
// It reads files and runs nothing.
type machine struct {
	files  fs.FS // the root of the file system
	user   string
	uid    string
	system bool // the system's Docker is used, so the user's account needs no configuration
}

func thisMachine(system bool) machine {
	m := machine{files: os.DirFS("/"), uid: strconv.Itoa(os.Getuid()), system: system}
	if u, err := user.Current(); err == nil {
		m.user = u.Username
	}
	return m
}

// findings returns one for each requirement of this machine. If the daemon answers, a
// missing requirement of its start is only a warning.
func (m machine) findings(answers bool) []Finding {
	found := []Finding{m.bridgeFilter()}
	if m.system {
		return found
	}
	needed := []Finding{m.userNamespaces(), m.appArmor(), m.subordinateIDs()}
	for _, f := range needed {
		if f.State == Missing && answers {
			f.State, f.Detail = Warning, f.Detail+"; the daemon that runs now could not start again"
		}
		found = append(found, f)
	}
	found = append(found, m.delegation())
	if m.exists("run/systemd/system") {
		found = append(found, m.linger())
	}
	return found
}

// bridgeFilter checks the kernel module without which Docker refuses networks that isolate
// their containers from each other. Rootless Docker cannot load it.
func (m machine) bridgeFilter() Finding {
	f := Finding{Name: "bridge filter", State: OK, Detail: "the kernel has br_netfilter"}
	switch {
	case !m.exists("proc/sys/net/bridge"):
		f.State, f.Detail, f.Fix = Missing, "the kernel module br_netfilter is not loaded", fixBySetup(m.system, "sudo modprobe br_netfilter")
	case !m.system && m.exists("run/systemd/system") && !m.loadsBridgeFilter(): // the system's dockerd loads it itself
		f.State, f.Detail, f.Fix = Warning, "the kernel module br_netfilter is not loaded at the next boot", SetupCommand
	}
	return f
}

// bridgeFilterLine matches the line of a file of systemd that loads the module at every boot.
var bridgeFilterLine = lazyregexp.New(`(?m)^[ \t]*br_netfilter[ \t]*$`)

// loadsBridgeFilter reports whether a file, of the setup or of others, loads the module at
// every boot.
func (m machine) loadsBridgeFilter() bool {
	for _, dir := range []string{"etc", "usr/lib"} {
		files, _ := fs.Glob(m.files, dir+"/modules-load.d/*.conf")
		if slices.ContainsFunc(files, func(file string) bool { return bridgeFilterLine.MatchString(m.read(file)) }) {
			return true
		}
	}
	return false
}

// userNamespaces checks for settings that forbid user namespaces to all users. The setup
// does not change these, since they may be intended.
func (m machine) userNamespaces() Finding {
	f := Finding{Name: "user namespaces", State: OK, Detail: "available to normal users"}
	switch {
	case !m.exists("proc/sys/user/max_user_namespaces"):
		f.State, f.Detail, f.Fix = Missing, "this kernel was built without user namespaces", "sudo apt-get install linux-image-amd64, then reboot"
	case m.read("proc/sys/user/max_user_namespaces") == "0":
		f.State, f.Detail, f.Fix = Missing, "user.max_user_namespaces is 0", "sudo sysctl -w user.max_user_namespaces=28633"
	case m.read("proc/sys/kernel/unprivileged_userns_clone") == "0":
		f.State, f.Detail, f.Fix = Missing, "kernel.unprivileged_userns_clone is 0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"
	}
	return f
}

// rootlesskitProfile matches an AppArmor profile for rootlesskit, wherever it is
// installed, in either syntax.
var rootlesskitProfile = lazyregexp.New(`(?m)^(profile .* )?"?/[^ "]*/rootlesskit"? .*\{`)

// appArmor checks Ubuntu's restriction since 24.04: only a program with a profile that
// allows it can create a usable user namespace.
func (m machine) appArmor() Finding {
	f := Finding{Name: "AppArmor", State: OK, Detail: "does not restrict user namespaces"}
	if m.read("proc/sys/kernel/apparmor_restrict_unprivileged_userns") != "1" {
		return f
	}
	profiles, _ := fs.Glob(m.files, "etc/apparmor.d/*")
	for _, profile := range profiles {
		if rootlesskitProfile.MatchString(m.read(profile)) {
			f.Detail = "restricts user namespaces, and rootlesskit has its profile (/" + profile + ")"
			return f
		}
	}
	f.State, f.Detail, f.Fix = Missing, "restricts user namespaces, and rootlesskit has no profile that allows them", SetupCommand
	return f
}

// subordinateIDs checks the ids on the host of a container's users other than root.
func (m machine) subordinateIDs() Finding {
	f := Finding{Name: "subordinate ids", State: OK}
	var lacking []string
	for _, file := range []string{"/etc/subuid", "/etc/subgid"} {
		if !m.hasIDs(m.read(file[1:])) {
			lacking = append(lacking, file)
		}
	}
	if len(lacking) > 0 {
		f.State, f.Fix = Missing, SetupCommand
		f.Detail = fmt.Sprintf("%s has no 65536 ids in %s", m.user, strings.Join(lacking, " and "))
		return f
	}
	f.Detail = m.user + " has 65536 or more in /etc/subuid and /etc/subgid"
	return f
}

// hasIDs reports whether the user's ranges have 65536 ids together. rootlesskit maps all of them,
// one after the other.
func (m machine) hasIDs(text string) bool {
	total := uint64(0)
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) != 3 || (fields[0] != m.user && fields[0] != m.uid) {
			continue
		}
		count, _ := strconv.ParseUint(fields[2], 10, 32)
		total += count
	}
	return total >= 65536
}

// limitControllers are the cgroup controllers that enforce a sandbox's limits.
var limitControllers = []string{"cpu", "memory", "pids"}

// delegation checks the limits of memory and processors. The kernel enforces them if the
// controllers were delegated to the user's systemd.
func (m machine) delegation() Finding {
	f := Finding{Name: "cgroup delegation", State: Warning}
	const unlimited = "; aibox itself limits sandboxes, and only to whole processors"
	manager := "sys/fs/cgroup/user.slice/user-" + m.uid + ".slice/user@" + m.uid + ".service"
	given := m.read(manager + "/cgroup.controllers")
	lacking := lackingOf(given)
	switch {
	case !m.exists("run/systemd/system"):
		f.Detail = "systemd is not running" + unlimited
	case !m.exists("sys/fs/cgroup/cgroup.controllers"):
		f.Detail = "the kernel uses cgroup v1" + unlimited
	case len(lackingOf(m.read("sys/fs/cgroup/cgroup.controllers"))) > 0:
		f.Detail = "the cgroups of this machine lack " + strings.Join(lackingOf(m.read("sys/fs/cgroup/cgroup.controllers")), ", ") + unlimited
	case !m.exists(manager):
		f.Detail, f.Fix = "the systemd of "+m.user+" does not run"+unlimited, SetupCommand
	case len(lacking) > 0 && m.exists(delegationFile):
		f.Detail, f.Fix = "the systemd of "+m.user+" is given "+strings.Join(lacking, ", ")+" when it starts again"+unlimited, "sudo reboot"
	case len(lacking) > 0:
		f.Detail, f.Fix = "the systemd of "+m.user+" was not given "+strings.Join(lacking, ", ")+unlimited, SetupCommand
	default:
		f.State, f.Detail = OK, given
	}
	return f
}

// delegationFile is the file in which the setup configures the delegation to users'
// systemd.
const delegationFile = "etc/systemd/system/user@.service.d/aibox.conf"

// lackingOf returns the controllers for limits that are not in the list.
func lackingOf(list string) []string {
	return slices.DeleteFunc(slices.Clone(limitControllers), func(name string) bool {
		return slices.Contains(strings.Fields(list), name)
	})
}

// linger checks that the daemon keeps running when its user logs out.
func (m machine) linger() Finding {
	f := Finding{Name: "lingering", State: OK, Detail: "the daemon of " + m.user + " runs without a login"}
	if !m.exists("var/lib/systemd/linger/" + m.user) {
		f.State, f.Detail, f.Fix = Warning, "sessions end when "+m.user+" logs out", SetupCommand
	}
	return f
}

func (m machine) exists(path string) bool {
	_, err := fs.Stat(m.files, path)
	return err == nil
}

// read returns a file's text without surrounding space, "" if it cannot be read.
func (m machine) read(path string) string {
	data, err := fs.ReadFile(m.files, path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
