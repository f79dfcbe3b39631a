package session

import (
	"time"

	"aibox/agents/conversation"
	"aibox/session/output"
)

// Conversation decodes the conversation of the user and an agent from the output of a
// headless session. It is not safe for concurrent use.
type Conversation struct {
	decoder *conversation.Decoder
	end     int64 // offset of the output of a verification; 0 for none
	last    time.Time
}

// NewConversation makes a decoder of the session's output. If the agent prints no events,
// each line is an event of kind Text.
func NewConversation(s *Session) *Conversation {
	return &Conversation{decoder: conversation.NewDecoder(s.State.Output.Format), end: s.State.VerifyFrom}
}

// Add returns the events that end in a chunk. Notices are no part of the conversation.
func (c *Conversation) Add(chunk output.Chunk) []conversation.Event {
	if chunk.Stream == output.Notice {
		return nil
	}
	c.last = chunk.Time
	var events []conversation.Event
	if c.end > 0 && chunk.Offset >= c.end { // what the user's command prints are no events
		events = c.decoder.Close(chunk.Time)
		c.decoder, c.end = conversation.NewDecoder(conversation.Plain), 0
	}
	return append(events, c.decoder.Decode(conversation.Piece{
		Offset: chunk.Offset, Time: chunk.Time, Stderr: chunk.Stream == output.Stderr, Data: chunk.Data,
	})...)
}

// Close returns the events of incomplete lines.
func (c *Conversation) Close() []conversation.Event { return c.decoder.Close(c.last) }
