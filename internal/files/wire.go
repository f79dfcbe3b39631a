package files

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// Types of frames. A frame is its type, the length of its payload (4 bytes, big-endian) and
// the payload.
const (
	frameRequest byte = 'q' // Request
	frameAnswer  byte = 'a' // Answer
	frameEvent   byte = 'v' // Event
	frameData    byte = 'd' // bytes
	frameEnd     byte = 'e' // no payload: the end of the data
)

const (
	frameHeader = 5
	// maxData is the maximum size of the payload of a frame of data.
	maxData = 256 << 10
	// maxMessage is the maximum size of JSON.
	maxMessage = 2 << 20
	// maxRequest is the maximum size of a request.
	maxRequest = 64 << 10
)

// ErrProtocol is in the chain of every error that bytes of the other side caused.
var ErrProtocol = errors.New("files protocol violated")

// maxPayload returns the maximum size of a frame, or false for an unknown type.
func maxPayload(kind byte) (uint32, bool) {
	switch kind {
	case frameRequest:
		return maxRequest, true
	case frameAnswer:
		return maxMessage, true
	case frameEvent:
		return maxRequest, true
	case frameData:
		return maxData, true
	case frameEnd:
		return 0, true
	}
	return 0, false
}

// reader reads frames. The payload of a frame is valid until the next one.
type reader struct {
	in  *bufio.Reader
	buf []byte
}

func newReader(in io.Reader) *reader {
	if buffered, ok := in.(*bufio.Reader); ok {
		return &reader{in: buffered}
	}
	return &reader{in: bufio.NewReaderSize(in, 64<<10)}
}

// next returns the next frame. io.EOF is the end between two frames.
func (r *reader) next() (kind byte, payload []byte, err error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r.in, header[:]); err != nil {
		return 0, nil, err
	}
	kind = header[0]
	size := binary.BigEndian.Uint32(header[1:])
	most, known := maxPayload(kind)
	switch {
	case !known:
		return 0, nil, fmt.Errorf("%w: unknown frame %#x", ErrProtocol, kind)
	case size > most:
		return 0, nil, fmt.Errorf("%w: a frame %q of %d bytes", ErrProtocol, kind, size)
	}
	if r.buf, err = readGrowing(r.in, r.buf[:0], int(size)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return kind, r.buf, nil
}

// readGrowing reads size bytes into buf. It allocates at most twice the size of the
// received bytes, so that a length without data costs nothing.
func readGrowing(in io.Reader, buf []byte, size int) ([]byte, error) {
	for len(buf) < size {
		if cap(buf) == len(buf) {
			buf = append(make([]byte, 0, min(max(2*len(buf), 64<<10), size)), buf...)
		}
		n, err := io.ReadFull(in, buf[len(buf):min(cap(buf), size)])
		buf = buf[:len(buf)+n]
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// expect returns the JSON of the next frame, which must be of a type.
func expect[T any](r *reader, want byte) (value T, err error) {
	kind, payload, err := r.next()
	if err != nil {
		return value, err
	}
	if kind != want {
		return value, fmt.Errorf("%w: frame %q in place of %q", ErrProtocol, kind, want)
	}
	return decode[T](payload)
}

func decode[T any](payload []byte) (value T, err error) {
	if err := json.Unmarshal(payload, &value); err != nil {
		return value, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return value, nil
}

// writeFrame writes a frame in one write.
func writeFrame(w io.Writer, kind byte, payload []byte) error {
	header := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload)))
	if _, ok := w.(syscall.Conn); ok && len(payload) > 0 { // a socket takes both without a copy
		_, err := (&net.Buffers{header, payload}).WriteTo(w)
		return err
	}
	_, err := w.Write(append(header, payload...))
	return err
}

// writeMessage writes a frame with JSON.
func writeMessage(w io.Writer, kind byte, value any) error {
	payload, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if most, _ := maxPayload(kind); len(payload) > int(most) {
		return fmt.Errorf("a message of %d bytes is over the limit of %d", len(payload), most)
	}
	return writeFrame(w, kind, payload)
}

// dataWriter writes data as frames.
type dataWriter struct{ w io.Writer }

// Write writes p as frames.
func (d *dataWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		part := p[:min(len(p), maxData)]
		if err := writeFrame(d.w, frameData, part); err != nil {
			return written, err
		}
		written += len(part)
		p = p[len(part):]
	}
	return written, nil
}

// dataReader reads the payloads of frames of data up to their end.
type dataReader struct {
	in    *reader
	rest  []byte
	ended bool
}

// Read returns io.EOF after the end frame. A connection that ends before is an error.
func (d *dataReader) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.ended {
			return 0, io.EOF
		}
		kind, payload, err := d.in.next()
		switch {
		case errors.Is(err, io.EOF):
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		case kind == frameEnd:
			d.ended = true
		case kind == frameData:
			d.rest = payload
		default:
			return 0, fmt.Errorf("%w: frame %q within data", ErrProtocol, kind)
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}
