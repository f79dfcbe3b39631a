// Package lifeline is the protocol between a sandbox's PID 1 and its supervisor: one TCP
// connection that carries the probes, the start, the agent's input and output and its exit,
// and any number of processes besides the agent. It trusts the bytes of neither side: every
// length is bounded, and a frame that breaks the rules ends the connection. Losing the
// connection ends the sandbox.
//
// The data of a process is a Flow with its own window: if no one reads a process's data,
// only that process waits, not the agent or another process.
//
// It is not gRPC, yamux or SSH: PID 1 is a small static binary in every sandbox, it serves
// one peer and needs no streams beyond these frames, and a reviewer must be able to check
// every byte that a hostile sandbox can send to the host.
package lifeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Type is the kind of a frame.
type Type uint8

// Frames from the supervisor to init.
const (
	TypeProbe    Type = 0x01 // probe.Plan
	TypeStart    Type = 0x02 // Start
	TypeStdin    Type = 0x03 // bytes for the agent's input
	TypeStdinEOF Type = 0x04 // no payload
	TypeResize   Type = 0x05 // Resize
	TypeSignal   Type = 0x06 // Signal
	TypeStop     Type = 0x07 // Stop
	TypePing     Type = 0x08 // no payload; init answers with TypePong

	TypeProcess       Type = 0x09 // Process; init answers with TypeProcessStarted or TypeProcessExit
	TypeProcessResize Type = 0x0a // ProcessResize
	TypeProcessSignal Type = 0x0b // ProcessSignal

	TypeFreeze  Type = 0x0c // Freeze; init answers with TypeFrozen
	TypeThaw    Type = 0x0d // no payload: ends a freeze
	TypeRestore Type = 0x0e // Restore; init answers with TypeRestored

	TypePrepareProcess Type = 0x0f // no payload: a process will be started later
)

// Frames of a flow, in both directions; see Flow.
const (
	TypeData    Type = 0x31 // flow (u32), stream (u8), bytes
	TypeDataEnd Type = 0x32 // flow (u32): no more data comes from this side
	TypeDataAck Type = 0x33 // flow (u32), n (u32): n bytes of data were taken; Receive handles it
)

// Frames from init to the supervisor.
const (
	TypeHello       Type = 0x41 // Hello
	TypeProbeResult Type = 0x42 // ProbeResult: one for each probe, as they end
	TypeStarted     Type = 0x43 // Started
	TypeStdout      Type = 0x44 // bytes; a PTY's bytes come here
	TypeStderr      Type = 0x45 // bytes
	TypeStdinAck    Type = 0x46 // u32: bytes of input the agent took; Receive handles it
	TypeExit        Type = 0x47 // Exit: the last frame
	TypeError       Type = 0x48 // Error
	TypePong        Type = 0x49 // no payload; Receive handles it

	TypeProcessStarted Type = 0x4a // ProcessStarted
	TypeProcessExit    Type = 0x4b // ProcessExit: the last frame of a process, after all its data

	TypeFrozen   Type = 0x4c // Frozen
	TypeRestored Type = 0x4d // Restored

	TypeTasks Type = 0x4e // Tasks

	TypeProcessEnding Type = 0x4f // ProcessEnding
)

const (
	// MaxPayload is the largest payload of one frame on the wire.
	MaxPayload = 64 << 10
	// MaxMessage is the largest JSON message, sent as several frames.
	MaxMessage = 4 << 20

	headerSize = 5
	// more marks every frame of a long message but the last.
	more Type = 0x80
)

// ErrProtocol is in the chain of every error that bytes of the other side caused.
var ErrProtocol = errors.New("lifeline protocol violated")

// ErrSilent reports that init has stopped answering; see Conn.Watch.
var ErrSilent = errors.New("the sandbox's init does not answer")

// ErrGone reports that the sandbox is dead and that all it sent has been received.
var ErrGone = errors.New("its sandbox is gone")

// Frame is a type and its payload.
type Frame struct {
	Type    Type
	Payload []byte
}

// carriesJSON reports whether frames of type t hold JSON and may be split.
func (t Type) carriesJSON() bool {
	switch t {
	case TypeProbe, TypeStart, TypeResize, TypeSignal, TypeStop, TypeProcess, TypeProcessResize, TypeProcessSignal,
		TypeHello, TypeProbeResult, TypeStarted, TypeExit, TypeError, TypeProcessStarted, TypeProcessExit,
		TypeFreeze, TypeRestore, TypeFrozen, TypeRestored, TypeTasks, TypeProcessEnding:
		return true
	}
	return t.isPortMessage()
}

func (t Type) known() bool {
	switch t {
	case TypeStdin, TypeStdinEOF, TypeStdout, TypeStderr, TypeStdinAck, TypePing, TypePong, TypeThaw, TypePrepareProcess, TypeData, TypeDataEnd, TypeDataAck:
		return true
	}
	return t.carriesJSON()
}

// appendHeader adds a wire header to dst.
func appendHeader(dst []byte, t Type, size int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, byte(t)), uint32(size))
}

// readFrame reads one frame, or the whole of a split message. buf is scratch
// space that the returned payload may share.
func readFrame(r io.Reader, buf []byte) (Frame, error) {
	var message []byte
	var first Type
	for {
		t, last, payload, err := readPart(r, buf)
		if err != nil {
			if message != nil && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return Frame{}, err
		}
		if message == nil && last {
			return Frame{Type: t, Payload: payload}, nil
		}
		if message != nil && t != first {
			return Frame{}, fmt.Errorf("%w: frame %#x inside message %#x", ErrProtocol, t, first)
		}
		if len(payload) == 0 || len(message)+len(payload) > MaxMessage {
			return Frame{}, fmt.Errorf("%w: message %#x is empty in part or over %d bytes", ErrProtocol, t, MaxMessage)
		}
		first, message = t, append(message, payload...)
		if last {
			return Frame{Type: t, Payload: message}, nil
		}
	}
}

// readPart reads one frame from the wire.
func readPart(r io.Reader, buf []byte) (t Type, last bool, payload []byte, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, false, nil, err
	}
	t = Type(header[0]) &^ more
	last = Type(header[0])&more == 0
	size := binary.BigEndian.Uint32(header[1:])
	switch {
	case !t.known():
		return 0, false, nil, fmt.Errorf("%w: unknown frame %#x", ErrProtocol, header[0])
	case size > MaxPayload:
		return 0, false, nil, fmt.Errorf("%w: a payload of %d bytes", ErrProtocol, size)
	case !last && !t.carriesJSON():
		return 0, false, nil, fmt.Errorf("%w: frame %#x may not be split", ErrProtocol, t)
	}
	if uint32(cap(buf)) < size {
		buf = make([]byte, size)
	}
	payload = buf[:size]
	if _, err := io.ReadFull(r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, false, nil, err
	}
	return t, last, payload, nil
}
