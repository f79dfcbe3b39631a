package screen

import (
	"strings"
	"testing"
)

func TestNoScrolledLineIsLost(t *testing.T) {
	for _, test := range []struct{ in, off, shown string }{
		{"", "", ""},
		{"one\r\ntwo", "", "one\ntwo\n"},
		{"1\r\n2\r\n3\r\n4\r\n5", "1\n2\n", "3\n4\n5\n"},
		{"1\r\n\r\n\r\n4\r\n5\r\n", "1\n\n\n", "4\n5\n"},
		{"a line that is wrapped twice or more often", "a line tha\nt is wrapp\n", "ed twice o\nr more oft\nen\n"},
		{"\x1b[31mred\x1b[m on\r\n2\r\n3\r\n4", "\x1b[0;31mred\x1b[0m on\x1b[m\n", "2\n3\n4\n"},
		// Text that is drawn over is gone.
		{"50%\r100%\r\n2\r\n3\r\n4", "100%\n", "2\n3\n4\n"},
		{"1\r\n2\x1b[A\r\x1b[Jnew\r\n2\r\n3\r\n4", "new\n", "2\n3\n4\n"},
		// The alternate screen keeps nothing.
		{"1\r\n\x1b[?1049ha\r\nb\r\nc\r\nd\r\ne\x1b[?1049l2\r\n3\r\n4", "1\n", "2\n3\n4\n"},
		// Nothing remains of bytes that are not text.
		{"\x1b]0;title\x07x\x1b]52;c;ZXZpbA==\x07\r\n\u202e\r\n3\r\n4\r\n5\x1b[6n", "x\n\ufffd\n", "3\n4\n5\n"},
		{"1\r\n2\r\n\x1bc3\r\n4\r\n5\r\n6", "3\n", "4\n5\n6\n"},
	} {
		s := NewCatching(Size{3, 10})
		_, _ = s.Write([]byte(test.in))
		if off, shown := string(s.Scrolled()), string(s.Text(TrueColors, false)); off != test.off || shown != test.shown {
			t.Errorf("%q: %q is off and %q shown, not %q and %q", test.in, off, shown, test.off, test.shown)
		}
		if again := s.Scrolled(); again != nil {
			t.Errorf("%q: %q is returned twice", test.in, again)
		}
	}
}

func TestLargeScrollsAreCapturedWhole(t *testing.T) {
	s := NewCatching(Size{2, 2})
	_, _ = s.Write([]byte(strings.Repeat("ab", 5000)))
	if n := strings.Count(string(s.Scrolled()), "ab\n"); n != 4998 {
		t.Errorf("%d rows of 4998", n)
	}
	s = NewCatching(Size{maxRows, 2})
	_, _ = s.Write([]byte(strings.Repeat("x\r\n", maxRows-1) + "\x1b[9999S"))
	if n := strings.Count(string(s.Scrolled()), "\n"); n != maxRows {
		t.Errorf("%d rows of %d", n, maxRows)
	}
}

func TestScrolledLinesAreNotCapturedUnlessRequested(t *testing.T) {
	s := New(Size{2, 10})
	_, _ = s.Write([]byte("1\r\n2\r\n3\r\n4"))
	if off := s.Scrolled(); off != nil {
		t.Errorf("%q", off)
	}
}
