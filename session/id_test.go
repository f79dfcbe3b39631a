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
