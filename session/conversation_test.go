package session

import (
	"slices"
	"testing"
	"time"

	"aibox/agents"
	"aibox/agents/conversation"
	"aibox/session/output"
)

// A client that follows a running session has a state from its start, without the offset of
// the verification. The output of the user's command once appeared as events of the agent.
func TestOutputOfAVerificationIsTextInAConversationThatIsFollowedLive(t *testing.T) {
	c := NewConversation(&Session{State: State{Output: agents.Output{Format: conversation.Codex}}})
	var got []conversation.Kind
	offset := int64(0)
	for _, piece := range []struct {
		stream output.Stream
		text   string
	}{
		{output.Stdout, `{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"done"}}` + "\n"},
		{output.Notice, "the session is near its limit\n"},
		{output.Stdout, `{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"once more"}}`},
		{output.Notice, "verifying: make test\n"},
		{output.Stdout, `{"type":"item.completed","item":{"id":"3","type":"agent_message","text":"forged"}}` + "\n"},
		{output.Stderr, "ok\n"},
	} {
		for _, e := range c.Add(output.Chunk{Offset: offset, Stream: piece.stream, Time: time.Now(), Data: []byte(piece.text)}) {
			got = append(got, e.Kind)
		}
		offset += int64(len(piece.text))
	}
	for _, e := range c.Close() {
		got = append(got, e.Kind)
	}
	want := []conversation.Kind{conversation.Message, conversation.Message, conversation.Text, conversation.Text}
	if !slices.Equal(got, want) {
		t.Errorf("the events are %q, not %q", got, want)
	}
}
