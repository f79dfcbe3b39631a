package server

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"

	"aibox/internal/fault"
)

// An unknown field may be a restriction of a later version, or misspelled. So it is an
// error, in JSON and in Protobuf.

// Strict returns the options with which the handlers of another schema refuse fields and values
// that it does not have.
func Strict() []connect.HandlerOption {
	return append(strictCodecs(), connect.WithInterceptors(strictMessages{}))
}

func strictCodecs() []connect.HandlerOption {
	return []connect.HandlerOption{connect.WithCodec(strictJSON{"json"}), connect.WithCodec(strictJSON{"json; charset=utf-8"}), withUnpacker()}
}

// strictMessages refuses unknown fields and values in the messages of calls.
type strictMessages struct{}

// WrapUnary implements connect.Interceptor.
func (strictMessages) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		message, _ := r.Any().(proto.Message)
		// It can be larger than what has arrived, which may be compressed.
		if err := requestOf(ctx).messages().ReserveAll(int64(proto.Size(message))); err != nil {
			return nil, toConnect(ctx, err)
		}
		if err := invalidBody(checkKnown(message)); err != nil {
			return nil, err
		}
		return next(ctx, r)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (strictMessages) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (strictMessages) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return next(ctx, strictStream{conn, ctx})
	}
}

// strictStream is a stream whose messages are checked. Each counts among those of its tenant until
// the next one is wanted.
type strictStream struct {
	connect.StreamingHandlerConn

	ctx context.Context //nolint:containedctx // of one call
}

// Receive implements connect.StreamingHandlerConn.
func (s strictStream) Receive(message any) error {
	messages := requestOf(s.ctx).messages()
	if s.Spec().StreamType&connect.StreamTypeClient != 0 { // a single message is used until the call ends
		messages.Release()
	}
	if err := s.StreamingHandlerConn.Receive(message); err != nil {
		return err
	}
	m, _ := message.(proto.Message)
	if err := messages.ReserveAll(int64(proto.Size(m))); err != nil {
		return toConnect(s.ctx, err)
	}
	return invalidBody(checkKnown(m))
}

// strictJSON is a codec for JSON without unknown fields. Its value is its name.
type strictJSON struct{ name string }

var _ connect.Codec = strictJSON{}

// Name implements connect.Codec.
func (c strictJSON) Name() string { return c.name }

// Marshal implements connect.Codec.
func (strictJSON) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, errInternal
	}
	return protojson.Marshal(m)
}

// Unmarshal implements connect.Codec.
func (strictJSON) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return errInternal
	}
	if len(data) == 0 {
		return errEmptyBody
	}
	return protojson.Unmarshal(data, m)
}

var errEmptyBody = fault.New(fault.Usage, "the body is empty, which is no JSON").Hint("send {} for a request without fields")

// strictREST returns the JSON of REST without unknown fields, and without those of the path.
func strictREST(rules []restRule) func(vanguard.TypeResolver) vanguard.Codec {
	return func(resolver vanguard.TypeResolver) vanguard.Codec {
		codec := vanguard.NewJSONCodec(resolver)
		codec.UnmarshalOptions.DiscardUnknown = false
		return restCodec{codec, rules}
	}
}

// restCodec says that a body that it cannot read is the client's fault. Vanguard takes other
// errors of a codec for its own.
type restCodec struct {
	*vanguard.JSONCodec

	rules []restRule
}

var _ vanguard.RESTCodec = restCodec{}

// Unmarshal implements vanguard.Codec.
func (c restCodec) Unmarshal(data []byte, message proto.Message) error {
	err := c.JSONCodec.Unmarshal(data, message)
	if err == nil {
		err = checkBody(c.rules, message)
	}
	return invalidBody(err)
}

// UnmarshalField implements vanguard.RESTCodec.
func (c restCodec) UnmarshalField(data []byte, message proto.Message, field protoreflect.FieldDescriptor) error {
	return invalidBody(c.JSONCodec.UnmarshalField(data, message, field))
}

func invalidBody(err error) error {
	if err == nil {
		return nil
	}
	return connect.NewError(connect.CodeInvalidArgument, err)
}

// checkKnown refuses a message with fields or values that the server does not know. A value
// of a later version must not act as the default.
func checkKnown(message proto.Message) error {
	if message == nil {
		return nil
	}
	if unknown := unknownIn(message.ProtoReflect(), ""); unknown != "" {
		return fault.New(fault.Usage, "this server does not know %s", unknown).Hint("the client may be of a later version than the server")
	}
	return nil
}

// unknownIn returns a clause about the first unknown field, or unknown value of an
// enumeration, in a message and the messages in it; empty if there is none. at is the path
// of the message in the request, with a dot at its end.
func unknownIn(m protoreflect.Message, at string) (unknown string) {
	if number, _, n := protowire.ConsumeTag(m.GetUnknown()); n > 0 {
		return fmt.Sprintf("the field %s%d of the request", at, number)
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		at := at + string(field.Name())
		check := func(value protoreflect.Value) bool {
			switch {
			case field.Enum() != nil && field.Enum().Values().ByNumber(value.Enum()) == nil:
				unknown = fmt.Sprintf("the value %d of %s", value.Enum(), at)
			case field.Message() != nil:
				unknown = unknownIn(value.Message(), at+".")
			}
			return unknown == ""
		}
		switch {
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					unknown = unknownIn(v.Message(), at+".")
					return unknown == ""
				})
			}
		case field.IsList():
			if field.Enum() == nil && field.Message() == nil {
				break // long lists of texts need no look
			}
			for i := range value.List().Len() {
				if !check(value.List().Get(i)) {
					break
				}
			}
		default:
			return check(value)
		}
		return unknown == ""
	})
	return unknown
}
