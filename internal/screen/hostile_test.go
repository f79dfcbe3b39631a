package screen

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"aibox/internal/ctrlseq"
)

// attacks are outputs that must not reach the user's terminal, each with a canary that
// would be visible there.
var attacks = []struct{ name, bytes, canary string }{
	{"title", "\x1b]0;CANARY\x07", "CANARY"},
	{"icon", "\x1b]1;CANARY\x1b\\", "CANARY"},
	{"clipboard", "\x1b]52;c;Q0FOQVJZ\x07", "Q0FOQVJZ"},
	{"clipboard asked for", "\x1b]52;c;?\x07", "52;c"},
	{"link", "\x1b]8;;http://CANARY/\x1b\\x\x1b]8;;\x1b\\", "CANARY"},
	{"notification", "\x1b]9;CANARY\x07\x1b]777;notify;CANARY;CANARY\x07", "CANARY"},
	{"working directory", "\x1b]7;file://CANARY/\x07", "CANARY"},
	{"palette", "\x1b]4;1;rgb:CA/NA/RY\x07\x1b]11;#CA4A41\x07", "]11"},
	{"iTerm", "\x1b]1337;SetProfile=CANARY\x07", "CANARY"},
	{"sixel", "\x1bPq#0;2;CANARY\x1b\\", "CANARY"},
	{"terminal's settings", "\x1bP$qCANARY\x1b\\", "CANARY"},
	{"tmux", "\x1bPtmux;\x1b\x1b]52;c;CANARY\x07\x1b\\", "]52"},
	{"kitty's graphics", "\x1b_Gi=1;CANARY\x1b\\", "CANARY"},
	{"privacy message", "\x1b^CANARY\x1b\\", "CANARY"},
	{"start of string", "\x1bXCANARY\x1b\\", "CANARY"},
	{"device question", "\x1b[c\x1b[>c\x1b[=c\x1b[>q\x1b[x", "\x1b[>c"},
	{"cursor question", "\x1b[6n", "\x1b[6n"},
	{"mode question", "\x1b[?2004$p", "$p"},
	{"title question", "\x1b[21t", "\x1b[21t"},
	{"window", "\x1b[3;0;0t\x1b[8;1;1t", "t"},
	{"answerback", "\x05", "\x05"},
	{"bell", "\x07", "\x07"},
	{"printer", "\x1b[5i\x1b[?5i", "i"},
	{"keyboard", "\x1b[>4;2m\x1b[>1u\x1b[?2017h", "\x1b[>"},
	{"reverse screen", "\x1b[?5h", "\x1b[?5h"},
	{"132 columns", "\x1b[?3h\x1b[?40h", "\x1b[?3h"},
	{"leave the alternate screen", "\x1b[?1049l\x1b[?1047l\x1b[?47l", "\x1b[?1049l"},
	{"mouse of other kinds", "\x1b[?9h\x1b[?1005h\x1b[?1015h\x1b[?1016h", "\x1b[?1005h"},
	{"reset", "\x1bc\x1b[!p", "\x1bc"},
	{"character sets", "\x1b(0\x0e\x1b%@\x1b(B\x0f", "\x1b%@"},
	{"erase what has scrolled off", "\x1b[3J", "\x1b[3J"},
	{"scroll region", "\x1b[2;3r\x1b[?6h", "2;3r"},
	{"8-bit CSI", "\x9b6n", "\x9b"},
	{"8-bit OSC", "\x9d0;x\x9c", "\x9d"},
	{"8-bit CSI in UTF-8", "\u009b6n", "\u009b"},
	{"8-bit OSC in UTF-8", "\u009d52;c;x\u009c", "\u009d"},
	{"bidi", "a\u202eb\u2066c", "\u202e"},
	{"tags", "a\U000e0041\U000e0042", "\U000e0041"},
	{"lines in disguise", "a\u2028b\u2029c\u0085d", "\u2028"},
	{"not UTF-8", "\xff\xfe\xc3(", "\xff"},
	{"over-long", "\xc0\x9b6n", "\xc0\x9b"},
	{"surrogate", "\xed\xa0\x80", "\xed\xa0\x80"},
	{"too many marks", "a" + strings.Repeat("\u0301", 1000), strings.Repeat("\u0301", 100)},
	{"repeated parameters", "\x1b[" + strings.Repeat("1;", 500) + "m", "1;1;1;1;1;1;1;1;1"},
}

// permitted are the sequences of a Painter: position, style, erasing the line, the
// mirrored modes, the cursor's shape.
var permitted = regexp.MustCompile(`^(\x1b\[[0-9]+;[0-9]+H|\x1b\[[0-9;]*m|\x1b\[2K|\x1b\[\?(1|25|1000|1002|1003|1004|1006|2004)[hl]|\x1b[=>]|\x1b\[[0-6] q)`)

