package sshkey

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/sys/unix"
)

// readKnown is knownhosts.New, which fails at the first line that it cannot read, such as one of
// SSH-1 or of a new kind of key. OpenSSH skips such a line, so this does, too, unless the line
// revokes a key or names an authority. A skipped line could only have made another key known.
func readKnown(files []string) (ssh.HostKeyCallback, error) {
	check, err := knownhosts.New(files...)
	if err == nil {
		return check, nil
	}
	names := map[string]string{}
	copies := make([]string, 0, len(files))
	for _, file := range files {
		readable, copyErr := readableCopy(file)
		if copyErr != nil {
			return nil, copyErr
		}
		defer readable.Close()
		path := pathOf(readable)
		names[path], copies = file, append(copies, path)
	}
	checkCopies, err := knownhosts.New(copies...)
	if err != nil {
		text := err.Error()
		for path, file := range names {
			text = strings.Replace(text, path+":", file+":", 1)
		}
		return nil, errors.New(text)
	}
	return func(address string, remote net.Addr, key ssh.PublicKey) error {
		err := checkCopies(address, remote, key)
		var wrong *knownhosts.KeyError
		if errors.As(err, &wrong) {
			for i := range wrong.Want {
				wrong.Want[i].Filename = names[wrong.Want[i].Filename]
			}
		}
		return err
	}, nil
}

// readableCopy returns a copy of a file in memory, in which the lines that readKnown skips are
// empty, so that the others keep their numbers.
func readableCopy(file string) (*os.File, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		readable, err := isReadable(line)
		if err != nil {
			return nil, err
		}
		if !readable {
			lines[i] = nil
		}
	}
	return inMemory(bytes.Join(lines, []byte("\n")))
}

// isReadable reports whether knownhosts can read a line. It returns true for a line that must not
// be skipped, and false for one without content.
func isReadable(line []byte) (bool, error) {
	words := bytes.Fields(line)
	switch {
	case len(words) == 0 || words[0][0] == '#':
		return false, nil
	case string(words[0]) == "@revoked" || string(words[0]) == "@cert-authority":
		return true, nil
	}
	alone, err := inMemory(line)
	if err != nil {
		return false, err
	}
	defer alone.Close()
	_, err = knownhosts.New(pathOf(alone))
	return err == nil, nil
}

// inMemory returns a file with this text.
func inMemory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("known_hosts", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "known_hosts")
	if _, err := file.Write(text); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// pathOf returns a path under which knownhosts can open a file in memory.
func pathOf(file *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", file.Fd()) }
