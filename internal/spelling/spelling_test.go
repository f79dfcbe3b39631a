package spelling

import (
	"strings"
	"testing"
)

func TestNearestFindsOnlySimilarNames(t *testing.T) {
	known := []string{"opencode", "codex", "shell", "log", "dns"}
	for word, want := range map[string]string{
		"codx": "codex", "CODEX": "codex", "op": "opencode", "opncode": "opencode", "shel": "shell",
		"foo": "", "dog": "log", "dsn": "dns", "lgo": "log", "logg": "log", "ran": "", "shlel": "shell",
		"aider": "", "": "", strings.Repeat("x", 1000): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
}
