package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Kind is the kind of a frame.
type Kind byte

// The kinds of frames.
const (
	Stdout Kind = 'o' // output, also of a terminal
	Stderr Kind = 'e' // output
	Lost   Kind = 'l' // output that is no longer kept; its data is a Gap
	Ended  Kind = 'x' // the end of the process, and the last frame; its data is an Exit
	Alive  Kind = 'a' // no data and no number; sent to show that the connection is alive
)

const (
	frameHeader = 29
	// MaxData is the maximum size of a frame's data in bytes.
	MaxData = 64 << 10
)

// Frame is a piece of a process's output, or its end.
type Frame struct {
	// Seq is the frame's number, from 1, without gaps. A Lost frame has the number of the
	// first frame that is lost.
	Seq    uint64
	Kind   Kind
	Offset int64 // offset of the first byte in its stream; 0 if it is not output
	Time   time.Time
	Data   []byte
}

// Gap is the data of a Lost frame.
type Gap struct {
	Next uint64 `json:"next"` // number of the frame that follows
}

// Exit is the end of a process.
type Exit struct {
	Code   int  `json:"code"` // exit code, or 128 + Signal; 127 and 126 if it could not be run
	Signal int  `json:"signal,omitempty"`
	Cut    bool `json:"cut,omitempty"` // the session ended before all its output was read
	// TimedOut reports that the process was killed at its Timeout.
	TimedOut bool   `json:"timed_out,omitempty"`
	Error    string `json:"error,omitempty"` // why it could not be run, or was ended; may contain bytes of the sandbox: escape
}

// Exit returns the exit of an Ended frame.
func (f Frame) Exit() (Exit, error) {
	var exit Exit
	err := json.Unmarshal(f.Data, &exit)
	return exit, err
}

// Gap returns the gap of a Lost frame.
func (f Frame) Gap() (Gap, error) {
	var gap Gap
	err := json.Unmarshal(f.Data, &gap)
	return gap, err
}

// Size returns the size of the encoded frame in bytes, which is what a record keeps.
func (f Frame) Size() int { return frameHeader + len(f.Data) }

// Append adds the encoded frame to dst: kind (1 byte), number, offset, time in ns since 1970
// (8 bytes each), length (4 bytes), all big-endian, and the data.
func (f Frame) Append(dst []byte) []byte {
	dst = append(dst, byte(f.Kind))
	dst = binary.BigEndian.AppendUint64(dst, f.Seq)
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.Offset))
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.Time.UnixNano()))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(f.Data)))
	return append(dst, f.Data...)
}

// Read reads an encoded frame. It returns io.EOF at the end between two frames. The frame's
// data is in buf if buf is large enough.
func Read(in io.Reader, buf []byte) (Frame, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return Frame{}, err
	}
	f, size, err := parseHeader(header[:])
	if err != nil {
		return Frame{}, err
	}
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	f.Data = buf[:size]
	if _, err := io.ReadFull(in, f.Data); err != nil {
		return Frame{}, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return f, nil
}

// parse returns the first frame of an encoded sequence, and the rest.
func parse(encoded []byte) (f Frame, rest []byte, err error) {
	if len(encoded) < frameHeader {
		return Frame{}, nil, errors.New("a frame is too short")
	}
	f, size, err := parseHeader(encoded)
	if err != nil {
		return Frame{}, nil, err
	}
	if encoded = encoded[frameHeader:]; len(encoded) < size {
		return Frame{}, nil, errors.New("a frame is cut off")
	}
	f.Data = encoded[:size:size]
	return f, encoded[size:], nil
}

func parseHeader(header []byte) (f Frame, size int, err error) {
	f = Frame{
		Kind:   Kind(header[0]),
		Seq:    binary.BigEndian.Uint64(header[1:]),
		Offset: int64(binary.BigEndian.Uint64(header[9:])),
		Time:   time.Unix(0, int64(binary.BigEndian.Uint64(header[17:]))).UTC(),
	}
	length := binary.BigEndian.Uint32(header[25:])
	switch {
	case f.Kind != Stdout && f.Kind != Stderr && f.Kind != Lost && f.Kind != Ended && f.Kind != Alive:
		return Frame{}, 0, fmt.Errorf("unknown frame %#x", header[0])
	case length > MaxData:
		return Frame{}, 0, fmt.Errorf("a frame of %d bytes is too long", length)
	}
	return f, int(length), nil
}
