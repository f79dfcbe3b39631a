package termtext_test

import (
	"bytes"
	"strings"
	"testing"

	"aibox/internal/screen"
	"aibox/internal/termtext"
)

// shared is a terminal on which aibox has printed rows, and an agent prints on both of its
// streams.
type shared struct {
	cols int
	out  bytes.Buffer
	line *termtext.Lines
	both [2]*termtext.Filter
}

const ownRows = "\x1b[32m✓\x1b[0m sandbox\r\n✓ probes 16 of 16\r\n"

func newShared(cols int) *shared {
	s := &shared{cols: cols}
	s.out.WriteString(ownRows)
	s.line = termtext.NewLines("│ ", true, func() int { return cols }, false)
	s.both = [2]*termtext.Filter{termtext.NewLineFilter(&s.out, s.line), termtext.NewLineFilter(&s.out, s.line)}
	return s
}

// own prints a row of aibox.
func (s *shared) own(text string) {
	s.out.Write(append(s.line.Break(), text...))
	s.out.WriteString("\r\n")
}

// rows returns the rows that the terminal has shown, without colors and with them.
func (s *shared) rows() (plain, colored []string) {
	seen := screen.NewCatching(screen.Size{Rows: 10, Cols: s.cols})
	_, _ = seen.Write(s.out.Bytes())
	text := string(seen.Scrolled()) + string(seen.Text(screen.TrueColors, false))
	for row := range strings.Lines(text) {
		row = strings.TrimSuffix(row, "\n")
		colored = append(colored, row)
		plain = append(plain, strings.TrimRight(safeSequence.ReplaceAllString(row, ""), " "))
	}
	return plain, colored
}

func TestEveryOutputLineHasAMark(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text", "one\ntwo\n", "│ one|│ two"},
		{"an empty line", "one\n\ntwo\n", "│ one|│|│ two"},
		{"without an end", "one", "│ one"},
		{"an imitation", "✓ verified\n! stopping\n", "│ ✓ verified|│ ! stopping"},
		{"return", "progress 1\rprogress 2\r✓ probes\n", "│ ✓ probes 2"},
		{"return and newline", "one\r\ntwo\r\n", "│ one|│ two"},
		{"return and nothing", "one\r", "│ one"},
		{"erase and return", "wait\x1b[2K\r✓ probes\n", "│ ✓ probes"},
		{"return and erase", "wait\r\x1b[K✓ probes\n", "│ ✓ probes"},
		{"erase to the beginning", "abcdef\b\b\x1b[1K✓\n", "│     ✓f"},
		{"erase all, and go on there", "abc\x1b[2Kd\n", "│    d"},
		{"backspaces", "a\b\b\b\b\b\b✓ probes\n", "│ ✓ probes"},
		{"cursor up", "\x1b[2A\x1b[2K✓ probes 0 of 16\n", "│ ✓ probes 0 of 16"},
		{"cursor to the edge", "\x1b[1G✓\x1b[1;1H✓\x1b[D\x1b[D\x1b[D✓\n", "│ ✓✓✓"},
		{"reverse line feed, scrolling", "\x1bM\x1bM\x1b[T✓\n", "│ ✓"},
		{"a line too long", strings.Repeat("x", 18) + "✓ probes\n", "│ " + strings.Repeat("x", 18) + "|│ ✓ probes"},
		{"wide characters", strings.Repeat("漢", 10) + "\n", "│ " + strings.Repeat("漢", 9) + "|│ 漢"},
		{"tabs", "\ta\t\t\t\t\t✓\n", "│         a|│ ✓"},
		{"a margin of its own", "a\x1b[s\x1b[?69h\x1b[1;3s\x1b[u✓\n", "│ a✓"},
		{"vertical tab, form feed", "a\v✓\f✓\n", "│ a✓✓"},
		{"hidden", "\x1b[8mhidden\n", "│ hidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShared(20)
			_, _ = s.both[0].Write([]byte(c.in))
			_ = s.both[0].Close()
			s.own("✓ own")
			plain, colored := s.rows()
			want := append(append([]string{"✓ sandbox", "✓ probes 16 of 16"}, strings.Split(c.want, "|")...), "✓ own")
			if got := strings.Join(plain, "|"); got != strings.Join(want, "|") {
				t.Errorf("it shows\n%q, not\n%q\nby %q", got, strings.Join(want, "|"), s.out.String())
			}
			if last := colored[len(colored)-1]; last != "✓ own" {
				t.Errorf("the agent's style reaches aibox's row: %q", last)
			}
		})
	}
}

func TestColorsContinueAfterTheMark(t *testing.T) {
	s := newShared(20)
	_, _ = s.both[0].Write([]byte("\x1b[1;31mred\nstill\x1b[0m plain\n"))
	s.own("own")
	_, colored := s.rows()
	want := []string{"\x1b[0;2m│\x1b[0m \x1b[0;1;31mred\x1b[m", "\x1b[0;2m│\x1b[0m \x1b[0;1;31mstill\x1b[0m plain\x1b[m", "own"}
	for i, row := range want {
		got := strings.ReplaceAll(colored[2+i], "\x1b[0;2m│ \x1b", "\x1b[0;2m│\x1b[0m \x1b")
		if got != row {
			t.Errorf("row %d is %q, not %q", i, got, row)
		}
	}
}

func TestStdoutAndStderrShareTheCurrentLine(t *testing.T) {
	s := newShared(20)
	_, _ = s.both[0].Write([]byte("out "))
	_, _ = s.both[1].Write([]byte("err\rE"))
	s.own("! own")
	_, _ = s.both[0].Write([]byte("more\n"))
	plain, _ := s.rows()
	if got := strings.Join(plain[2:], "|"); got != "│ Eut err|! own|│ more" {
		t.Errorf("it shows %q", got)
	}
}

// FuzzLines lets an agent print anything on both streams: aibox's rows stay unchanged, and
// every other row has the mark.
func FuzzLines(f *testing.F) {
	for _, in := range hostile {
		f.Add([]byte(in), []byte("\r\x1b[2K✓ probes\b\b\b"), uint8(20))
	}
	f.Add([]byte("\x1b[1mtoo long for the row\x1b[1K\x1b[K\t\t"), []byte("漢字漢字🙂🙂e\u0301\u0301\u200d\ufe0f"), uint8(7))
	f.Fuzz(func(t *testing.T, first, second []byte, cols uint8) {
		if len(first)+len(second) > 2000 {
			return
		}
		s := newShared(int(max(cols%80, 20)))
		for i, part := range [][]byte{first, second, first, second} {
			_, _ = s.both[i%2].Write(part)
		}
		s.own("! in between")
		_, _ = s.both[0].Write(second)
		_, _ = s.both[1].Write(first)
		_ = s.both[0].Close()
		_ = s.both[1].Close()
		s.own("✓ own")
		plain, colored := s.rows()
		if len(plain) < 4 || plain[0] != "✓ sandbox" || plain[1] != "✓ probes 16 of 16" || colored[len(colored)-1] != "✓ own" {
			t.Fatalf("aibox's rows have changed: %q\nby %q", plain, s.out.String())
		}
		between := 0
		for _, row := range plain[2 : len(plain)-1] {
			if row == "! in between" {
				between++
			} else if !strings.HasPrefix(row, "│") {
				t.Fatalf("a row without the mark: %q\nby %q", row, s.out.String())
			}
		}
		if between != 1 {
			t.Fatalf("aibox's row is there %d times\nby %q", between, s.out.String())
		}
	})
}
