package attend

import (
	"strings"
	"testing"
)

func BenchmarkSearch(b *testing.B) {
	s := ended()
	s.record = nil
	text := strings.Repeat("a line of a long record that says a good deal about what it does, and then some\n", 400)
	for range 100 {
		s.say(1, text)
	}
	b.SetBytes(s.size())
	for b.Loop() {
		scan := scan{ctx: b.Context(), sessions: s, id: id, words: "needle"}
		if at := scan.first(0, func(line) bool { return true }); at >= 0 {
			b.Fatal(at)
		}
	}
}
