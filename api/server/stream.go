package server

import (
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"aibox/internal/fault"
)

// pieces reads the pieces of a stream of messages as one.
type pieces struct {
	next func() ([]byte, error) // io.EOF at the end
	rest []byte
}

func (p *pieces) Read(to []byte) (int, error) {
	for len(p.rest) == 0 {
		var err error
		if p.rest, err = p.next(); err != nil {
			return 0, err
		}
	}
	n := copy(to, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// receiver returns a reader of a stream whose first message was received already.
func receiver[T any](stream *connect.ClientStream[T], rest []byte, data func(*T) []byte) io.Reader {
	first := stream.Msg()
	return &pieces{rest: rest, next: func() ([]byte, error) {
		if stream.Receive() {
			return data(stream.Msg()), checkLater(first, stream.Msg())
		}
		if err := stream.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}}
}

// firstOf receives the first message of a stream.
func firstOf[T any](stream *connect.ClientStream[T]) (*T, error) {
	if stream.Receive() {
		return stream.Msg(), nil
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.Usage, "the call has no message")
}

// checkLater refuses a later message of a stream whose fields, besides its piece, differ from
// those of the first one.
func checkLater(first, later any) (err error) {
	of, ok := first.(proto.Message)
	message, isMessage := later.(proto.Message)
	if !ok || !isMessage {
		return errInternal
	}
	message.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Message() == nil && !value.Equal(of.ProtoReflect().Get(field)) {
			err = fault.New(fault.Usage, "a later message has another %s than the first one", field.Name()).Hint("give it in the first message only")
		}
		return err == nil
	})
	return err
}
