package logview

import (
	"strings"
	"testing"

	"aibox/session/output"

	"github.com/charmbracelet/x/ansi"
)

// texts returns what a liner makes of pieces of standard output, with the incomplete line last.
func texts(pieces ...string) []string {
	var l lineReader
	var out []string
	at := int64(0)
	for _, piece := range pieces {
		for _, reader := range l.feed(output.Chunk{Offset: at, Stream: output.Stdout, Data: []byte(piece)}) {
			out = append(out, reader.text)
		}
		at += int64(len(piece))
	}
	for _, reader := range l.rest() {
		out = append(out, reader.text)
	}
	return out
}

func TestALineIsWhatATerminalWouldShowInTheEnd(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"plain", "plain"},
		{"10%\r20%\r100%\n", "100%"},
		{"long\rab\n", "abng"},
		{"ab\b\bc\n", "cb"},
		{"gone\r\x1b[Know\n", "now"},
		{"gone\x1b[2K\rnow\n", "now"},
		{"a\tb\n", "a       b"},
		{"red \x1b[31mred\x1b[m plain\n", "red \x1b[31mred\x1b[m plain"},
		{"\x1b[1m\x1b[31mend\n", "\x1b[1m\x1b[31mend\x1b[m"},
		{"title\x1b]0;evil\x07 kept\x1b[2Jtoo\n", "title kepttoo"},
		{"日本\b語\n", "日語"},
		{"e\u0301\bx\n", "x"},
		{"windows\r\n", "windows"},
	} {
		if got := texts(test.in); len(got) != 1 || got[0] != test.want {
			t.Errorf("%q: %q, not %q", test.in, got, test.want)
		}
	}
}

func TestAStyleContinuesInTheNextLine(t *testing.T) {
	got := texts("\x1b[31mone\ntwo\x1b[0m\nthree\n")
	want := []string{"\x1b[31mone\x1b[m", "\x1b[31mtwo\x1b[m", "three"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q", got)
	}
}

func TestALineIsTheSameHoweverItIsCut(t *testing.T) {
	text := "one \x1b[32mgreen\x1b[m é\n\x1b]8;;http://x\x07link\n日本\r語\n"
	whole := texts(text)
	for i := range text {
		if got := texts(text[:i], text[i:]); strings.Join(got, "|") != strings.Join(whole, "|") {
			t.Errorf("cut at %d: %q, not %q", i, got, whole)
		}
	}
}

func TestStreamsHaveLinesOfTheirOwn(t *testing.T) {
	var l lineReader
	feed := func(at int64, stream output.Stream, text string) []line {
		return l.feed(output.Chunk{Offset: at, Stream: stream, Data: []byte(text)})
	}
	if got := feed(0, output.Stdout, "out "); got != nil {
		t.Errorf("%+v", got)
	}
	if got := feed(4, output.Notice, "told\n"); len(got) != 1 || !got[0].notice || got[0].at != 4 || got[0].text != "told" {
		t.Errorf("%+v", got)
	}
	if got := feed(9, output.Stdout, "put\n"); len(got) != 1 || got[0].notice || got[0].at != 0 || got[0].text != "out put" {
		t.Errorf("%+v", got)
	}
	if got := l.rest(); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestALineThatNeverEndsIsCut(t *testing.T) {
	got := texts(strings.Repeat("x", 3*maxLine))
	if len(got) != 3 || len(got[0]) != maxLine {
		t.Errorf("%d lines", len(got))
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("10%\r20%\n\x1b[31mred\b\b\x1b[K\tx\n日本"), 5)
	f.Add([]byte("\x1b[1;2;3m\x1b]52;c;x\x07\xff\xfe\u202e"), 3)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = max(0, min(cut, len(data)))
		for _, text := range texts(string(data[:cut]), string(data[cut:])) {
			if strings.ContainsAny(ansi.Strip(text), "\x1b\n\r\b\t\a") {
				t.Fatalf("%q is not one safe row", text)
			}
			if strings.Contains(text, "\x1b") && !strings.HasSuffix(text, ansi.ResetStyle) && strings.LastIndex(text, ansi.ResetStyle) < 0 {
				t.Fatalf("%q leaves a style", text)
			}
		}
	})
}

func TestWordsAreFoundHoweverTheRecordIsCut(t *testing.T) {
	text := "one\ntwo\nthe nee\x1b[31mdle\x1b[m\nfour\nNEEDLE\nsix\nneedle"
	for i := range text {
		for j := i; j <= len(text); j++ {
			s := &scene{}
			for _, piece := range []string{text[:i], text[i:j], text[j:]} {
				s.say(output.Stdout, piece)
			}
			scan := scan{ctx: t.Context(), source: s, words: "needle"}
			var found []int64
			scan.each(0, func(l line) bool {
				found = append(found, l.at)
				return true
			})
			if len(found) != 3 || found[0] != 8 || found[1] != int64(strings.Index(text, "NEEDLE")) || scan.err != nil {
				t.Fatalf("cut at %d and %d: found at %v, %v", i, j, found, scan.err)
			}
		}
	}
}
