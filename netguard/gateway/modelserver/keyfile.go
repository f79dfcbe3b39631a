package modelserver

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/redact"
	"aibox/internal/secret"
)

// readKeyFile reads a key from a file that belongs to the user, and that nobody else can
// read. The checks are of the open file, so that no other file can take its place.
func readKeyFile(path string) (secret.Value, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return secret.Value{}, fault.New(fault.Environment, "the key file %s cannot be read: %w", printable(path), err).
			Hint("check key-file in your settings: aibox config edit")
	}
	defer file.Close()
	var info unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &info); err != nil {
		return secret.Value{}, err
	}
	switch {
	case info.Mode&unix.S_IFMT != unix.S_IFREG:
		return secret.Value{}, fault.New(fault.Refused, "the key file %s is not a file", printable(path))
	case int(info.Uid) != os.Getuid():
		return secret.Value{}, fault.New(fault.Refused, "the key file %s belongs to another user", printable(path)).Hint("copy it to a file of your own, with mode 0600")
	case info.Mode&0o077 != 0:
		return secret.Value{}, fault.New(fault.Refused, "other users may read the key file %s, whose mode is %04o", printable(path), info.Mode&0o7777).
			Hint("chmod 600 %s", printable(path))
	}
	text, err := io.ReadAll(io.LimitReader(file, redact.Most+64))
	if err != nil {
		return secret.Value{}, fault.New(fault.Environment, "the key file %s cannot be read", printable(path))
	}
	key := strings.TrimSpace(string(text))
	if key == "" {
		return secret.Value{}, fault.New(fault.Environment, "the key file %s is empty", printable(path))
	}
	return secret.New(key), nil
}
