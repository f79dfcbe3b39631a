package output

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestCastHasWholeCharactersAndTheTimeOfEachPiece(t *testing.T) {
	begin := time.UnixMilli(1_700_000_000_000)
	cast := Cast{Lines: true}
	var lines []string
	for i, piece := range []Chunk{
		{Stream: Stdout, Data: []byte("a\xe6\xbc")}, {Stream: Stderr, Data: []byte("\xff\n")}, {Stream: Stdout, Data: []byte("\xa2\n")}, {Stream: Stdout, Data: []byte("\xc3")},
	} {
		piece.Time = begin.Add(time.Duration(i) * 1500 * time.Millisecond)
		e, ok := cast.Add(piece)
		if !ok {
			continue
		}
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(data))
	}
	want := `[0,"o","a"] [1.5,"o","` + "\uFFFD" + `\r\n"] [3,"o","漢\r\n"]`
	if got := strings.Join(lines, " "); got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
}

// FuzzCast plays arbitrary output: split in any way, it gives the same valid text.
func FuzzCast(f *testing.F) {
	f.Add([]byte("plain \xe6\xbc\xa2 \xff\x00\n"), 2)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		play := func(size int) string {
			var cast Cast
			var text strings.Builder
			for rest := data; len(rest) > 0; {
				n := min(max(1, size), len(rest))
				if e, ok := cast.Add(Chunk{Stream: Stdout, Data: rest[:n]}); ok {
					text.WriteString(e.Text)
				}
				rest = rest[n:]
			}
			return text.String()
		}
		whole, pieces := play(len(data)), play(size)
		if !utf8.ValidString(whole) || !utf8.ValidString(pieces) {
			t.Fatalf("not valid text: %q", whole)
		}
		// Bytes that are not UTF-8 become one replacement for each piece that contains them.
		squeeze := func(text string) string { return strings.ReplaceAll(text, "\uFFFD", "") }
		if squeeze(whole) != squeeze(pieces) {
			t.Fatalf("in pieces of %d: %q, at once %q", size, pieces, whole)
		}
	})
}
