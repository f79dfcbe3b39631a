package screen

import (
	"strings"
	"testing"

	"aibox/internal/ctrlseq"

	uv "github.com/charmbracelet/ultraviolet"
)

// expensive are sequences that cause much work with few bytes, each with the maximum cost
// of one byte in cells on a screen of 24 by 80.
var expensive = []struct {
	name, bytes string
	most        int
}{
	{"repeated characters", "x\x1b[99999b", 250},
	{"repeated characters at the end", "x\x1b[24;1Hy\x1b[65535b", 150},
	{"repeated characters on full lines", "\x1b[65535b", 20},
	{"inserted characters", "\x1b[99999@", 20},
	{"deleted characters", "\x1b[99999P", 20},
	{"erased characters", "\x1b[99999X", 20},
	{"tabs", "\x1b[99999I\x1b[99999Z", 20},
	{"tab stops", "\x1bH\x1b[3g", 20},
	{"the cursor", "\x1b[99999A\x1b[99999B\x1b[99999C\x1b[99999D\x1b[99999;99999H", 20},
	{"styles", "\x1b[" + strings.Repeat("1;", 120) + "m", 20},
	{"too many styles", "\x1b[" + strings.Repeat("38;5;1;", 2000) + "m", 20},
	{"a test pattern", "\x1b#8", 20},
	{"character sets", "\x1b(0\x0e\x1b)B\x0f", 20},
	{"a size", "\x1b[8;9999;9999t\x1b[?3h", 1000},
	{"pictures", "\x1bPq" + strings.Repeat("#0~!99999~", 1000) + "\x1b\\", 20},
	{"kitty's pictures", "\x1b_Ga=T,s=99999,v=99999;" + strings.Repeat("A", 4000) + "\x1b\\", 20},
	{"an operating system command", "\x1b]4;" + strings.Repeat("1;?;", 2000) + "\x07", 20},
	{"inserted text", "\x1b[4hx", 60},
	// Each of these touches the whole screen, as on any terminal.
	{"lines", "\n", 2000},
	{"inserted lines", "\x1b[99999L", 1000},
	{"deleted lines", "\x1b[H\x1b[99999M", 1000},
	{"scrolling", "\x1b[99999S\x1b[99999T", 1000},
	{"a scroll region", "\x1b[2;3r\n", 1000},
	{"erasing the screen", "\x1b[2J", 1000},
	{"the alternate screen", "\x1b[?1049h\x1b[?1049l", 1000},
	{"resets", "\x1bc", 2000},
}

// 39 KB of repeated characters once took seconds, during which the screen was blocked.
func TestNoSequenceExceedsItsCostLimit(t *testing.T) {
	for _, c := range expensive {
		t.Run(c.name, func(t *testing.T) {
			s := NewCatching(Size{24, 80})
			times := 8<<10/len(c.bytes) + 1
			before := s.Work()
			_, _ = s.Write([]byte(strings.Repeat(c.bytes, times)))
			if cost := int(s.Work()-before) / (times * len(c.bytes)); cost > c.most {
				t.Errorf("a byte costs %d cells", cost)
			}
			if faults := s.Faults(); faults != nil {
				t.Errorf("the emulator failed: %q", faults)
			}
		})
	}
}

func TestRepeatedCharactersStopAtTheEndOfTheLine(t *testing.T) {
	s := New(Size{3, 10})
	_, _ = s.Write([]byte("ab\x1b[99999b\r\ncd\x1b[3b"))
	if got, want := plain(s), "abbbbbbbbb\ncdddd\n"; got != want {
		t.Errorf("it shows %q, not %q", got, want)
	}
}

// cells returns a copy of the cells of a screen, row by row.
func cells(s *Screen) []uv.Cell {
	var all []uv.Cell
	for y := range s.size.Rows {
		for x := range s.size.Cols {
			all = append(all, *s.at(x, y))
		}
	}
	return all
}

// FuzzWork writes any bytes in slices: each stays within its budget, the count is at least
// the number of changed cells, and the screen is the same as without slices.
func FuzzWork(f *testing.F) {
	for _, c := range expensive {
		f.Add([]byte(c.bytes), uint16(24), uint16(80), uint16(100))
	}
	f.Add([]byte("\x1b[2;4r\x1b[4hwrapped and inserted\x1b[4;1H\n\n漢字漢字漢字漢字"), uint16(5), uint16(7), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, rows, cols, slice uint16) {
		if len(data) > 1<<10 {
			return
		}
		size := Size{int(rows % 30), int(cols % 90)}
		whole, s := New(size), New(size)
		all := int64(s.size.Rows * s.size.Cols)
		most := int64(slice) + int64(ctrlseq.MaxText/s.size.Cols+4)*all + ctrlseq.MaxText + ctrlseq.MaxString
		for rest := data; len(rest) > 0; {
			shown, work := cells(s), s.Work()
			n := s.Advance(rest, int(slice))
			if n < 1 || n > len(rest) {
				t.Fatalf("%d of %d bytes were taken", n, len(rest))
			}
			rest = rest[n:]
			done := s.Work() - work
			if done > most {
				t.Fatalf("a slice of %d cells touched %d", slice, done)
			}
			changed := int64(0)
			for i, c := range cells(s) {
				if c != shown[i] {
					changed++
				}
			}
			// A switch of screens only shows content that existed before.
			if changed > done+all*int64(strings.Count(string(data), "\x1b")) || changed > 2*done+2 && !strings.Contains(string(data), "\x1b") {
				t.Fatalf("%d cells changed, %d were counted", changed, done)
			}
		}
		_, _ = whole.Write(data)
		if got, want := string(s.Text(TrueColors, false)), string(whole.Text(TrueColors, false)); got != want {
			t.Fatalf("in slices it shows\n%q, not\n%q", got, want)
		}
	})
}