// forbidden returns the first thing in out that a Painter may not send, or "".
func forbidden(out string) string {
	for marks := 0; out != ""; {
		if sequence := permitted.FindString(out); sequence != "" && len(sequence) < 80 {
			out = out[len(sequence):]
			continue
		}
		r, size := utf8.DecodeRuneInString(out)
		if r == utf8.RuneError && size == 1 || r < 0x20 || r == 0x7f || r > 0x7f && r != utf8.RuneError && !showable(r) {
			return out[:min(len(out), 20)]
		}
		if marks++; !unicode.Is(unicode.Mn, r) {
			marks = 0
		}
		if marks > maxCluster {
			return "more marks than belong to a character"
		}
		out = out[size:]
	}
	return ""
}

func TestNoAttackReachesTheUsersTerminal(t *testing.T) {
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			if bad := forbidden("before" + attack.bytes + "after"); bad == "" {
				t.Error("the test does not see the attack itself")
			}
			if !strings.Contains(attack.bytes, attack.canary) {
				t.Error("the canary is not in the attack")
			}
			s := New(Size{10, 40})
			p := NewPainter(Size{10, 40}, TrueColors)
			var got bytes.Buffer
			for _, piece := range []string{"before", attack.bytes, "after", attack.bytes, "\x1b\\end"} {
				_, _ = s.Write([]byte(piece))
				out, _ := p.Paint(s)
				got.Write(out)
			}
			if bad := forbidden(got.String()); bad != "" {
				t.Errorf("%q reaches the terminal", bad)
			}
			visible := regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]`).ReplaceAllString(got.String(), "")
			if strings.Contains(visible, attack.canary) && len(attack.canary) > 1 || attack.canary < " " && strings.Contains(got.String(), attack.canary) {
				t.Errorf("the canary reaches the terminal: %q", got.String())
			}
			if bad := forbidden(strings.ReplaceAll(string(s.Text(TrueColors, false)), "\n", "")); bad != "" {
				t.Errorf("the text holds %q", bad)
			}
			if text := plain(s); !strings.Contains(text, "end") {
				t.Errorf("what follows is not shown: %q", text)
			}
		})
	}
}

// FuzzScreen writes any bytes to screens of any size.
func FuzzScreen(f *testing.F) {
	for _, attack := range attacks {
		f.Add([]byte(attack.bytes), uint16(24), uint16(80), uint16(3))
	}
	f.Add([]byte("\x1b[?1049h漢\x1b[99;99H\x1b[?69h\x1b[5;2s\x1b[4h漢\x1b[99L\x1b[99M\x1b[99@\x1b[99P\x1b[99b"), uint16(2), uint16(3), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, rows, cols, cut uint16) {
		if len(data) > 4<<10 {
			return
		}
		size := Size{int(rows % 40), int(cols % 100)}
		s, colors := New(size), []Colors{NoColors, Colors16, Colors256, TrueColors}[cut%4]
		p := newViewer(size.Bound(), colors)
		half := int(cut) % (len(data) + 1)
		for _, step := range []struct {
			data []byte
			size Size
		}{{data[:half], size}, {data[half:], Size{size.Cols, size.Rows}}, {data, Size{1, 2}}, {data, size}} {
			_, _ = s.Write(step.data)
			out, _ := p.Paint(s)
			if bad := forbidden(string(out)); bad != "" {
				t.Fatalf("%q reaches the terminal", bad)
			}
			p.take(string(out))
			// The terminal must show the same as the screen.
			if p.size == s.size {
				if got, want := string(p.shows.Text(colors, false)), string(s.Text(colors, false)); got != want {
					t.Fatalf("the terminal shows\n%q, not\n%q", got, want)
				}
			}
			s.Resize(step.size)
			out, _ = p.Paint(s)
			p.take(string(out))
			p.Resize(step.size)
			p.shows.Resize(step.size)
			if len(s.Answers()) > maxAnswers || len(s.main.Scrollback().Lines()) > 1 || s.alt.ScrollbackLen() > 1 {
				t.Fatal("it keeps more than it may")
			}
		}
		if faults := s.Faults(); faults != nil {
			t.Fatalf("the emulator failed: %q", faults)
		}
	})
}

// FuzzInput passes the same bytes in three pieces and in one.
func FuzzInput(f *testing.F) {
	for _, attack := range attacks {
		f.Add([]byte("x"+attack.bytes+"y"), 3)
	}
	f.Add(bytes.Repeat([]byte("\xe3"), 1000), 3) // the beginnings of characters
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		var in input
		count := 0
		visit := func(token token) {
			count++
			if text := token.Data; token.Kind == ctrlseq.Text && (len(text) == 0 || !utf8.Valid(text) || len(text) > maxCluster && text[0] >= utf8.RuneSelf) {
				t.Fatalf("text %q", text)
			}
			limit := ctrlseq.MaxString
			if token.Kind == ctrlseq.Escape || token.Kind == ctrlseq.CSI {
				limit = ctrlseq.MaxSequence
			}
			if len(token.Data) > limit {
				t.Fatalf("a token of %d bytes", len(token.Data))
			}
		}
		cut = max(0, min(cut, len(data)))
		always := func() bool { return true }
		in.each(data[:cut], visit, always)
		in.each(data[cut:], visit, always)
		if len(in.pending) > maxPending+utf8.UTFMax {
			t.Fatalf("it holds %d bytes", len(in.pending))
		}
	})
}
