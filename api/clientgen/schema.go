package main

import (
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// commentLines returns the lines of a comment without leading spaces.
func commentLines(comments protogen.CommentSet) []string {
	text := strings.TrimSpace(string(comments.Leading))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return lines
}

// enumPrefix returns the prefix of the values of an enum, such as SANDBOX_STATE_.
func enumPrefix(enum *protogen.Enum) string {
	return strings.TrimSuffix(string(enum.Values[0].Desc.Name()), "UNSPECIFIED")
}

// shortName returns a value of an enum without its prefix, such as RUNNING.
func shortName(enum *protogen.Enum, value *protogen.EnumValue) string {
	return strings.TrimPrefix(string(value.Desc.Name()), enumPrefix(enum))
}

// Messages of other packages that have a type of their own in each language.
const (
	timestamp = "google.protobuf.Timestamp"
	duration  = "google.protobuf.Duration"
	empty     = "google.protobuf.Empty"
	httpBody  = "google.api.HttpBody"
)

// wellKnown returns the full name of the message of a field if it is of another package.
func wellKnown(field *protogen.Field) string {
	if field.Message == nil || field.Message.Desc.ParentFile().Package() == "aibox.v1" {
		return ""
	}
	return string(field.Message.Desc.FullName())
}

// hasPresence reports whether a field can be absent.
func hasPresence(field *protogen.Field) bool {
	return field.Desc.HasPresence() && wellKnown(field) != httpBody
}

// isIdempotent reports whether a method can be called again if its answer was lost.
func isIdempotent(method *protogen.Method) bool {
	options, ok := method.Desc.Options().(*descriptorpb.MethodOptions)
	return ok && options.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
}

// hasKey reports whether a method can be called again if its request has a key.
func hasKey(method *protogen.Method) bool {
	return method.Input.Desc.Fields().ByName("idempotency_key") != nil
}

// streamFunction returns the name of the clients' function for a method that returns a stream. All streams
// of events, whose names end so, have keep-alive events.
func streamFunction(method *protogen.Method) string {
	if strings.HasSuffix(string(method.Output.Desc.Name()), "Event") {
		return "events"
	}
	return "stream"
}

// path returns the path of a method's URL.
func path(method *protogen.Method) string {
	return "/" + string(method.Parent.Desc.FullName()) + "/" + string(method.Desc.Name())
}

func isEmpty(message *protogen.Message) bool { return message.Desc.FullName() == empty }

// is64Bit reports whether a field is a number that JSON carries as a string.
func is64Bit(kind protoreflect.Kind) bool {
	switch kind {
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return true
	default:
		return false
	}
}

// snake converts the name of a method to lower case with underscores.
func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
		}
		out.WriteRune(r)
	}
	return strings.ToLower(out.String())
}

func lowerFirst(name string) string { return strings.ToLower(name[:1]) + name[1:] }
