package agentcheck

import (
	"strings"

	"aibox/agents/conversation"
	"aibox/internal/screen"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/output"
)

// outputTail keeps the end of an agent's output, and its screen.
type outputTail struct {
	screen *screen.Screen
	tail   []byte
	events *session.Conversation // for an agent that prints events; nil otherwise
	text   conversation.TextRenderer
}

// take adds a chunk of the output of a session.
func (w *outputTail) take(chunk output.Chunk) error {
	if w.events != nil {
		w.render(w.events.Add(chunk))
		return nil
	}
	w.add(chunk.Data)
	_, err := w.screen.Write(chunk.Data)
	return err
}

func (w *outputTail) add(text []byte) {
	const limit = 64 << 10
	if w.tail = append(w.tail, text...); len(w.tail) > limit {
		w.tail = w.tail[len(w.tail)-limit:]
	}
}

// render adds events as text.
func (w *outputTail) render(events []conversation.Event) {
	for _, e := range events {
		for _, part := range w.text.Render(e) {
			w.add([]byte(part.Text))
		}
	}
}

// lines returns the last lines that are not empty: of the screen for an interactive agent,
// otherwise of the output.
func (w *outputTail) lines(interactive bool) []string {
	if w.events != nil {
		w.render(w.events.Close())
	}
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
