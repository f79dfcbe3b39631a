package scope

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"aibox/internal/paths"
	"aibox/runtime/limit"
)

// root is where cgroups version 2 is mounted if the machine uses only that version.
const root = "/sys/fs/cgroup"

// Open returns the enforcer, or an error with the reason why this machine has none: no
// systemd of the user runs, or it may not use the kernel's controllers.
func Open() (*Enforcer, error) {
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
		return nil, fmt.Errorf("the kernel uses cgroup v1")
	}
	systemd, err := connect()
	if err != nil {
		return nil, err
	}
	defer systemd.Close()
	group, err := systemd.GetManagerProperty("ControlGroup")
	if err != nil {
		return nil, fmt.Errorf("asking your systemd for its cgroup: %w", err)
	}
	if unquoted, err := strconv.Unquote(group); err == nil {
		group = unquoted
	}
	lacking, err := missing(filepath.Join(root, filepath.Clean("/"+group)))
	if err != nil {
		return nil, err
	}
	if len(lacking) > 0 {
		return nil, fmt.Errorf("your systemd may not limit %s", strings.Join(lacking, ", "))
	}
	return &Enforcer{
		connect: func() (manager, error) { return connect() },
		cgroups: cgroups{root: root, proc: "/proc"},
	}, nil
}

// connect connects to the user's systemd. It never starts a bus, as D-Bus libraries do
// when they find none.
func connect() (*dbus.Conn, error) {
	socket := filepath.Join(paths.RuntimeDir(), "bus")
	var st unix.Stat_t
	if err := unix.Stat(socket, &st); err != nil || int(st.Uid) != os.Getuid() || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("no systemd of yours runs (there is no bus at %s)", socket)
	}
	return dbus.NewConnection(func() (*godbus.Conn, error) {
		conn, err := godbus.Dial("unix:path=" + socket)
		if err != nil {
			return nil, err
		}
		if err = conn.Auth([]godbus.Auth{godbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err == nil {
			err = conn.Hello()
		}
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		return conn, nil
	})
}

var _ limit.Enforcer = (*Enforcer)(nil)
