package server

import (
	"reflect"
	"testing"

	"aibox/api/store"

	"google.golang.org/protobuf/reflect/protoreflect"
)

func TestTheSchemaHasEveryBoundOfAQuota(t *testing.T) {
	var quota store.Quota
	bounds := reflect.ValueOf(&quota).Elem()
	for i := range bounds.NumField() {
		if field := bounds.Field(i); field.CanInt() {
			field.SetInt(int64(i + 1))
		} else {
			field.SetFloat(float64(i + 1))
		}
	}
	seen := map[string]bool{}
	toQuota(quota).ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		seen[value.String()] = true
		return true
	})
	if len(seen) != bounds.NumField() {
		t.Errorf("the schema has %d of %d bounds", len(seen), bounds.NumField())
	}
}
