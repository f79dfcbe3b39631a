// Package secretsource reads secrets that the user keeps outside of aibox: a file that only
// the user can read, or the output of a program. It never stores a secret, nor repeats one
// in an error.
package secretsource

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/redact"
	"aibox/internal/secret"
)

// ReadFile reads a secret from a file that belongs to the user, and that no other user can
// read. The checks are of the open file, so that no other file can take its place. noun
// names such a file in errors: "key file".
func ReadFile(path, noun string) (secret.Value, error) {
	shown := printable(path)
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return secret.Value{}, fault.New(fault.Environment, "the %s %s cannot be read: %w", noun, shown, err).
			Hint("check it in your settings: aibox config edit")
	}
	defer file.Close()
	var info unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &info); err != nil {
		return secret.Value{}, err
	}
	switch {
	case info.Mode&unix.S_IFMT != unix.S_IFREG:
		return secret.Value{}, fault.New(fault.Refused, "the %s %s is not a file", noun, shown)
	case int(info.Uid) != os.Getuid():
		return secret.Value{}, fault.New(fault.Refused, "the %s %s belongs to another user", noun, shown).Hint("copy it to a file of your own, with mode 0600")
	case info.Mode&0o077 != 0:
		return secret.Value{}, fault.New(fault.Refused, "other users may read the %s %s, whose mode is %04o", noun, shown, info.Mode&0o7777).
			Hint("chmod 600 %s", shown)
	}
	text, err := io.ReadAll(io.LimitReader(file, redact.Most+64))
	if err != nil {
		return secret.Value{}, fault.New(fault.Environment, "the %s %s cannot be read", noun, shown)
	}
	key := strings.TrimSpace(string(text))
	if key == "" {
		return secret.Value{}, fault.New(fault.Environment, "the %s %s is empty", noun, shown)
	}
	return secret.New(key), nil
}

// printable returns text in printable ASCII.
func printable(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}
