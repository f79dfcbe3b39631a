package termtext_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"aibox/internal/termtext"
)

func filter(mode termtext.Mode, parts ...string) string {
	var out bytes.Buffer
	f := termtext.NewFilter(&out, mode)
	for _, p := range parts {
		_, _ = f.Write([]byte(p))
	}
	_ = f.Close()
	return out.String()
}

func TestFilterPassesTextAndColorsAndDropsTheRest(t *testing.T) {
	for _, c := range []struct{ name, in, stream, plain string }{
		{"text", "héllo\n\tz", "héllo\n\tz", "héllo\n\tz"},
		{"color", "\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m\x1b[m", "red"},
		{"erase line", "a\r\x1b[Kb", "a\r\x1b[Kb", "ab"},
		{"clipboard", "a\x1b]52;c;aGk=\x07b", "ab", "ab"},
		{"clipboard ended by ST", "a\x1b]52;c;aGk=\x1b\\b", "ab", "ab"},
		{"title", "\x1b]0;title\x07x", "x", "x"},
		{"link", "\x1b]8;;http://e\x1b\\text\x1b]8;;\x1b\\", "text", "text"},
		{"DCS", "\x1bP+q544e\x1b\\x", "x", "x"},
		{"APC", "\x1b_Gf=100\x1b\\x", "x", "x"},
		{"cursor report", "\x1b[6nx", "x", "x"},
		{"device attributes", "\x1b[cx\x1b[>c", "x", "x"},
		{"mode", "\x1b[?1049hx\x1b[?2004h", "x", "x"},
		{"cursor up", "\x1b[2A\x1b[1;1Hx", "x", "x"},
		{"modifyOtherKeys", "\x1b[>4;2mx", "x", "x"},
		{"8-bit CSI", "\x9b6nx", "6nx", "6nx"},
		{"8-bit OSC in UTF-8", "\u009d52;c;x", "\ufffd52;c;x", "\ufffd52;c;x"},
		{"charset", "\x1b(0x\x1bcx", "xx", "xx"},
		{"bell and others", "\a\x0e\x7f\x00x", "x", "x"},
		{"bidi", "a\u202eb", "a\ufffdb", "a\ufffdb"},
		{"invalid", "a\xffb\xc3", "a\ufffdb\ufffd", "a\ufffdb\ufffd"},
		{"escape in a string", "\x1b]0;a\x1b[31mred", "\x1b[31mred\x1b[m", "red"},
		{"newline in a sequence", "\x1b[3\nx", "\nx", "\nx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := filter(termtext.Stream, c.in); got != c.stream {
				t.Errorf("Stream gives %q, want %q", got, c.stream)
			}
			if got := filter(termtext.Plain, c.in); got != c.plain {
				t.Errorf("Plain gives %q, want %q", got, c.plain)
			}
			if got := filter(termtext.Stream, strings.Split(c.in, "")...); utf8.ValidString(c.in) && got != c.stream {
				t.Errorf("rune by rune Stream gives %q, want %q", got, c.stream)
			}
		})
	}
}

func TestEscapeShowsEveryHiddenCharacter(t *testing.T) {
	for in, want := range map[string]string{
		"plain name.go":                   "plain name.go",
		"a\nb\tc\\d":                      `a\nb\tc\\d`,
		"\x1b]52;c;x\a":                   `\x1b]52;c;x\x07`,
		"\x9b\xff":                        `\x9b\xff`,
		"\u009b":                          `\u009b`,
		"a\u202egpj.exe":                  `a\u202egpj.exe`,
		"g\u200cit":                       `g\u200cit`,
		"日本語 ñ 🙂":                         "日本語 ñ 🙂",
		"\u00a0\u3164":                    `\u00a0\u3164`,
		"tag\U000e0041":                   `tag\U000e0041`,
		"e\u0301 हिन्दी ไม้":              "e\u0301 हिन्दी ไม้",
		"\u0338/etc":                      `\u0338/etc`,
		"\x1b\u0338":                      `\x1b\u0338`,
		"a" + strings.Repeat("\u0301", 8): "a" + strings.Repeat("\u0301", 6) + `\u0301\u0301`,
	} {
		if got := termtext.Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
	if got := termtext.Text("a\\b\tc\nd\x1b[31m\r"); got != "a\\b\tc\nd\\x1b[31m\\r" {
		t.Errorf("Text gives %q", got)
	}
}

var safeSequence = regexp.MustCompile("\x1b\\[(?:[0-9;:]*m|[012]?K)")

// check fails if text holds anything that could control a terminal.
func check(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Fatalf("%q is not UTF-8", text)
	}
	for _, r := range text {
		if r >= 0x80 && r <= 0x9f || r < 0x20 && !strings.ContainsRune("\n\t\r\b", r) || r == 0x7f {
			t.Fatalf("%q holds the control %U", text, r)
		}
	}
}

func FuzzFilterNeverPassesADangerousSequence(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b]52;c;x\x07\x9b6n\xc2\x9b"), 3)
	f.Add([]byte("\x1b\x1b[m\x1b[?1m\x1bP\x1b[0K\xe2\x80\xae"), 1)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = max(0, min(cut, len(data)))
		whole := filter(termtext.Stream, string(data))
		check(t, safeSequence.ReplaceAllString(whole, ""))
		if parts := filter(termtext.Stream, string(data[:cut]), string(data[cut:])); parts != whole {
			t.Fatalf("cut at %d gives %q, whole %q", cut, parts, whole)
		}
		if again := filter(termtext.Stream, whole); again != whole && again != whole+"\x1b[m" {
			t.Fatalf("filtering twice gives %q, once %q", again, whole)
		}
		plain := filter(termtext.Plain, string(data))
		check(t, plain)
		if strings.ContainsAny(plain, "\r\b") {
			t.Fatalf("plain text %q moves the cursor", plain)
		}
		if again := filter(termtext.Plain, plain); again != plain {
			t.Fatalf("filtering twice gives %q, once %q", again, plain)
		}
	})
}

func FuzzEscapeGivesOneSafeLine(f *testing.F) {
	f.Add("a\x1b\u202e\n\xff\\")
	f.Fuzz(func(t *testing.T, s string) {
		line := termtext.Escape(s)
		check(t, line)
		if strings.ContainsAny(line, "\n\t\r\b") {
			t.Fatalf("%q is not one line", line)
		}
		for _, r := range line {
			if r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c {
				t.Fatalf("%q changes the direction of text", line)
			}
		}
		text := termtext.Text(s)
		check(t, text)
		if again := termtext.Text(text); again != text {
			t.Fatalf("escaping text twice gives %q, once %q", again, text)
		}
		if strings.ContainsAny(text, "\r\b") {
			t.Fatalf("%q moves the cursor", text)
		}
	})
}
