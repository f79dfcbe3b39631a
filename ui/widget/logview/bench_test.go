package logview

import (
	"fmt"
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

// BenchmarkLoad measures the work when the user scrolls to lines that are not in memory yet. The
// screen handles no key meanwhile.
func BenchmarkLoad(b *testing.B) {
	var text []byte
	for i := 0; len(text) < block; i++ {
		text = fmt.Appendln(text, 50_000+i)
	}
	w := window{width: 120, height: 36, hi: 1 << 30}
	w.feed(output.Chunk{Offset: 1 << 30, Data: []byte("the end\n")})
	for b.Loop() {
		w.lines, w.lo, w.hi = w.lines[len(w.lines)-1:], 1<<30, 1<<30+8
		w.prepend(1<<30-block, []output.Chunk{{Offset: 1<<30 - block, Data: text[:block]}})
	}
}
