package agentsession

import (
	"bytes"
	"errors"
	"strings"

	"aibox/agents/conversation"
	"aibox/session"
	"aibox/session/output"
)

// Transcript is a part of the conversation of a session as text.
type Transcript struct {
	Text string // raw text of the agent
	Next int64  // byte offset in the record from which to continue
	Cut  bool   // an item was longer than a part, so its end is omitted
}

// Transcript renders the agent's output from the byte offset from on as readable text,
// approximately most bytes at most. from is 0 or the Next of an earlier part.
func (s *Service) Transcript(id session.ID, from int64, most int) (Transcript, error) {
	found, err := s.Find(id)
	if err != nil {
		return Transcript{}, err
	}
	p := transcriptPart{decoder: session.NewConversation(&found), most: most}
	p.Next = max(from, 0)
	_, err = s.Sessions.Output(id, p.Next, func(chunk output.Chunk) error {
		if !p.add(p.decoder.Add(chunk)) {
			return errEnough
		}
		if end := bytes.LastIndexByte(chunk.Data, '\n'); end >= 0 {
			p.Next = chunk.Offset + int64(end) + 1
		}
		p.end = chunk.Offset + int64(len(chunk.Data))
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return p.Transcript, nil
	case err != nil:
		return Transcript{}, err
	}
	if found.State.Phase == session.Ended && p.add(p.decoder.Close()) {
		p.Next = max(p.Next, p.end)
	}
	return p.Transcript, nil
}

// transcriptPart renders events until it is full.
type transcriptPart struct {
	Transcript
	decoder  *session.Conversation
	renderer conversation.TextRenderer
	most     int
	line     int64 // offset of the last event's line, which may have several events
	before   int   // bytes of Text before that line
	end      int64 // end of the text that was read so far
}

// add adds events. It returns false when the part is full; Next is then the first line
// that was not added. A part cannot begin within a line, so a line is added as a whole, and the
// first one is cut if it is longer than a part.
func (p *transcriptPart) add(events []conversation.Event) bool {
	for _, event := range events {
		var text strings.Builder
		for _, rendered := range p.renderer.Render(event) {
			text.WriteString(rendered.Text)
		}
		if p.Text == "" || event.Offset != p.line {
			p.line, p.before = event.Offset, len(p.Text)
		}
		if p.before > 0 && len(p.Text)+text.Len() > p.most {
			p.Text, p.Next = p.Text[:p.before], event.Offset
			return false
		}
		p.Text += text.String()
		if len(p.Text) > p.most {
			p.Text, p.Cut = strings.ToValidUTF8(p.Text[:p.most], ""), true
		}
	}
	return true
}
