package cli

import (
	"aibox/agents/conversation"
	"aibox/session"
	"aibox/session/output"
)

// transcript renders the events that an agent prints as readable text. It belongs to one
// goroutine at a time.
type transcript struct {
	conversation *session.Conversation
	renderer     conversation.TextRenderer
}

func newTranscript(of *session.Session) *transcript {
	return &transcript{conversation: session.NewConversation(of)}
}

// add returns the text of the events that end in a chunk.
func (t *transcript) add(chunk output.Chunk) []conversation.Rendered {
	return t.render(t.conversation.Add(chunk))
}

// close returns the text of incomplete events.
func (t *transcript) close() []conversation.Rendered {
	all := t.render(t.conversation.Close())
	if end := t.renderer.Close(); end != "" {
		all = append(all, conversation.Rendered{Text: end})
	}
	return all
}

func (t *transcript) render(events []conversation.Event) []conversation.Rendered {
	var all []conversation.Rendered
	for _, e := range events {
		all = append(all, t.renderer.Render(e)...)
	}
	return all
}
