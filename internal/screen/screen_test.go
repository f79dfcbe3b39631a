package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// terminal is the user's terminal that shows the output of a Painter: another emulator,
// which supports everything that Enter, a Painter and Leave use.
type viewer struct {
	*Painter
	shows *Screen
	got   bytes.Buffer // all that reached it
}

func newViewer(size Size, colors Colors) *viewer {
	p := &viewer{Painter: NewPainter(size, colors), shows: New(size)}
	p.take(Enter)
	return p
}

func (p *viewer) take(out string) {
	p.got.WriteString(out)
	_, _ = p.shows.Write([]byte(out))
}

// look paints the current screen.
func (p *viewer) look(s *Screen) {
	out, _ := p.Paint(s)
	p.take(string(out))
}

func written(size Size, text string) *Screen {
	s := New(size)
	_, _ = s.Write([]byte(text))
	return s
}

func plain(s *Screen) string { return string(s.Text(NoColors, false)) }

func TestScreenShowsTheSameAsATerminal(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"lines", "one\r\ntwo", "one\ntwo\n"},
		{"wrapping", "0123456789ab", "0123456789\nab\n"},
		{"scrolling", "1\r\n2\r\n3\r\n4\r\n5\r\n6", "2\n3\n4\n5\n6\n"},
		{"cursor", "\x1b[2;3Hx\x1b[Hy", "y\n  x\n"},
		{"row and column alone", "\x1b[3dx\x1b[5Gy", "\n\nx   y\n"},
		{"position without numbers", "abc\x1b[;Hx", "xbc\n"},
		{"erasing", "abc\x1b[2J\x1b[Hx", "x\n"},
		{"erasing what has scrolled off", "abc\x1b[3J", "abc\n"},
		{"erasing in the line", "abcdef\x1b[3G\x1b[K", "ab\n"},
		{"insert and delete", "abcd\x1b[2G\x1b[@x\x1b[3G\x1b[P", "axcd\n"},
		{"insert mode", "abcd\x1b[2G\x1b[4hxy\x1b[4lZ", "axyZcd\n"},
		{"scroll region", "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3H\n", "a\nc\n\nd\n"},
		{"scroll region beyond the screen", "a\x1b[1;99r\x1b[99H\nb", "\n\n\n\nb\n"},
		{"reverse index", "a\r\nb\x1b[H\x1bMc", "c\na\nb\n"},
		{"saved cursor", "ab\x1b7cd\x1b8x", "abxd\n"},
		{"saved cursor of SCO", "ab\x1b[scd\x1b[ux", "abxd\n"},
		{"line drawing", "\x1b(0lqk\x1b(B-", "┌─┐-\n"},
		{"next line", "a\x1bEb", "a\nb\n"},
		{"reset", "abc\x1b[2;3r\x1bcx", "x\n"},
		{"soft reset", "\x1b[2;3r\x1b[?6h\x1b[!p\x1b[Hx", "x\n"},
		{"tabs", "a\tb", "a       b\n"},
		{"repeat", "a\x1b[3bz", "aaaaz\n"},
		{"alternate screen", "main\x1b[?1049hother\x1b[?1049l+", "main+\n"},
		{"alternate screen is cleared", "\x1b[?1049hold\x1b[?1049l\x1b[?1049hnew", "new\n"},
		{"wide", "漢字x", "漢字x\n"},
		{"wide in the last columns", "12345678漢x", "12345678漢\nx\n"},
		{"wide without room", "123456789漢x", "123456789\n漢x\n"},
		{"color between wide and next", "12345678漢\x1b[31mx", "12345678漢\nx\n"},
		{"moved back from the edge", "12345678漢\x1b[1Gx", "x2345678漢\n"},
		{"marks", "e\u0301x", "e\u0301x\n"},
		{"a family", "\U0001f468\u200d\U0001f469\u200d\U0001f467x", "\U0001f468\u200d\U0001f469\u200d\U0001f467x\n"},
		{"cut off", "a\x1b]0;tit", "a\n"},
		{"interrupted", "a\x1b[3\x1b[31mb", "ab\n"},
		{"canceled", "a\x1b[3\x18b", "ab\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			size := Size{5, 10}
			if got := plain(written(size, c.in)); got != c.want {
				t.Errorf("it shows %q, not %q", got, c.want)
			}
			s := New(size) // byte by byte
			for i := range len(c.in) {
				_, _ = s.Write([]byte{c.in[i]})
			}
			if got := plain(s); got != c.want && c.name != "a family" {
				t.Errorf("byte by byte it shows %q, not %q", got, c.want)
			}
			if faults := s.Faults(); faults != nil {
				t.Errorf("the emulator failed: %q", faults)
			}
		})
	}
}

