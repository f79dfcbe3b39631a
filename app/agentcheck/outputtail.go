package agentcheck

import (
	"strings"

	"aibox/internal/screen"
	"aibox/internal/termtext"
	"aibox/session/output"
)

// outputTail keeps the end of an agent's output, and its screen.
type outputTail struct {
	screen *screen.Screen
	tail   []byte
}

func (w *outputTail) take(chunk output.Chunk) error {
	const limit = 64 << 10
	if w.tail = append(w.tail, chunk.Data...); len(w.tail) > limit {
		w.tail = w.tail[len(w.tail)-limit:]
	}
	_, err := w.screen.Write(chunk.Data)
	return err
}

// lines returns the last lines that are not empty: of the screen for an interactive
// agent, or else of the output.
func (w *outputTail) lines(interactive bool) []string {
	text := w.tail
	if interactive {
		text = w.screen.Text(0, false)
	}
	const limit = 12
	var all []string
	for line := range strings.Lines(termtext.Text(string(text))) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			all = append(all, cutLine(line))
		}
	}
	return all[max(0, len(all)-limit):]
}

// cutLine cuts a line to 160 characters.
func cutLine(line string) string {
	const width = 160
	line = strings.TrimSpace(line)
	if runes := []rune(line); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return line
}
