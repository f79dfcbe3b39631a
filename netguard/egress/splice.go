package egress

import (
	"errors"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// maxSplice is how many bytes are spliced at a time.
const maxSplice = 1 << 20

// splice passes bytes from one TCP connection to another. Small pieces go through a buffer,
// which is held only while there is something to read; large ones stay in the kernel. As
// only bytes that have already arrived are spliced, they are charged and counted exactly.
func (p *pump) splice(to, from *net.TCPConn) *refusal {
	raw, err := from.SyscallConn()
	if err != nil {
		return errEnded
	}
	for {
		p.extend(from)
		piece, n, err := readPiece(raw)
		if piece != nil {
			problem := p.send(piece[:n])
			pieces.Put(piece)
			if problem != nil {
				return problem
			}
		}
		if err != nil {
			if done, problem := p.finished(err); done {
				return problem
			}
			continue
		}
		if n == pieceSize {
			if done, problem := p.spliceBulk(to, from, raw); done {
				return problem
			}
		}
	}
}

// rawReader is a syscall.RawConn.
type rawReader interface {
	Read(func(fd uintptr) (done bool)) error
}

// readPiece waits for bytes and reads them into a piece, which the caller returns to the
// pool. The piece is nil if there is an error.
func readPiece(raw rawReader) (*[pieceSize]byte, int, error) {
	var piece *[pieceSize]byte
	var n int
	var readErr error
	err := raw.Read(func(fd uintptr) bool {
		piece, _ = pieces.Get().(*[pieceSize]byte)
		for {
			if n, readErr = unix.Read(int(fd), piece[:]); !errors.Is(readErr, unix.EINTR) {
				break
			}
		}
		if errors.Is(readErr, unix.EAGAIN) {
			pieces.Put(piece)
			piece = nil
			return false
		}
		return true
	})
	if err == nil {
		err = readErr
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil && piece != nil {
		pieces.Put(piece)
		piece = nil
	}
	return piece, n, err
}

// spliceBulk splices arriving bytes as long as there are many. It reports whether the
// direction has ended, and the reason.
func (p *pump) spliceBulk(to, from *net.TCPConn, raw rawReader) (done bool, _ *refusal) {
	for {
		p.extend(from)
		arrived, err := awaitBytes(raw)
		if err != nil {
			return p.finished(err)
		}
		granted, problem := p.grant(min(int64(arrived), maxSplice))
		if problem != nil {
			return true, problem
		}
		p.extendWrite()
		n, err := io.CopyN(to, from, granted)
		p.count(n)
		p.refund(granted - n)
		if err != nil {
			return true, p.writeProblem(err)
		}
		if arrived < pieceSize {
			return false, nil
		}
	}
}

// awaitBytes waits until bytes have arrived and returns how many. The error is io.EOF if no
// more can arrive.
func awaitBytes(raw rawReader) (arrived int, _ error) {
	var ended error
	err := raw.Read(func(fd uintptr) bool {
		if arrived, ended = unix.IoctlGetInt(int(fd), unix.TIOCINQ); arrived > 0 || ended != nil {
			return true
		}
		var none [1]byte
		n, _, err := unix.Recvfrom(int(fd), none[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			return false
		case err != nil:
			ended = err
		case n == 0:
			ended = io.EOF
		default:
			arrived = n
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	return arrived, ended
}
