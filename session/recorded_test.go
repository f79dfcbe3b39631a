package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aibox/agents"
	"aibox/agents/conversation"
	"aibox/session/output"
)

func TestTailOfEventsIsText(t *testing.T) {
	store := testStore(t)
	id, err := store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.WriteSpec(id, Spec{ID: id, Agent: "codex"}); err != nil {
		t.Fatal(err)
	}
	if err := store.WriteState(id, State{Phase: Ended, Output: agents.Output{Format: conversation.Codex}, Result: &Result{}}); err != nil {
		t.Fatal(err)
	}
	record, err := output.NewRecorder(store.Dir(id))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		line := fmt.Sprintf(`{"type":"item.completed","item":{"id":"%d","type":"agent_message","text":"message %d"}}`+"\n", i, i)
		if err := record.Append(output.Stdout, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := NewReader(store).Tail(id, 1000)
	if err != nil || len(text) > 1000 || !strings.HasSuffix(string(text), "message 1998\nmessage 1999\n") || strings.Contains(string(text), "{") {
		t.Errorf("the end is %q, %v", text, err)
	}
}
