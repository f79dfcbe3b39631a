package session

import (
	"bytes"
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

// VerificationNotice begins the notice with which the verification of a session's work
// starts.
const VerificationNotice = "verifying: "

// Add returns the events that end in a chunk. Notices are not part of the conversation. The
// output of the user's command during a verification is returned as lines of text, not as
// events.
func (c *Conversation) Add(chunk output.Chunk) []conversation.Event {
	if chunk.Time.IsZero() { // a crash left the chunk without a time
		chunk.Time = c.last
	}
	if chunk.Stream == output.Notice {
		// The state with which this decoder was made can be older than the verification.
		if bytes.HasPrefix(chunk.Data, []byte(VerificationNotice)) {
			return c.endAgent(chunk.Time)
		}
		return nil
	}
	c.last = chunk.Time
	var events []conversation.Event
	if c.end > 0 && chunk.Offset >= c.end {
		events = c.endAgent(chunk.Time)
	}
	return append(events, c.decoder.Decode(conversation.Piece{
		Offset: chunk.Offset, Time: chunk.Time, Stderr: chunk.Stream == output.Stderr, Data: chunk.Data,
	})...)
}

// endAgent returns the last events of the agent's output. Later output is text.
func (c *Conversation) endAgent(now time.Time) []conversation.Event {
	events := c.decoder.Close(now)
	c.decoder, c.end = conversation.NewDecoder(conversation.Plain), 0
	return events
}

// Close returns the events of incomplete lines.
func (c *Conversation) Close() []conversation.Event { return c.decoder.Close(c.last) }
