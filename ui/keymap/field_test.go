package keymap

import "testing"

func TestAFieldIsStillUntilSomebodyTypes(t *testing.T) {
	field := Field("/")
	if cmd := field.Focus(); cmd != nil {
		t.Errorf("a field that has the keys asks for %T", cmd())
	}
	if field.Prompt != "/" {
		t.Errorf("it stands behind %q", field.Prompt)
	}
	field, cmd := field.Update(Press("x"))
	if field.Value() != "x" || cmd != nil {
		t.Errorf("%q is typed, and a command comes of it: %v", field.Value(), cmd != nil)
	}
}
