package session

import (
	"bytes"
	"time"

	"aibox/agents/conversation"
	"aibox/session/output"
)

// Recorded returns the number of recorded bytes of a session's output.
func (s *Reader) Recorded(id ID) (int64, error) { return output.Size(s.store.Dir(id)) }

// Tail returns at most the last limit bytes of the agent's output, both streams in the
// order of their output, raw. Events are rendered as text. It is empty for a session
// without output.
func (s *Reader) Tail(id ID, limit int64) ([]byte, error) {
	session, err := s.store.Load(id)
	if err != nil || !session.State.Output.Format.Known() {
		return output.Tail(s.store.Dir(id), limit)
	}
	text, err := output.Tail(s.store.Dir(id), eventBytes*limit)
	if err != nil {
		return nil, err
	}
	if int64(len(text)) == eventBytes*limit { // the first line may be incomplete
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	rendered := renderEvents(session.State.Output.Format, text)
	return rendered[max(0, int64(len(rendered))-limit):], nil
}

// eventBytes is the rough number of bytes of events for one byte of text.
const eventBytes = 8

// renderEvents renders the events of an agent's output as text.
func renderEvents(format conversation.Format, text []byte) []byte {
	decoder := conversation.NewDecoder(format)
	var renderer conversation.TextRenderer
	var out bytes.Buffer
	for _, e := range append(decoder.Decode(conversation.Piece{Data: text}), decoder.Close(time.Time{})...) {
		for _, part := range renderer.Render(e) {
			out.WriteString(part.Text)
		}
	}
	out.WriteString(renderer.Close())
	return out.Bytes()
}
