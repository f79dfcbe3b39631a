// Package initbin embeds aibox-init, the static PID 1 of sandboxes, in aibox's own binary
// and installs it where a sandbox can mount it. It never runs it.
package initbin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"aibox/internal/fault"
	"aibox/internal/paths"
)

//go:embed bin
var bin embed.FS

// Bytes returns the embedded program. If aibox was built without `make build`, the program
// is missing, and the error is a fault of kind Internal.
func Bytes() ([]byte, error) {
	data, err := bin.ReadFile("bin/aibox-init")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Internal, "this aibox was built without its init program").
			Hint("build it with: make build")
	}
	return data, err
}

// Install writes the program to dir, under a name derived from its content and with mode
// 0555, so that unprivileged users of a sandbox can run it, too. It returns the path. It
// keeps an existing file that is the user's, complete and not writable. It is safe for
// concurrent use.
func Install(dir string) (string, error) {
	// A server installs it for each of its sandboxes, and reads 8 MB only once.
	p, err := embedded()
	if err != nil {
		return "", err
	}
	return p.install(dir, Bytes)
}

// program identifies a version of the program.
type program struct {
	name string // of its file
	size int64
}

func programOf(data []byte) program {
	sum := sha256.Sum256(data)
	return program{"aibox-init-" + hex.EncodeToString(sum[:8]), int64(len(data))}
}

var embedded = sync.OnceValues(func() (program, error) {
	data, err := Bytes()
	if err != nil {
		return program{}, err
	}
	return programOf(data), nil
})

// install writes the program to dir. read returns it.
func (p program) install(dir string, read func() ([]byte, error)) (string, error) {
	if err := paths.MakePrivate(dir); err != nil {
		return "", fmt.Errorf("installing the init program: %w", err)
	}
	path := filepath.Join(dir, p.name)
	if info, err := os.Lstat(path); err == nil && info.Mode() == 0o555 && info.Size() == p.size {
		return path, nil
	}
	data, err := read()
	if err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(dir, ".aibox-init.*")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Chmod(0o555), tmp.Close()); err != nil {
		return "", fmt.Errorf("installing the init program: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return "", err
	}
	return path, nil
}
