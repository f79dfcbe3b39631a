package egress

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"aibox/netguard"
)

// maxPlainRecords is how many records may come before the client's second message.
const maxPlainRecords = 32

// secondHello follows the client's records after its ClientHello, as far as a second
// ClientHello can come: after a HelloRetryRequest (RFC 8446, section 4.1.4), also behind
// early data. A server could use its server name instead of the first one's. After this, the
// connection is passed on without a look inside.
type secondHello struct {
	to        netguard.Destination
	earlyData bool // of the first ClientHello
}

// follow passes records to send. It returns nil when no ClientHello can come any longer.
func (f *secondHello) follow(r *bufio.Reader, send func([]byte) *refusal) *refusal {
	for range maxPlainRecords {
		header, err := r.Peek(6) // the header and the type of a message
		if err != nil {
			return endOfClient(err)
		}
		length := int(binary.BigEndian.Uint16(header[3:]))
		switch kind := header[0]; {
		case kind == recordHandshake && header[5] == messageClientHello:
			return f.check(r, send)
		case kind == recordHandshake && length == 0:
			return badHello()
		case kind == recordApplicationData && f.earlyData:
			return f.followData(r, send)
		case kind != recordChangeCipherSpec:
			return nil
		}
		if more, problem := passRecord(r, length, send); !more {
			return problem
		}
	}
	return badHello()
}

// followData passes early data. It is not known where that ends, so it follows all records
// of such a connection.
func (f *secondHello) followData(r *bufio.Reader, send func([]byte) *refusal) *refusal {
	for {
		header, err := r.Peek(6)
		if err != nil {
			return endOfClient(err)
		}
		if header[0] == recordHandshake {
			if header[5] == messageClientHello {
				return f.check(r, send)
			}
			return badHello()
		}
		if more, problem := passRecord(r, int(binary.BigEndian.Uint16(header[3:])), send); !more {
			return problem
		}
	}
}

func (f *secondHello) check(r *bufio.Reader, send func([]byte) *refusal) *refusal {
	raw, hello, err := readClientHello(r)
	var problem *refusal
	switch {
	case asRefusal(err, &problem):
		return problem
	case err != nil:
		return endOfClient(err)
	}
	if problem := hello.check(f.to); problem != nil {
		return problem
	}
	return send(raw)
}

// passRecord passes one record of length bytes after its header. It reports whether there is
// more to follow.
func passRecord(r *bufio.Reader, length int, send func([]byte) *refusal) (bool, *refusal) {
	if length > maxRecord {
		return false, badHello()
	}
	record, err := r.Peek(5 + length)
	if err != nil {
		return false, endOfClient(err)
	}
	problem := send(record)
	_, _ = r.Discard(len(record))
	return problem == nil, problem
}

// endOfClient returns nil if the client has finished, so that no ClientHello can come, and
// otherwise ends the connection.
func endOfClient(err error) *refusal {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return errEnded
}
