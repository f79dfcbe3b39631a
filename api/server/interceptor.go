package server

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/budget"
	"aibox/internal/fault"
)

// interceptor checks the right of each call of the schema, records it, and gives its error
// the shape that all errors have.
type interceptor struct{ server *Server }

// WrapUnary implements connect.Interceptor.
func (i *interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		var response connect.AnyResponse
		message, _ := r.Any().(proto.Message)
		about := func() (of, result string) {
			if response == nil {
				return subject(message), ""
			}
			return subject(message), made(response.Any())
		}
		err := i.call(ctx, r.Spec(), about, func() (err error) {
			// It can be larger than what has arrived, which may be compressed.
			if err := requestOf(ctx).messages().ReserveAll(int64(proto.Size(message))); err != nil {
				return err
			}
			if err := checkKnown(message); err != nil {
				return err
			}
			if response, err = next(ctx, r); err != nil {
				return err
			}
			// It stays in memory until its reader has it. What a call has changed is always answered.
			if method, _ := r.Spec().Schema.(protoreflect.MethodDescriptor); isRead(method) {
				answer, _ := response.Any().(proto.Message)
				return budget.ReserveAll(ctx, int64(proto.Size(answer)))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return response, nil
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (i *interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (i *interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		first := &firstMessage{StreamingHandlerConn: conn, messages: requestOf(ctx).messages()}
		return i.call(ctx, conn.Spec(), func() (of, result string) { return first.subject, first.made }, func() error { return next(ctx, first) })
	}
}

// firstMessage remembers the subject of the first message of a call. Of a stream, it counts each
// message until the next one is wanted.
type firstMessage struct {
	connect.StreamingHandlerConn
	subject  string
	made     string // by the call, if it has one answer
	messages *budget.Call
}

func (f *firstMessage) Receive(message any) error {
	if f.Spec().StreamType&connect.StreamTypeClient != 0 { // a single message is used until the call ends
		f.messages.Release()
	}
	err := f.StreamingHandlerConn.Receive(message)
	var full *fault.Fault
	if errors.As(err, &full) { // of the body
		return full
	}
	if err != nil {
		return err
	}
	m, ok := message.(proto.Message)
	if !ok {
		return nil
	}
	if f.subject == "" {
		f.subject = subject(m)
	}
	if err := f.messages.ReserveAll(int64(proto.Size(m))); err != nil {
		return err
	}
	return checkKnown(m)
}

func (f *firstMessage) Send(message any) error {
	if f.Spec().StreamType == connect.StreamTypeClient {
		f.made = made(message)
	}
	return f.StreamingHandlerConn.Send(message)
}

// call checks, performs and records one call. about returns its subject, and what it has made.
func (i *interceptor) call(ctx context.Context, spec connect.Spec, about func() (of, result string), do func() error) error {
	begin := time.Now()
	requestOf(ctx).intercepted = true
	caller := auth.From(ctx)
	method, _ := spec.Schema.(protoreflect.MethodDescriptor)
	err := caller.Check(rightOf(method))
	begun := err == nil
	if begun {
		err = do()
	}
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errUnauthenticated) || errors.Is(cause, errTokens)) {
		err = cause // it ended the call; see whileValid
	}
	if err != nil || !isRead(method) {
		of, result := about()
		i.server.record(ctx, Call{Tenant: caller.Tenant, Token: caller.Token, Method: spec.Procedure[1:], Subject: of, Made: result, Took: time.Since(begin), Err: err, Acted: begun && !isRead(method)})
	}
	if err != nil {
		return toConnect(ctx, err)
	}
	return nil
}

// rightOf returns the right that a method needs. No caller has the right for an unknown method.
func rightOf(method protoreflect.MethodDescriptor) aiboxv1.Right {
	if method == nil {
		return aiboxv1.Right_RIGHT_UNSPECIFIED
	}
	right, _ := proto.GetExtension(method.Options(), aiboxv1.E_Right).(aiboxv1.Right)
	return right
}

// isRead reports whether a method changes nothing.
func isRead(method protoreflect.MethodDescriptor) bool {
	options, ok := method.Options().(*descriptorpb.MethodOptions)
	return ok && options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

// subjects are the fields that name the subject of a call.
var subjects = []protoreflect.Name{"sandbox_id", "session_id", "id", "name", "snapshot_id"}

// subject returns the subject of a message.
func subject(message proto.Message) string {
	if message == nil {
		return ""
	}
	m := message.ProtoReflect()
	for _, name := range subjects {
		if field := m.Descriptor().Fields().ByName(name); field != nil && field.Kind() == protoreflect.StringKind && !field.IsList() {
			if text := m.Get(field).String(); text != "" {
				return text
			}
		}
	}
	return ""
}

// ids are the fields with the ids of what calls can make, by the messages that describe it.
var ids = map[protoreflect.FullName]protoreflect.Name{
	"aibox.v1.Sandbox": "sandbox_id", "aibox.v1.Session": "session_id", "aibox.v1.Snapshot": "snapshot_id", "aibox.v1.Tree": "tree_id",
}

// made returns the id of what a call has made, or has answered about; empty if its answer has none.
func made(answer any) string {
	message, ok := answer.(proto.Message)
	if !ok {
		return ""
	}
	m := message.ProtoReflect()
	name, ok := ids[m.Descriptor().FullName()]
	if !ok {
		return ""
	}
	return m.Get(m.Descriptor().Fields().ByName(name)).String()
}
