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

// A running session reserves disk space, so that its end can be stored even on a full
// disk. It releases the space in two parts: in between, the objects of its changes are
// written, which may use all free space of the same disk.
const (
	endReserve    = "reserve"        // space for the agent's end: log, output, state
	resultReserve = "reserve.result" // space for the list of changes and the result

	acceptReserve = "reserve.accept" // space for the record of a delivery, during the delivery

	endReserveSize    = 1 << 20
	resultReserveSize = 2 << 20
	acceptReserveSize = 256 << 10
)

// ReservedSize is the space that a running session reserves, in bytes.
const ReservedSize = endReserveSize + resultReserveSize

// Reserve reserves the space.
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

// ReserveAccept reserves the space for the record of an accept. If that fails, nothing is
// delivered: accepted work without a record would be accepted again.
func ReserveAccept(dir string) error {
	err := releaseFile(dir, acceptReserve) // the remains of a killed accept
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

// releaseReserves releases all reserved space.
func releaseReserves(dir string) error {
	return errors.Join(releaseFile(dir, endReserve), releaseFile(dir, resultReserve))
}

// ReleaseEndReserve releases the space for the agent's end.
func ReleaseEndReserve(dir string) error { return releaseFile(dir, endReserve) }

// ReleaseResultReserve releases the space for the result.
func ReleaseResultReserve(dir string) error { return releaseFile(dir, resultReserve) }

// ReleaseAcceptReserve releases the space for the record of an accept.
func ReleaseAcceptReserve(dir string) error { return releaseFile(dir, acceptReserve) }

// releaseFile releases one part of the space, if it is reserved.
func releaseFile(dir, part string) error {
	err := os.Remove(filepath.Join(dir, part))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
