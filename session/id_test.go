package session

import (
	"strings"
	"testing"
)

func TestIDsHaveNoOtherCharacters(t *testing.T) {
	for text, want := range map[string]bool{
		"0dq4f-codex": true, "0": true, "0-": true, strings.Repeat("a", 63): true,
		"": false, "-a": false, strings.Repeat("a", 64): false, "A": false, "a_b": false, "a/b": false, "a.b": false, "..": false, "a b": false, "aä": false, "a\n": false, "\x00": false,
	} {
		if _, err := ParseID(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestInternalSessionsAreHidden(t *testing.T) {
	for id, want := range map[ID]bool{newVerificationID(144000): true, newOpenedID(144003): true, newID("open", 144000): false, newID("verify", 144000): false} {
		if id.Hidden() != want || !IsID(string(id)) {
			t.Errorf("%s: hidden %v", id, id.Hidden())
		}
	}
}

func TestVerificationIDsMatchNoSessionPrefix(t *testing.T) {
	id := newVerificationID(144003)
	if !id.Hidden() || newID("verify", 144000).Hidden() {
		t.Error("verifications and other sessions are not distinguished")
	}
	if !IsID(string(id)) {
		t.Errorf("%s is no id", id)
	}
}
