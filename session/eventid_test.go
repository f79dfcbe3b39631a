package session

import "testing"

func TestEventIDIsShortAndParsesBack(t *testing.T) {
	for _, c := range []struct {
		id   ID
		want string
	}{
		{newID("codex", 144000), "03340/17"}, {newVerificationID(144000), string(newVerificationID(144000)) + "/17"},
	} {
		text := EventID{c.id, 17}.String()
		back, ok := ParseEventID(text)
		if text != c.want || !ok || back.Number != 17 || back.String() != text {
			t.Errorf("%q is %+v, not %q", text, back, c.want)
		}
	}
	if text := (EventID{}).String(); text != "" {
		t.Errorf("of nothing: %q", text)
	}
	for _, bad := range []string{"", "0dq4f", "/1", "0dq4f/", "0dq4f/-1", "0dq4f/1/2", "0dq4f/x", "../1", "0dq4f/99999999999999999999"} {
		if id, ok := ParseEventID(bad); ok {
			t.Errorf("%q is %+v", bad, id)
		}
	}
}
