package supervisor

import (
	"encoding/json"
	"testing"

	"aibox/session"
)

// A repair restores a damaged spec from this event.
func TestTheStartedEventNamesTheTenantAndWhatASessionContinues(t *testing.T) {
	data, err := json.Marshal(startedEvent(session.Spec{Tenant: "acme", Resumes: "0dq4f-codex", Forks: "0dq5g-codex"}))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tenant         session.Tenant
		Resumes, Forks session.ID
	}
	if err := json.Unmarshal(data, &got); err != nil || got.Tenant != "acme" || got.Resumes != "0dq4f-codex" || got.Forks != "0dq5g-codex" {
		t.Errorf("the event is %s, %v", data, err)
	}
}
