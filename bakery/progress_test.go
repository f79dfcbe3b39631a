package bakery

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// story returns a bake with every kind of event.
func story() []Event {
	return []Event{
		{Kind: Note, Text: "a setting was left out"},
		{Kind: StepStarted, Image: "base", Step: "p", Text: "pulling Debian"},
		{Kind: StepSkipped, Image: "base", Step: "p", Text: "pulling Debian", Err: "no such host"},
		{Kind: ImageStarted, Image: "base", Ref: "aibox/base:0123456789ab"},
		{Kind: StepCached, Image: "base", Step: "1", Text: "[1/3] FROM debian"},
		{Kind: StepStarted, Image: "base", Step: "2", Text: "[2/3] RUN apt-get"},
		{Kind: StepStarted, Image: "base", Step: "3", Text: "[3/3] RUN npm"},
		{Kind: StepLine, Image: "base", Step: "2", Text: "unpacking git"},
		{Kind: StepDone, Image: "base", Step: "3", Text: "[3/3] RUN npm", Took: 1500 * time.Millisecond},
		{Kind: StepFailed, Image: "base", Step: "2", Text: "[2/3] RUN apt-get", Err: "exit code: 100", Tail: []string{"E: one", "E: two"}, Took: 65 * time.Second},
		{Kind: ImageFailed, Image: "base", Err: "step failed"},
		{Kind: ImageReused, Image: "codex", Ref: "aibox/codex:0123456789ab"},
		{Kind: ImageDone, Image: "shell", Ref: "aibox/shell:0123456789ab", Took: 125 * time.Second},
	}
}

const storyLines = `note: a setting was left out
base: skipped pulling Debian: no such host
base: building aibox/base:0123456789ab
base: cached [1/3] FROM debian
base:   1.5s [3/3] RUN npm
base: FAILED [2/3] RUN apt-get: exit code: 100
base:   | E: one
base:   | E: two
base: not built
codex: aibox/codex:0123456789ab is up to date
shell: aibox/shell:0123456789ab is ready (2m05s)
`

func TestPlainProgressPrintsOneLinePerStep(t *testing.T) {
	var out bytes.Buffer
	p := PlainProgress(&out)
	for _, e := range story() {
		p.Handle(e)
	}
	if diff := cmp.Diff(storyLines, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTerminalKeepsFinishedStepsAndRedrawsRunningOnes(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	term := newTerminal(&out, func() int { return 40 }, func() time.Time { return now })
	screen := &screen{}
	frames := map[Kind]string{}
	show := func() string {
		screen.write(t, out.String())
		out.Reset()
		return strings.Join(screen.lines, "\n")
	}
	for _, e := range story() {
		now = now.Add(time.Second)
		term.Handle(e)
		if e.Kind == StepLine {
			term.refresh()
		}
		frames[e.Kind] = show()
	}
	prefix, _, _ := strings.Cut(storyLines, "base:   1.5s")
	running := prefix + "base:   2.0s [2/3] …  unpacking git\nbase:   1.0s [3/3] RUN npm"
	if diff := cmp.Diff(running, frames[StepLine]); diff != "" {
		t.Errorf("while running: %s", diff)
	}
	term.Close()
	if diff := cmp.Diff(strings.TrimSuffix(storyLines, "\n"), show()); diff != "" {
		t.Errorf("at the end: %s", diff)
	}
}

func TestTerminalStopsItsClockOnClose(t *testing.T) {
	var out bytes.Buffer
	term := TerminalProgress(&out, func() int { return 80 })
	term.Handle(Event{Kind: StepStarted, Image: "base", Step: "1", Text: "RUN"})
	term.Close()
	select {
	case <-term.done:
	default:
		t.Error("the clock continues")
	}
}

// screen emulates the terminal functions that Terminal uses.
type screen struct{ lines []string }

func (s *screen) write(t *testing.T, text string) {
	t.Helper()
	for text != "" {
		if up, rest, ok := strings.Cut(text, "A\r\x1b[J"); ok && strings.HasPrefix(up, "\x1b[") {
			n := 0
			for _, c := range strings.TrimPrefix(up, "\x1b[") {
				n = n*10 + int(c-'0')
			}
			s.lines, text = s.lines[:len(s.lines)-max(n, 1)], rest
			continue
		}
		line, rest, ok := strings.Cut(text, "\n")
		if !ok || strings.Contains(line, "\x1b") {
			t.Fatalf("not a line: %q", text)
		}
		s.lines, text = append(s.lines, line), rest
	}
}
