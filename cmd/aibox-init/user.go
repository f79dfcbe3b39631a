package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxUserFile bounds how much of /etc/passwd and /etc/group is read, in bytes.
const maxUserFile = 1 << 20

// maxGroups bounds the supplementary groups of a user.
const maxGroups = 64

// identity is the user that a program runs as.
type identity struct {
	uid, gid uint32
	groups   []uint32
	home     string // "" if it is not known
}

// String returns the identity for launch: UID:GID:GROUP,…; "" for nil.
func (id *identity) String() string {
	if id == nil {
		return ""
	}
	groups := make([]string, len(id.groups))
	for i, g := range id.groups {
		groups[i] = strconv.FormatUint(uint64(g), 10)
	}
	return fmt.Sprintf("%d:%d:%s", id.uid, id.gid, strings.Join(groups, ","))
}

// parseIdentity parses the form of String. It returns nil for "".
func parseIdentity(text string) (*identity, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // the form of nil
	}
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is no identity", text)
	}
	uid, uidErr := parseID(parts[0])
	gid, gidErr := parseID(parts[1])
	if uidErr != nil || gidErr != nil {
		return nil, fmt.Errorf("%q is no identity", text)
	}
	id := &identity{uid: uid, gid: gid}
	for field := range strings.SplitSeq(parts[2], ",") {
		if g, err := parseID(field); err == nil {
			id.groups = append(id.groups, g)
		}
	}
	return id, nil
}

// becomeUser makes this process run as an identity in the form of String.
func becomeUser(text string) error {
	id, err := parseIdentity(text)
	if id == nil {
		return err
	}
	groups := make([]int, len(id.groups))
	for i, g := range id.groups {
		groups[i] = int(g)
	}
	if err := syscall.Setgroups(groups); err != nil {
		return err
	}
	if err := syscall.Setresgid(int(id.gid), int(id.gid), int(id.gid)); err != nil {
		return err
	}
	return syscall.Setresuid(int(id.uid), int(id.uid), int(id.uid))
}

// becomeUserToExecute is becomeUser for this thread alone. The program that the thread then
// executes gets the thread's identity, and the other threads end. Package syscall would change
// each thread by a signal, which takes long under gVisor. The goroutine must be locked to its
// thread.
func becomeUserToExecute(text string) error {
	id, err := parseIdentity(text)
	if id == nil {
		return err
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(id.groups)), uintptr(unsafe.Pointer(unsafe.SliceData(id.groups))), 0); errno != 0 {
		return errno
	}
	uid, gid := uintptr(id.uid), uintptr(id.gid)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid); errno != 0 {
		return errno
	}
	return nil
}

// lookUpUser returns the identity of USER or USER:GROUP, each a name or a number, from the
// files of the sandbox whose root folder is root. For "" it returns nil.
func lookUpUser(root, text string) (*identity, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no user was requested
	}
	name, group, hasGroup := strings.Cut(text, ":")
	id, login, err := findUser(root, name)
	if err != nil {
		return nil, err
	}
	groups, err := userEntries(root, "etc/group", 4)
	if err != nil {
		return nil, err
	}
	if hasGroup {
		id.gid, err = findGroup(groups, group)
		return id, err
	}
	for _, fields := range groups {
		gid, err := parseID(fields[2])
		if err == nil && login != "" && slices.Contains(strings.Split(fields[3], ","), login) && len(id.groups) < maxGroups {
			id.groups = append(id.groups, gid)
		}
	}
	return id, nil
}

// findUser returns the identity of a user without supplementary groups, and its name, ""
// if it is not known.
func findUser(root, name string) (*identity, string, error) {
	entries, err := userEntries(root, "etc/passwd", 7)
	if err != nil {
		return nil, "", err
	}
	number, numberErr := parseID(name)
	for _, fields := range entries {
		uid, uidErr := parseID(fields[2])
		gid, gidErr := parseID(fields[3])
		if uidErr == nil && gidErr == nil && (fields[0] == name || numberErr == nil && uid == number) {
			return &identity{uid: uid, gid: gid, home: fields[5]}, fields[0], nil
		}
	}
	if numberErr != nil {
		return nil, "", fmt.Errorf("there is no user %q in the sandbox", name)
	}
	return &identity{uid: number}, "", nil
}

func findGroup(groups [][]string, name string) (uint32, error) {
	for _, fields := range groups {
		if gid, err := parseID(fields[2]); err == nil && fields[0] == name {
			return gid, nil
		}
	}
	gid, err := parseID(name)
	if err != nil {
		return 0, fmt.Errorf("there is no group %q in the sandbox", name)
	}
	return gid, nil
}

// userEntries reads the lines of a file such as /etc/passwd that have enough fields. A
// missing file has none. The agent may have put a pipe or an endless file there.
func userEntries(root, name string, fields int) ([][]string, error) {
	// Package os would try to poll the file, with five more system calls.
	fd, err := unix.Open(filepath.Join(root, name), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening /%s: %w", name, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("/%s is not a regular file", name)
	}
	var entries [][]string
	for lines := bufio.NewScanner(io.LimitReader(descriptor(fd), maxUserFile)); lines.Scan(); {
		if entry := strings.Split(lines.Text(), ":"); len(entry) >= fields {
			entries = append(entries, entry)
		}
	}
	return entries, nil
}

// descriptor reads a file by its descriptor.
type descriptor int

func (d descriptor) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(d), p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func parseID(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return uint32(n), err
}
