// Package initbin embeds aibox-init, the static PID 1 of sandboxes, in aibox's own binary,
// compressed, and installs it where a sandbox can mount it. It never runs it.
package initbin

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"aibox/internal/fault"
	"aibox/internal/paths"
)

// The README keeps the pattern valid while the program is missing.
//
//go:embed bin/*.*
var bin embed.FS

// compressed returns the embedded program as a gzip file. If aibox was built without `make
// build`, the program is missing, and the error is a fault of kind Environment.
func compressed() ([]byte, error) {
	data, err := bin.ReadFile("bin/aibox-init.gz")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Environment, "this aibox was built without its init program").
			Hint("make build")
	}
	return data, err
}

// Install writes the program to dir, under a name derived from its content and with mode
// 0555, so that unprivileged users of a sandbox can run it, too. It returns the path. It
// keeps an existing file that belongs to the user, is complete and is not writable. It is
// safe for concurrent use.
func Install(dir string) (string, error) {
	// A server installs it for each of its sandboxes, and hashes it only once.
	p, err := embedded()
	if err != nil {
		return "", err
	}
	return p.install(dir)
}

// program is a version of the program.
type program struct {
	name string // of its file
	size int64  // of the file
	data []byte // the file, compressed
}

// programOf returns the program in a gzip file of one member.
func programOf(data []byte) (program, error) {
	const trailer = 4 // the size of the content, modulo 2³²
	if len(data) < trailer {
		return program{}, fault.New(fault.Internal, "the init program in this aibox is damaged")
	}
	sum := sha256.Sum256(data)
	size := binary.LittleEndian.Uint32(data[len(data)-trailer:])
	return program{"aibox-init-" + hex.EncodeToString(sum[:8]), int64(size), data}, nil
}

var embedded = sync.OnceValues(func() (program, error) {
	data, err := compressed()
	if err != nil {
		return program{}, err
	}
	return programOf(data)
})

// install writes the program to dir.
func (p program) install(dir string) (string, error) {
	if err := paths.MakePrivate(dir); err != nil {
		return "", fmt.Errorf("installing the init program: %w", err)
	}
	path := filepath.Join(dir, p.name)
	if info, err := os.Lstat(path); err == nil && info.Mode() == 0o555 && info.Size() == p.size {
		return path, nil
	}
	content, err := p.content()
	if err != nil {
		return "", fmt.Errorf("installing the init program: %w", err)
	}
	tmp, err := write(dir, content)
	if err != nil {
		return "", fmt.Errorf("installing the init program: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", errors.Join(err, os.Remove(tmp))
	}
	return path, nil
}

// content returns the uncompressed program. gzip's checksum detects damage.
func (p program) content() ([]byte, error) {
	in, err := gzip.NewReader(bytes.NewReader(p.data))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(in) // it is aibox's own program
	return content, errors.Join(err, in.Close())
}

// write writes a program to a temporary file in dir. Meanwhile this process starts no other:
// one that inherits the open file makes the kernel refuse to execute it (ETXTBSY). The content is on
// the disk before the file gets its name: a later install compares only the size.
func write(dir string, content []byte) (path string, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	tmp, err := os.CreateTemp(dir, ".aibox-init.*")
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(content)
	if err := errors.Join(err, tmp.Chmod(0o555), tmp.Sync(), tmp.Close()); err != nil {
		return "", errors.Join(err, os.Remove(tmp.Name()))
	}
	return tmp.Name(), nil
}
