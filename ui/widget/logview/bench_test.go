package logview

import (
	"strings"
	"testing"

	"aibox/session/output"
)

func BenchmarkSearch(b *testing.B) {
	s := &scene{}
	text := strings.Repeat("a line of a long record that says a good deal about what it does, and then some\n", 400)
	for range 100 {
		s.say(output.Stdout, text)
	}
	b.SetBytes(s.size())
	for b.Loop() {
		scan := scan{ctx: b.Context(), source: s, words: "needle"}
		if at := scan.first(0, func(line) bool { return true }); at >= 0 {
			b.Fatal(at)
		}
	}
}
