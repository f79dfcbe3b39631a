package server

import (
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"

	"aibox/internal/fault"
)

// An unknown field may be a restriction of a later version, or misspelled. So it is an
// error, in JSON and in Protobuf.

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

// strictREST returns the JSON of REST without unknown fields.
func strictREST(resolver vanguard.TypeResolver) vanguard.Codec {
	codec := vanguard.NewJSONCodec(resolver)
	codec.UnmarshalOptions.DiscardUnknown = false
	return restCodec{codec}
}

// restCodec says that a body that it cannot read is the client's fault. Vanguard takes other
// errors of a codec for its own.
type restCodec struct{ *vanguard.JSONCodec }

var _ vanguard.RESTCodec = restCodec{}

// Unmarshal implements vanguard.Codec.
func (c restCodec) Unmarshal(data []byte, message proto.Message) error {
	return invalidBody(c.JSONCodec.Unmarshal(data, message))
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

// checkKnown refuses a message with fields that the server does not know.
func checkKnown(message proto.Message) error {
	if message == nil || !hasUnknown(message.ProtoReflect()) {
		return nil
	}
	return fault.New(fault.Usage, "the request has a field that this server does not know").Hint("the client may be of a later version than the server")
}

// hasUnknown reports whether a message or one in it has unknown fields.
func hasUnknown(m protoreflect.Message) bool {
	if len(m.GetUnknown()) > 0 {
		return true
	}
	found := false
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					found = hasUnknown(v.Message())
					return !found
				})
			}
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				found = found || hasUnknown(value.List().Get(i).Message())
			}
		default:
			found = hasUnknown(value.Message())
		}
		return !found
	})
	return found
}
