package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"aibox/internal/screen"
)

// An attached client and the supervisor exchange frames: kind (1 byte), length (4
// bytes, big-endian), payload.
const (
	frameInput  = 'i' // client: what the person typed
	frameResize = 'r' // client: rows and columns, 2 bytes each, big-endian

	framePaint  = 'p' // supervisor: bytes for the terminal
	frameWhole  = 'w' // supervisor: the same, and the whole terminal is painted anew
	frameNotice = 'n' // supervisor: one escaped line of aibox's own
	frameAlive  = 'a' // supervisor: nothing
	frameExit   = 'x' // supervisor: the agent has ended; what it left on its main screen, as text
)

// heartbeat is how often a viewer is told that nothing happens, so that one that
// is gone is noticed.
const heartbeat = 5 * time.Second

// maxFrame bounds a frame's payload: the largest screen with a style in each cell
// stays below it.
const maxFrame = 16 << 20

// maxInput bounds a frame of a client.
const maxInput = 32 << 10

func writeFrame(w io.Writer, kind byte, payload []byte) error {
	frame := append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload))), payload...)
	_, err := w.Write(frame)
	return err
}

// frameReader reads frames of at most limit bytes.
type frameReader struct {
	in    io.Reader
	limit uint32
}

// newFrameReader reads the frames of a client.
func newFrameReader(in io.Reader) frameReader { return frameReader{in, maxInput} }

// next returns the next frame. io.EOF is the end between two frames.
func (r frameReader) next() (kind byte, payload []byte, err error) {
	var header [5]byte
	if _, err := io.ReadFull(r.in, header[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(header[1:])
	if size > r.limit {
		return 0, nil, fmt.Errorf("a frame of %d bytes is longer than one may be", size)
	}
	payload = make([]byte, size)
	if _, err := io.ReadFull(r.in, payload); err != nil {
		return 0, nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return header[0], payload, nil
}

func sizePayload(size screen.Size) []byte {
	size = size.Bound()
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, uint16(size.Rows)), uint16(size.Cols))
}

func parseSize(payload []byte) (screen.Size, error) {
	if len(payload) != 4 {
		return screen.Size{}, errors.New("a size is four bytes")
	}
	return screen.Size{
		Rows: int(binary.BigEndian.Uint16(payload)),
		Cols: int(binary.BigEndian.Uint16(payload[2:])),
	}.Bound(), nil
}
