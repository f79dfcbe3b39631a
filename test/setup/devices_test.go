package setup

import (
	"strings"
	"testing"
)

// devices replaces the two devices with files, and the user with one that exists on this
// machine, so that access control lists are real.
const devices = `user=nobody
is_device() { [[ -f $root$1 ]]; }
can_use() { getfacl -cp "$root$1" | grep -qx "user:nobody:rw-"; }
mknod() { touch "${@: -4:1}" && chmod "$2" "${@: -4:1}"; }
`

// rights prints the modes and access control lists of both devices.
const rights = `; getfacl -cp $root/dev/net/tun $root/dev/fuse; stat -c %a $root/dev/net/tun $root/dev/fuse`

func TestClosedDevicesAreOpenedForTheUserAloneAndClosedAgain(t *testing.T) {
	for name, mode := range map[string]string{"for root only": "0600", "for a group": "0660", "readable": "0644"} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, map[string]string{"dev/net/tun": "", "dev/fuse": ""})
			chmod := "chmod " + mode + " $root/dev/net/tun $root/dev/fuse\n"
			before := m.must(devices + chmod + "true" + rights)
			m.must(devices + "make_devices")
			after := m.must(devices + "need_devices" + rights)
			if strings.Count(after, "user:nobody:rw-\n") != 2 || strings.Count(after, "other::---")+strings.Count(after, "other::r--") != 2 || strings.Contains(after, "setfacl") {
				t.Errorf("afterwards:\n%s", after)
			}
			m.must(devices + "undo_devices")
			if got := m.must(devices + "left_devices" + rights); got != before {
				t.Errorf("rolled back:\n%s\nbefore:\n%s", got, before)
			}
		})
	}
}

func TestAnotherUsersAccessStays(t *testing.T) {
	m := newMachine(t, map[string]string{"dev/net/tun": "", "dev/fuse": ""})
	m.must(devices + "chmod 0600 $root/dev/net/tun $root/dev/fuse; setfacl -m user:daemon:rw $root/dev/fuse; make_devices; undo_devices")
	if got := m.must("true" + rights); strings.Count(got, "user:daemon:rw-") != 1 || strings.Contains(got, "nobody") {
		t.Errorf("rights are\n%s", got)
	}
}

func TestOpenDevicesAreNotChanged(t *testing.T) {
	m := newMachine(t, map[string]string{"dev/net/tun": "", "dev/fuse": ""})
	if got := m.must(devices + "chmod 0666 $root/dev/net/tun $root/dev/fuse; need_devices; make_devices; left_devices"); got != "" {
		t.Errorf("to do: %q", got)
	}
}

func TestACreatedDeviceIsRemovedAgain(t *testing.T) {
	m := newMachine(t, nil)
	got := m.must(devices + "need_devices")
	if strings.Contains(got, "0666") || !strings.Contains(got, "mknod -m 0600 "+m.root+"/dev/net/tun c 10 200\nsetfacl --modify user:nobody:rw "+m.root+"/dev/net/tun") {
		t.Errorf("needs %q", got)
	}
	m.must(devices + "make_devices")
	if got := m.must(devices + "need_devices; stat -c %a $root/dev/fuse; undo_devices; ls $root/dev"); got != "660\nnet" {
		t.Errorf("created, and rolled back: %q", got)
	}
}

func TestAUdevRuleGrantsAccessAtEveryBoot(t *testing.T) {
	m := newMachine(t, map[string]string{
		"dev/net/tun": "", "dev/fuse": "", "run/systemd/system/.keep": "", "etc/udev/rules.d/80-aibox.rules": `KERNEL=="fuse", RUN+="setfacl --modify user:bob:rw /dev/fuse"` + "\n",
	})
	closed := devices + "chmod 0600 $root/dev/net/tun $root/dev/fuse; "
	if got := m.must(closed + "need_devices"); strings.Count(got, "at every boot (/etc/udev/rules.d/80-aibox.rules)") != 2 {
		t.Errorf("needs %q", got)
	}
	m.must(closed + "make_devices")
	rules := m.read("etc/udev/rules.d/80-aibox.rules")
	if strings.Count(rules, "\n") != 3 || !strings.Contains(rules, `KERNEL=="tun", SUBSYSTEM=="misc", RUN+="`) || !strings.Contains(rules, `/setfacl --modify user:nobody:rw /dev/net/tun"`) {
		t.Errorf("rules are %q", rules)
	}
	m.must(devices + "undo_devices")
	if rules := m.read("etc/udev/rules.d/80-aibox.rules"); strings.Count(rules, "\n") != 1 || !strings.Contains(rules, "user:bob:rw") {
		t.Errorf("rolled back, rules are %q", rules)
	}
}