func TestScreenAnswersEveryTerminalQuery(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"cursor position", "ab\r\nc\x1b[6n", "\x1b[2;2R"},
		{"extended cursor position", "\x1b[?6n", "\x1b[?1;1R"},
		{"status", "\x1b[5n", "\x1b[0n"},
		{"device", "\x1b[c\x1b[0c", "\x1b[?62;22c\x1b[?62;22c"},
		{"secondary device", "\x1b[>c", "\x1b[>1;10;0c"},
		{"known mode", "\x1b[?2004h\x1b[?2004$p\x1b[?25$p\x1b[?1004$p", "\x1b[?2004;1$y\x1b[?25;1$y\x1b[?1004;2$y"},
		{"unknown mode", "\x1b[?31337$p", "\x1b[?31337;0$y"},
		{"size", "\x1b[18t", "\x1b[8;5;10t"},
		{"colors", "\x1b]11;?\x07\x1b]10;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\\x1b]10;rgb:c0c0/c0c0/c0c0\x1b\\"},
		{"palette", "\x1b]4;1;?;2;?\x07", "\x1b]4;1;rgb:8080/0000/0000\x1b\\\x1b]4;2;rgb:0000/8080/0000\x1b\\"},
		{"setting", "\x1bP$qm\x1b\\", "\x1bP0$r\x1b\\"},
		{"terminfo", "\x1bP+q544e\x1b\\", "\x1bP0+r\x1b\\"},
		{"what would echo", "\x1b]0;rm -rf\x07\x1b[21t\x1b]52;c;?\x07\x1bP$qrm -rf\r\x1b\\\x05\x1b[>q\x1b[?u", "\x1bP0$r\x1b\\"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(written(Size{5, 10}, c.in).Answers()); got != c.want {
				t.Errorf("the answer is %q, not %q", got, c.want)
			}
		})
	}
}

func TestEndlessTerminalQueriesGetBoundedAnswers(t *testing.T) {
	s := written(Size{5, 10}, strings.Repeat("\x1b[6n", 100_000))
	if got := len(s.Answers()); got == 0 || got > maxAnswers {
		t.Errorf("%d bytes of answers", got)
	}
	if s.Answers() != nil {
		t.Error("answers come twice")
	}
}

func TestTerminalShowsTheScreenAfterEachPaint(t *testing.T) {
	s := New(Size{5, 12})
	p := newViewer(Size{5, 12}, TrueColors)
	for _, step := range []string{
		"hello", "\r\n\x1b[1;38;2;10;20;30mcolor\x1b[m plain", "\x1b[2;1H漢字", "\x1b[2;2Hx", "\x1b[?1049h\x1b[44mblue\x1b[K",
		"\x1b[2J", "\x1b[3;4H\x1b[7mreverse\x1b[m", "\x1b[?1049l", "\x1b[5;11Hab\ncd", "\x1b[4:3;9;38;5;200mz\x1b[0m", "\x1bc",
	} {
		_, _ = s.Write([]byte(step))
		p.look(s)
		if got, want := string(p.shows.Text(TrueColors, false)), string(s.Text(TrueColors, false)); got != want {
			t.Errorf("after %q it shows\n%q, not\n%q", step, got, want)
		}
		if got, want := p.shows.current().CursorPosition(), s.current().CursorPosition(); got != want && !s.modes.hidden {
			t.Errorf("after %q its cursor is at %v, not %v", step, got, want)
		}
	}
}

func TestNothingIsSentWhenNothingHasChanged(t *testing.T) {
	s := written(Size{5, 12}, "hello\x1b[?2004h")
	p := newViewer(Size{5, 12}, TrueColors)
	if _, full := p.Paint(s); !full {
		t.Error("the first paint is not of everything")
	}
	if out, full := p.Paint(s); len(out) != 0 || full {
		t.Errorf("it sends %q", out)
	}
	_, _ = s.Write([]byte("\x1b[1;3HL"))
	if out, _ := p.Paint(s); len(out) > 30 || !bytes.Contains(out, []byte("L")) {
		t.Errorf("for one character it sends %q", out)
	}
}

