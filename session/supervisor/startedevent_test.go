package supervisor

import (
	"encoding/json"
	"testing"

	"aibox/config"
	"aibox/session"
)

// A repair restores a damaged spec from this event.
func TestTheStartedEventHasWhatARepairRestores(t *testing.T) {
	data, err := json.Marshal(startedEvent(session.Spec{Tenant: "acme", Resumes: "0dq4f-codex", Forks: "0dq5g-codex", Run: config.Run{Sandboxes: 3}}))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tenant         session.Tenant
		Resumes, Forks session.ID
		Sandboxes      int
	}
	if err := json.Unmarshal(data, &got); err != nil || got.Tenant != "acme" || got.Resumes != "0dq4f-codex" || got.Forks != "0dq5g-codex" || got.Sandboxes != 3 {
		t.Errorf("the event is %s, %v", data, err)
	}
}
