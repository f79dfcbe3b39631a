package egress

import (
	"encoding/binary"

	"aibox/netguard"
)

// maxPlainRecords is how many records may precede the client's second message.
const maxPlainRecords = 32

// maxFinished is the largest record of an encrypted Finished: a message of 16 bytes with the
// vector, code and padding of any cipher.
const maxFinished = 128

// secondHello follows the client's records after its ClientHello as long as a second
// ClientHello is possible: after a HelloRetryRequest (RFC 8446, section 4.1.4), also after
// early data. A server could use its server name instead of the first one's. After a record that ends
// this, the connection is relayed without checks.
type secondHello struct {
	to        netguard.Destination
	earlyData bool                    // of the first ClientHello
	cut       func(*refusal) *refusal // records a refusal and returns it
}

// recordSource reads and sends the records of a client.
type recordSource interface {
	// peek waits for n bytes and does not consume them. It returns false at the end of the
	// stream, and then a refusal if the proxy ends it.
	peek(n int) ([]byte, bool, *refusal)
	// pass consumes and sends n bytes that were peeked at.
	pass(n int) *refusal
	// hello consumes a ClientHello and returns it.
	hello() ([]byte, clientHello, error)
	send([]byte) *refusal
}

// follow passes records until no further ClientHello is possible.
func (f *secondHello) follow(r recordSource) *refusal {
	part := false // the last record was a part of a ClientHello, or an encrypted Finished
	for n := 0; f.earlyData || n < maxPlainRecords; n++ {
		header, more, problem := r.peek(6) // the header of a record and the type of its message
		if !more {
			return problem
		}
		kind, length := header[0], int(binary.BigEndian.Uint16(header[3:]))
		switch {
		case part && kind != recordApplicationData && kind != recordAlert: // which could follow a Finished
			return f.cut(badHello())
		case kind == recordHandshake && header[5] == messageClientHello:
			if part, more, problem = f.isPart(r, length); !more {
				return problem
			}
			if !part {
				return f.check(r)
			}
		case kind == recordHandshake && length == 0:
			return f.cut(badHello())
		case kind == recordHandshake, kind == recordApplicationData && !f.earlyData: // the end of early data is not visible
			return nil // no other record ends it: servers ignore changes of the cipher and some alerts
		case length > maxRecord:
			return f.cut(badHello())
		}
		if _, more, problem = r.peek(5 + length); !more {
			return problem
		}
		if problem = r.pass(5 + length); problem != nil {
			return problem
		}
	}
	return f.cut(badHello())
}

// isPart reports whether the record at the front, of length bytes, has only a part of a ClientHello,
// and can be the encrypted Finished of a resumed TLS 1.2 connection whose first byte happens to be that
// of a ClientHello. It is passed before the next record is known, because the client may wait for the
// server then, and no server acts on a part. After a Finished comes application data. No server accepts
// a ClientHello that application data interrupts, except early data, which it skips.
func (f *secondHello) isPart(r recordSource, length int) (part, more bool, problem *refusal) {
	if f.earlyData || length > maxFinished {
		return false, true, nil
	}
	seen, more, problem := r.peek(5 + length)
	if !more {
		return false, false, problem
	}
	body, _, ok := splitHello(seen[5:])
	return !ok || body == nil, true, nil
}

func (f *secondHello) check(r recordSource) *refusal {
	raw, hello, err := r.hello()
	var problem *refusal
	switch {
	case asRefusal(err, &problem):
		return f.cut(problem)
	case err != nil:
		return errEnded
	}
	if problem := hello.check(f.to); problem != nil {
		return f.cut(problem)
	}
	return r.send(raw)
}

// clientRecords are the records that a pump reads from a client.
type clientRecords struct {
	*pump
	from *bufferedConn
}

func (r clientRecords) peek(n int) ([]byte, bool, *refusal) {
	for {
		r.extend(r.from)
		seen, err := r.from.stream.reader.Peek(n)
		if err == nil {
			return seen, true, nil
		}
		if done, problem := r.finished(err); done {
			return nil, false, problem
		}
	}
}

func (r clientRecords) pass(n int) *refusal {
	seen, _ := r.from.stream.reader.Peek(n)
	problem := r.send(seen)
	_, _ = r.from.stream.reader.Discard(n)
	return problem
}

func (r clientRecords) hello() ([]byte, clientHello, error) {
	return readClientHello(r.from.stream.reader)
}
