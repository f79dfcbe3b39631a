package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/runtime"
)

// site finds the namespaces of the daemon's bridges. The process that listens on the socket
// is the daemon itself, inside RootlessKit's namespaces. If it is another process (a proxy,
// socket activation), the files of RootlessKit and dockerd beside the socket name the
// daemon.
func (b *Backend) site(ctx context.Context, rootless bool) (runtime.Site, error) {
	if !rootless {
		return runtime.Site{}, nil
	}
	dir := filepath.Dir(b.socket)
	kit := filepath.Join(dir, "dockerd-rootless")
	candidates := []func() (int, error){
		func() (int, error) { return listenerPID(ctx, b.socket) },
		func() (int, error) { return pidFile(filepath.Join(kit, "child_pid")) },
		func() (int, error) { return pidFile(filepath.Join(dir, "docker.pid")) },
	}
	var errs []error
	for _, find := range candidates {
		pid, err := find()
		if err == nil {
			err = foreignNamespace(pid)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		site := runtime.Site{PID: pid, Rootless: true}
		if site.NetNS, err = detachedNetNS(pid, filepath.Join(kit, "netns")); err != nil {
			errs = append(errs, err)
			continue
		}
		return site, nil
	}
	return runtime.Site{}, fault.New(fault.Environment, "the namespaces of the rootless Docker daemon at %q cannot be found: %w",
		b.socket, errors.Join(errs...)).
		Hint("use the socket of your own daemon: unset DOCKER_HOST").
		Hint("`aibox doctor` checks Docker and runsc")
}

// listenerPID returns the process that listens on a Unix socket (SO_PEERCRED).
func listenerPID(ctx context.Context, socket string) (int, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return int(cred.Pid), nil
}

func pidFile(path string) (int, error) {
	owner, err := ownerOf(path)
	if err != nil {
		return 0, err
	}
	if owner != os.Getuid() {
		return 0, fmt.Errorf("%q belongs to another user", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

// foreignNamespace checks that pid belongs to this user and is in another user namespace, as
// the daemon of a rootless Docker is. nsenter needs that.
func foreignNamespace(pid int) error {
	if pid <= 1 || !ownedBy(pid, os.Getuid()) {
		return fmt.Errorf("process %d is not this user's daemon", pid)
	}
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid))
	if err != nil {
		return err
	}
	ours, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return err
	}
	if theirs == ours {
		return fmt.Errorf("process %d is in no user namespace of its own", pid)
	}
	return nil
}

// detachedNetNS is empty when the daemon runs in the namespace of its bridges. With
// RootlessKit's --detach-netns it stays in ours, and the bridges are in the namespace
// mounted at file, which may be visible from the daemon's root only.
func detachedNetNS(pid int, file string) (string, error) {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return "", err
	}
	ours, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return "", err
	}
	if theirs != ours {
		return "", nil
	}
	for _, path := range []string{file, fmt.Sprintf("/proc/%d/root%s", pid, file)} {
		var fs unix.Statfs_t
		if unix.Statfs(path, &fs) == nil && fs.Type == unix.NSFS_MAGIC {
			return path, nil
		}
	}
	return "", fmt.Errorf("the daemon's network namespace is not at %q", file)
}

func uidOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

func isEOF(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
