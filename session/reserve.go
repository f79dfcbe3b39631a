package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"aibox/internal/diskerr"
)

// A session takes room on its disk while it runs, so that its end can be stored even
// when something has filled the disk. It gives that back in two parts: in between, the
// objects of its changes are written, which may take all the room there is, on the same
// disk as often as not.
const (
	endReserve    = "reserve"        // for the end of the agent: log, output, state
	resultReserve = "reserve.result" // for the list of changes and the result

	acceptReserve = "reserve.accept" // while work is delivered, for the record of that

	endReserveSize    = 1 << 20
	resultReserveSize = 2 << 20
	acceptReserveSize = 256 << 10
)

// Reserve takes the room.
func Reserve(dir string) error {
	err := reserveFile(filepath.Join(dir, endReserve), endReserveSize)
	if err == nil {
		err = reserveFile(filepath.Join(dir, resultReserve), resultReserveSize)
	}
	if err != nil {
		return diskerr.Explain(fmt.Errorf("reserving room for the session's result: %w", err), dir)
	}
	return nil
}

// reserveAccept takes the room for the record of an accept. Without it nothing is
// delivered: what is accepted and not on record would be accepted again.
func reserveAccept(dir string) error {
	err := releaseFile(dir, acceptReserve) // of one that was killed
	if err == nil {
		err = reserveFile(filepath.Join(dir, acceptReserve), acceptReserveSize)
	}
	if err != nil {
		return diskerr.Explain(fmt.Errorf("nothing was accepted, because the record of it needs room: %w", err), dir)
	}
	return nil
}

func reserveFile(name string, size int64) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(file.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) {
		_, err = file.Write(make([]byte, size))
	}
	return errors.Join(err, file.Close())
}

// releaseReserves gives all of the room back.
func releaseReserves(dir string) error {
	return errors.Join(releaseFile(dir, endReserve), releaseFile(dir, resultReserve))
}

// ReleaseEndReserve gives the room for the agent's end back.
func ReleaseEndReserve(dir string) error { return releaseFile(dir, endReserve) }

// ReleaseResultReserve gives the room for the result back.
func ReleaseResultReserve(dir string) error { return releaseFile(dir, resultReserve) }

// releaseFile gives a part of the room back. That there is none is no error.
func releaseFile(dir, part string) error {
	err := os.Remove(filepath.Join(dir, part))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
