package control

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
	FrameInput  = 'i' // client: the user's input
	FrameResize = 'r' // client: rows and columns, 2 bytes each, big-endian

	FramePaint  = 'p' // supervisor: bytes for the terminal
	FrameWhole  = 'w' // supervisor: bytes that repaint the whole terminal
	FrameNotice = 'n' // supervisor: one escaped line of aibox itself
	FrameAlive  = 'a' // supervisor: nothing
	FrameExit   = 'x' // supervisor: the agent has ended; its main screen as text
)

// Heartbeat is how often an idle viewer gets a frame, so that a closed connection is
// noticed.
const Heartbeat = 5 * time.Second

// maxFrame is the maximum length of a frame's payload. The largest screen with a style in
// each cell is shorter.
const maxFrame = 16 << 20

// MaxInput is the maximum length of a client's frame.
const MaxInput = 32 << 10

func WriteFrame(w io.Writer, kind byte, payload []byte) error {
	frame := append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload))), payload...)
	_, err := w.Write(frame)
	return err
}

// FrameReader reads frames of at most limit bytes.
type FrameReader struct {
	in    io.Reader
	limit uint32
}

// NewFrameReader reads the frames of a client.
func NewFrameReader(in io.Reader) FrameReader { return FrameReader{in, MaxInput} }

// Next returns the next frame. io.EOF is the end between two frames.
func (r FrameReader) Next() (kind byte, payload []byte, err error) {
	var header [5]byte
	if _, err := io.ReadFull(r.in, header[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(header[1:])
	if size > r.limit {
		return 0, nil, fmt.Errorf("a frame of %d bytes is too long", size)
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

func ParseSize(payload []byte) (screen.Size, error) {
	if len(payload) != 4 {
		return screen.Size{}, errors.New("a size is four bytes")
	}
	return screen.Size{
		Rows: int(binary.BigEndian.Uint16(payload)),
		Cols: int(binary.BigEndian.Uint16(payload[2:])),
	}.Bound(), nil
}
