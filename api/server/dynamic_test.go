package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// dynamic calls methods of a server about which it knows only what reflection reports, as
// grpcurl does.
type dynamic struct {
	t          *testing.T
	url, token string
	files      *protoregistry.Files
	services   []protoreflect.FullName
}

// reflectOn asks a server for its services and the files that define them.
func reflectOn(t *testing.T, url, token string) *dynamic {
	t.Helper()
	stream := grpcreflect.NewClient(h2c(), url, connect.WithGRPC()).NewStream(t.Context(), grpcreflect.WithRequestHeaders(http.Header{"Authorization": {"Bearer " + token}}))
	defer stream.Close()
	names, err := stream.ListServices()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*descriptorpb.FileDescriptorProto{}
	add := func(files []*descriptorpb.FileDescriptorProto, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			found[file.GetName()] = file
		}
	}
	for _, name := range names {
		add(stream.FileContainingSymbol(name))
	}
	for known := 0; known < len(found); { // with the files that they import
		known = len(found)
		for _, file := range found {
			for _, name := range file.GetDependency() {
				if found[name] == nil {
					add(stream.FileByFilename(name))
				}
			}
		}
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, file := range found {
		set.File = append(set.File, file)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	return &dynamic{t: t, url: url, token: token, files: files, services: names}
}

// call calls a method with a message as JSON over gRPC, and returns the answers as JSON.
func (d *dynamic) call(name protoreflect.FullName, message string) (answers []map[string]any, err error) {
	d.t.Helper()
	found, err := d.files.FindDescriptorByName(name)
	if err != nil {
		return nil, err
	}
	method, ok := found.(protoreflect.MethodDescriptor)
	if !ok || method.IsStreamingClient() {
		return nil, fmt.Errorf("%s is not a method with one message", name)
	}
	request := connect.NewRequest(dynamicpb.NewMessage(method.Input()))
	if err := protojson.Unmarshal([]byte(message), request.Msg); err != nil {
		return nil, err
	}
	request.Header().Set("Authorization", "Bearer "+d.token)
	path := fmt.Sprintf("%s/%s/%s", d.url, method.Parent().FullName(), method.Name())
	client := connect.NewClient[dynamicpb.Message, dynamicpb.Message](h2c(), path, connect.WithGRPC(), connect.WithSchema(method),
		connect.WithResponseInitializer(func(_ connect.Spec, answer any) error {
			message, ok := answer.(*dynamicpb.Message)
			if !ok {
				return errors.New("the answer is not dynamic")
			}
			*message = *dynamicpb.NewMessage(method.Output())
			return nil
		}))
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	if !method.IsStreamingServer() {
		answer, err := client.CallUnary(ctx, request)
		if err != nil {
			return nil, err
		}
		return []map[string]any{d.fields(answer.Msg)}, nil
	}
	stream, err := client.CallServerStream(ctx, request)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	for stream.Receive() {
		answers = append(answers, d.fields(stream.Msg()))
	}
	return answers, stream.Err()
}

// fields returns the fields of a message in the names of the schema.
func (d *dynamic) fields(message *dynamicpb.Message) map[string]any {
	fields := map[string]any{}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		fields[string(field.Name())] = value.Interface()
		return true
	})
	return fields
}

func TestReflectionIsEnoughToCallTheServer(t *testing.T) {
	s := newSite(t, nil)
	d := reflectOn(t, s.url, s.token("a"))
	made, err := d.call("aibox.v1.Sandboxes.Create", `{"name":"from reflection","limits":{"memoryMib":"256"}}`)
	if err != nil || len(made) != 1 {
		t.Fatalf("%v, %v", made, err)
	}
	id := fmt.Sprint(made[0]["sandbox_id"])
	if found, err := s.m.Get(t.Context(), "a", id); err != nil || found.Labels.Name != "from reflection" {
		t.Errorf("the sandbox is %+v, %v", found, err)
	}
	events, err := d.call("aibox.v1.Processes.Start", fmt.Sprintf(`{"sandboxId":%q,"argv":["echo","hello"]}`, id))
	if err != nil || len(events) < 2 {
		t.Fatalf("%v, %v", events, err)
	}
	if _, ended := events[len(events)-1]["exit"]; !ended {
		t.Errorf("the process has not ended: %v", events)
	}
	var failed *connect.Error
	if _, err := d.call("aibox.v1.Sandboxes.Get", `{"sandboxId":"none"}`); !errors.As(err, &failed) || failed.Code() != connect.CodeNotFound {
		t.Errorf("%v", err)
	}
}

// A file that reflection does not report, or reports with other files than the server uses,
// makes a service that no such client can call.
func TestReflectionDescribesEveryMethod(t *testing.T) {
	s := newSite(t, nil)
	d := reflectOn(t, s.url, s.token("a"))
	reported := 0
	for _, name := range d.services {
		found, err := d.files.FindDescriptorByName(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if service, ok := found.(protoreflect.ServiceDescriptor); ok {
			reported += service.Methods().Len()
		}
	}
	for _, method := range methods(t) {
		if _, err := d.files.FindDescriptorByName(method.FullName()); err != nil {
			t.Error(err)
		}
	}
	if reported < len(methods(t)) {
		t.Errorf("reflection reports %d methods of %d", reported, len(methods(t)))
	}
}
