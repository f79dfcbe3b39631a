package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/client"
	"aibox/app/agentsession"
	"aibox/review"
	"aibox/session"
)

// wideSandboxes are many sandboxes with many allowed hosts.
type wideSandboxes struct {
	aiboxv1connect.UnimplementedSandboxesHandler
	count int
}

func wideSandbox(i int) *aiboxv1.Sandbox {
	hosts := make([]string, 1000)
	for h := range hosts {
		hosts[h] = fmt.Sprintf("%s%d.example", strings.Repeat("x", 50), h)
	}
	return &aiboxv1.Sandbox{SandboxId: fmt.Sprintf("%05d-sandbox", i), Network: &aiboxv1.NetworkPolicy{Allow: &aiboxv1.HostList{Hosts: hosts}}}
}

func (w wideSandboxes) Create(context.Context, *connect.Request[aiboxv1.CreateSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	return connect.NewResponse(wideSandbox(1)), nil
}

func (w wideSandboxes) List(context.Context, *connect.Request[aiboxv1.ListSandboxesRequest]) (*connect.Response[aiboxv1.ListSandboxesResponse], error) {
	out := &aiboxv1.ListSandboxesResponse{}
	for i := range w.count {
		out.Sandboxes = append(out.Sandboxes, wideSandbox(i))
	}
	return connect.NewResponse(out), nil
}

func TestSandboxesWithManyAllowedHostsAreCreatedAndListed(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(aiboxv1connect.NewSandboxesHandler(wideSandboxes{count: 60}))
	api, end := client.InProcess(t.Context(), mux)
	defer end()
	tools := sandboxTools{&Sandboxes{API: func(ctx context.Context, _ http.Header) (context.Context, *client.Client) { return ctx, api }}}
	c := &call{request: &mcp.CallToolRequest{}}
	created, err := tools.create(t.Context(), c, createSandboxInput{})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := tools.list(t.Context(), c, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	for name, made := range map[string]*answer{"created": created, "listed": listed} {
		result := made.result()
		text := result.Content[0].(*mcp.TextContent).Text
		if result.IsError || !strings.Contains(text, "00001-sandbox") || !strings.Contains(text, `"more_allowed":980`) {
			t.Errorf("%s: %.200s", name, text)
		}
		if name == "listed" && !strings.Contains(text, `"more":`) {
			t.Errorf("the answer does not say that there are more: %.200s", text)
		}
	}
}

// longRefusals are changes of an agent that also made files with long names that cannot be accepted.
type longRefusals struct{ hostileSessions }

func (longRefusals) Changes(context.Context, session.ID) (agentsession.Changes, error) {
	set := &review.ChangeSet{Changes: []review.Change{{Path: "evil.sh"}}}
	for range 20 {
		set.Refused = append(set.Refused, review.Refusal{Path: review.Path(strings.Repeat("x", 4000)), Reason: "no"})
	}
	return agentsession.Changes{Set: set}, nil
}

func TestAnAgentCannotHideItsChangesBehindOtherFiles(t *testing.T) {
	tools := &sessionTools{sessions: longRefusals{}}
	made, err := tools.listChanges(t.Context(), nil, listChangesInput{Session: "00001-codex"})
	if err != nil {
		t.Fatal(err)
	}
	content := made.result().Content
	if shown := content[len(content)-1].(*mcp.TextContent).Text; !strings.Contains(shown, "evil.sh") {
		t.Errorf("the change is not listed, and the facts are %+v", made.facts)
	}
}

// manySessions are sessions on branches with long names.
type manySessions struct {
	hostileSessions
	count int
}

func (m manySessions) List() []session.Session {
	all := make([]session.Session, m.count)
	for i := range all {
		all[i] = session.Session{
			Spec:  session.Spec{ID: session.ID(fmt.Sprintf("%05d-codex", i)), Agent: "codex", Prompt: "fix it"},
			State: session.State{Phase: session.Running, Branch: strings.Repeat("x", 2000)},
		}
	}
	return all
}

func TestSessionsOnBranchesWithLongNamesAreListed(t *testing.T) {
	tools := &sessionTools{sessions: manySessions{count: 60}}
	made, err := tools.listSessions(t.Context(), nil, listSessionsInput{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	result := made.result()
	if result.IsError {
		t.Fatalf("%+v", result.Content[0])
	}
	var facts struct {
		Sessions []struct {
			ID string `json:"session"`
		} `json:"sessions"`
		More int `json:"more"`
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if err := json.Unmarshal([]byte(text), &facts); err != nil || len(facts.Sessions) == 0 || len(facts.Sessions)+facts.More != 60 {
		t.Errorf("%d sessions and %d more, %v", len(facts.Sessions), facts.More, err)
	}
	tasks := strings.Count(result.Content[1].(*mcp.TextContent).Text, "-codex: fix it")
	if tasks != len(facts.Sessions) {
		t.Errorf("%d tasks of %d sessions", tasks, len(facts.Sessions))
	}
}