func TestTerminalOfAnotherSizeShowsThePartThatFits(t *testing.T) {
	s := written(Size{4, 10}, "0123456789\r\nab\x1b[4;10HZ")
	small := newViewer(Size{2, 4}, NoColors)
	small.look(s)
	if got := plain(small.shows); got != "0123\nab\n" || !small.shows.modes.hidden {
		t.Errorf("a small one shows %q, the cursor hidden: %v", got, small.shows.modes.hidden)
	}
	large := newViewer(Size{9, 20}, NoColors)
	large.take("\x1b[Hrubbish everywhere")
	large.look(s)
	if got := plain(large.shows); got != "0123456789\nab\n\n         Z\n" {
		t.Errorf("a large one shows %q", got)
	}
	large.Resize(Size{4, 10})
	large.shows.Resize(Size{4, 10})
	large.take("\x1b[3;1Hwhatever")
	large.look(s)
	if got := plain(large.shows); got != "0123456789\nab\n\n         Z\n" {
		t.Errorf("resized it shows %q", got)
	}
}

func TestHarmlessModesAreMirroredAndReset(t *testing.T) {
	s := New(Size{4, 10})
	p := newViewer(Size{4, 10}, NoColors)
	before := p.shows.modes
	for _, modes := range []string{
		"\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[?1002h\x1b[?1006h\x1b[?25l\x1b[5 q",
		"\x1b[?1003h\x1b[?2004l", "\x1b[?1003l\x1b[?25h\x1b[0 q", "\x1b[?1000;1006h",
		"\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[?1002h\x1b[?1006h\x1b[?25l\x1b[5 q", // stays set until Leave
	} {
		_, _ = s.Write([]byte(modes))
		p.look(s)
		got, want := p.shows.modes, s.modes
		got.alt, got.autowrap = want.alt, want.autowrap
		if got != want {
			t.Errorf("after %q it has %+v, not %+v", modes, got, want)
		}
	}
	p.take(Leave)
	before.alt, before.autowrap = false, true
	if p.shows.modes != before {
		t.Errorf("Leave leaves %+v, not %+v", p.shows.modes, before)
	}
}

func TestColorsMatchTheTerminalsColors(t *testing.T) {
	s := written(Size{1, 20}, "\x1b[1;31ma\x1b[0;38;5;123mb\x1b[0;48;2;255;0;1mc")
	for colors, want := range map[Colors]string{
		TrueColors: "\x1b[0;1;31ma\x1b[0;38;5;123mb\x1b[0;48;2;255;0;1mc",
		Colors256:  "\x1b[0;1;31ma\x1b[0;38;5;123mb\x1b[0;48;5;196mc",
		Colors16:   "\x1b[0;1;31ma\x1b[0;96mb\x1b[0;101mc",
		NoColors:   "\x1b[0;1ma\x1b[0mb\x1b[0mc",
	} {
		out, _ := NewPainter(Size{1, 20}, colors).Paint(s)
		if !strings.Contains(string(out), want) {
			t.Errorf("with %d colors it sends %q", colors, out)
		}
	}
}

func TestTextIsTheRestOfTheMainScreen(t *testing.T) {
	s := written(Size{5, 20}, "\r\n\x1b[32mdone\x1b[m   \r\n\x1b[?1049hother")
	if got := string(s.Text(Colors16, true)); got != "\n\x1b[0;32mdone\x1b[m\n" {
		t.Errorf("it is %q", got)
	}
	if got := plain(New(Size{5, 20})); got != "" {
		t.Errorf("an empty screen has %q", got)
	}
}

func TestScreenSizeIsAlwaysValid(t *testing.T) {
	for in, want := range map[Size]Size{
		{}: {24, 80}, {0, 50}: {24, 80}, {-1, -1}: {24, 80}, {1, 1}: {1, 2}, {65535, 65535}: {maxRows, maxCols}, {30, 100}: {30, 100},
	} {
		if got := New(in).Size(); got != want {
			t.Errorf("%v becomes %v", in, got)
		}
	}
}

func TestFailedScreenIsClearedAndContinues(t *testing.T) {
	s := written(Size{5, 10}, "before")
	s.guarded(func() { panic("out of range") })
	_, _ = s.Write([]byte("after"))
	if got := fmt.Sprint(plain(s), s.Faults()); got != "after\n[out of range]" {
		t.Errorf("it shows %q", got)
	}
}
