// Package unary makes handlers and clients of the methods of the schema that take one message
// and return one. All share one instance of connect's generic code. An instance for each pair
// of messages, as connect's generator makes it, adds megabytes to the program. It knows no
// method.
package unary

import (
	"context"
	"maps"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// message is any message of the schema. It has the fields of the one it holds, so the codecs
// read and write it as that one.
type message struct{ proto.Message }

// pointer is a pointer to a generated message.
type pointer[T any] interface {
	*T
	proto.Message
}

// NewHandler returns the handler of a method, like connect.NewUnaryHandler. The request that
// method receives has a message, but no header and no peer: connect.CallInfoForHandlerContext
// has these. To an interceptor, a message is a proto.Message whose ProtoReflect is that of
// the generated message.
func NewHandler[Q, A any, PQ pointer[Q], PA pointer[A]](
	procedure string, method func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), options ...connect.HandlerOption,
) *connect.Handler {
	return newHandler(procedure, newMessage[Q, PQ], func(ctx context.Context, request proto.Message) (answer, error) {
		message, _ := request.(PQ) // made by newMessage
		response, err := method(ctx, connect.NewRequest((*Q)(message)))
		if err != nil || response == nil {
			return answer{}, err
		}
		return answer{PA(response.Msg), response.Header(), response.Trailer()}, nil
	}, options)
}

// answer is the result of a method; its message is nil if there is none.
type answer struct {
	message         proto.Message
	header, trailer http.Header
}

func newHandler(procedure string, newRequest func() proto.Message, method func(context.Context, proto.Message) (answer, error), options []connect.HandlerOption) *connect.Handler {
	return connect.NewUnaryHandler(procedure, func(ctx context.Context, r *connect.Request[message]) (*connect.Response[message], error) {
		a, err := method(ctx, r.Msg.Message)
		if err != nil || a.message == nil {
			return nil, err
		}
		response := connect.NewResponse(&message{a.message})
		maps.Copy(response.Header(), a.header)
		maps.Copy(response.Trailer(), a.trailer)
		return response, nil
	}, connect.WithHandlerOptions(options...), connect.WithRequestInitializer(initializer(newRequest)))
}

// initializer gives an empty message its generated message.
func initializer(newMessage func() proto.Message) func(connect.Spec, any) error {
	return func(_ connect.Spec, m any) error {
		if m, ok := m.(*message); ok {
			m.Message = newMessage()
		}
		return nil
	}
}

func newMessage[T any, P pointer[T]]() proto.Message { return P(new(T)) }
