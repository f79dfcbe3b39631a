package server

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"aibox/app/sandbox"
	"aibox/session"
)

// fill sets every field of a value to one that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1000, 0)))
			return
		}
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), reflect.ValueOf("value"))
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1 << 20)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Interface, reflect.Func: // causes of errors
	default:
		t.Fatalf("a field is a %s", v.Kind())
	}
}

// empty returns the fields of a message that are not set, also of those in it.
func empty(m protoreflect.Message, path string) []string {
	var all []string
	for i := range m.Descriptor().Fields().Len() {
		field := m.Descriptor().Fields().Get(i)
		name := path + "." + string(field.Name())
		switch {
		case !m.Has(field):
			all = append(all, name)
		case field.Message() == nil || field.IsMap() || field.Message().ParentFile().Package() != "aibox.v1":
		case field.IsList():
			all = append(all, empty(m.Get(field).List().Get(0).Message(), name)...)
		default:
			all = append(all, empty(m.Get(field).Message(), name)...)
		}
	}
	return all
}

func TestEveryFieldOfASandboxIsAnswered(t *testing.T) {
	var s sandbox.Sandbox
	fill(t, reflect.ValueOf(&s).Elem())
	s.State, s.Network.Policy, s.OnTimeout = sandbox.Paused, "allowlist", session.Pause
	refused := []string{"Sandbox.permissions.read", "Sandbox.permissions.programs"} // at each creation
	if missing := empty(toSandbox(&s).ProtoReflect(), "Sandbox"); !slices.Equal(missing, refused) {
		t.Errorf("%q are empty, want %q", missing, refused)
	}
}
