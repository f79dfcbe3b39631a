package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
)

// authorized sends a token with each request.
type authorized struct {
	http.RoundTripper

	token string
}

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+a.token)
	return a.RoundTripper.RoundTrip(r)
}

// follow reads the events of a session from a number on, most of them, or all if most is 0, and
// returns the number of the next one and their kinds.
func follow(ctx context.Context, t *testing.T, c aiboxv1connect.SessionsClient, id string, from int64, most int) (next int64, kinds string) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.Events(ctx, connect.NewRequest(&aiboxv1.SessionEventsRequest{SessionId: id, FromSeq: from}))
	if err != nil {
		t.Fatal(err)
	}
	for stream.Receive() {
		e := stream.Msg()
		if e.GetSeq() == 0 {
			continue
		}
		if e.GetSeq() != from {
			t.Fatalf("event %d is number %d", from, e.GetSeq())
		}
		from, kinds = from+1, kinds+" "+e.GetKind()
		if most--; most == 0 {
			return from, kinds
		}
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	return from, kinds
}

// A program uploads a tree, follows an agent that works on it, takes a bundle, and sends
// feedback. It ends another agent, which has the time that the program gives.
func TestAProgramRunsAgentsOverTheAPI(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	token := strings.TrimSpace(m.aibox(0, "token", "create", "--tenant", "local", "--right", "read,network,sessions,accept").stdout)
	c := aiboxv1connect.NewSessionsClient(&http.Client{Transport: authorized{http.DefaultTransport, token}}, s.url)
	ctx, cancel := context.WithTimeout(context.Background(), longest())
	defer cancel()

	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	_ = w.WriteHeader(&tar.Header{Name: "main.go", Mode: 0o644, Size: int64(len(greeting))})
	_, _ = w.Write([]byte(greeting))
	_ = w.Close()
	upload := c.UploadTree(ctx)
	_ = upload.Send(&aiboxv1.UploadTreeRequest{Archive: &httpbody.HttpBody{Data: archive.Bytes()}})
	tree, err := upload.CloseAndReceive()
	if err != nil {
		t.Fatal(err)
	}
	start := &aiboxv1.StartSessionRequest{
		Agent: "codex", Prompt: "change the greeting", Source: &aiboxv1.StartSessionRequest_TreeId{TreeId: tree.Msg.GetTreeId()},
		Settings: map[string]string{"inference": m.script(`
[[step]]
edit = { path = "main.go", old = "hello", new = "hello, world" }
`)},
		IdempotencyKey: "greeting",
	}
	started, err := c.Start(ctx, connect.NewRequest(start))
	if err != nil {
		t.Fatal(err)
	}
	id := started.Msg.GetSessionId()
	if same, err := c.Start(ctx, connect.NewRequest(start)); err != nil || same.Msg.GetSessionId() != id {
		t.Errorf("a second call with the key: %v, %v", same, err)
	}
	next, kinds := follow(ctx, t, c, id, 1, 2)
	if _, rest := follow(ctx, t, c, id, next, 0); !strings.Contains(kinds+rest, "agent.ended") {
		t.Errorf("the events are%s%s", kinds, rest)
	}
	set, err := c.Changes(ctx, connect.NewRequest(&aiboxv1.SessionChangesRequest{SessionId: id}))
	if err != nil || len(set.Msg.GetFiles()) != 1 || len(set.Msg.GetFiles()[0].GetHunks()) != 1 {
		t.Fatalf("the changes are %v, %v", set, err)
	}
	accepted, err := c.Accept(ctx, connect.NewRequest(&aiboxv1.AcceptChangesRequest{
		SessionId: id, Digest: set.Msg.GetDigest(), Files: []*aiboxv1.FileSelection{{Path: "main.go", Hunks: []int32{1}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(m.home, "bundle")
	m.write(bundle, string(accepted.Msg.GetBundle()))
	m.git(m.home, "clone", "-q", "-b", accepted.Msg.GetBranch(), bundle, "taken")
	if got := m.read(m.home, "taken/main.go"); !strings.Contains(got, "hello, world") {
		t.Errorf("the bundle has %q", got)
	}
	again, err := c.Feedback(ctx, connect.NewRequest(&aiboxv1.SessionFeedbackRequest{
		SessionId: id, Comments: []*aiboxv1.Comment{{Path: "main.go", Hunk: 1, Text: "shorter, please"}},
	}))
	if err != nil || again.Msg.GetSessionId() == id {
		t.Fatalf("the feedback: %v, %v", again, err)
	}
	follow(ctx, t, c, again.Msg.GetSessionId(), 1, 0)

	// Without a grace, the agent would have less time than it needs.
	slow := m.start("run", "shell", "--network", "none", "--repo", m.repo("slow", nil), "--", "sh", "-c",
		`trap 'sleep 6; echo saved > saved.txt; exit 0' TERM; echo ready; while :; do sleep 0.1; done`)
	eventually(t, limit, "the agent is ready", func() bool { return strings.Contains(slow.stdout.String(), "ready") })
	records := m.stored()
	last := records[len(records)-1].ID
	if _, err := c.Stop(ctx, connect.NewRequest(&aiboxv1.StopSessionRequest{SessionId: last, Grace: durationpb.New(5 * time.Minute)})); err != nil {
		t.Fatal(err)
	}
	set, err = c.Changes(ctx, connect.NewRequest(&aiboxv1.SessionChangesRequest{SessionId: last}))
	if err != nil || len(set.Msg.GetFiles()) != 1 {
		t.Errorf("the agent that was stopped changed %v, %v", set, err)
	}
}

// The session of a start outlives its server. A caller that repeats the call finds it. An accept
// is whole or has not happened.
func TestAStartAndAnAcceptAreRepeatedAfterTheirServerWasKilled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	token := strings.TrimSpace(m.aibox(0, "token", "create", "--tenant", "local", "--right", "read,network,sessions,accept").stdout)
	repo := m.repo("p", map[string]string{"main.go": greeting})
	start := &aiboxv1.StartSessionRequest{
		Agent: "codex", Prompt: "work", Source: &aiboxv1.StartSessionRequest_Repository{Repository: repo}, IdempotencyKey: "once",
		Settings: map[string]string{"inference": m.script("[[step]]\nedit = { path = \"main.go\", old = \"hello\", new = \"hello, world\" }\n")},
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest())
	defer cancel()
	client := func() aiboxv1connect.SessionsClient {
		return aiboxv1connect.NewSessionsClient(&http.Client{Transport: authorized{http.DefaultTransport, token}}, s.url)
	}
	call := func() (string, error) {
		answer, err := client().Start(ctx, connect.NewRequest(start))
		if err != nil {
			return "", err
		}
		return answer.Msg.GetSessionId(), nil
	}
	lost := make(chan error, 1)
	go func() { _, err := call(); lost <- err }()
	eventually(t, hung, "the session is being started", func() bool { return len(m.stored()) > 0 })
	_ = s.Process.Kill()
	s.ends(-1)
	if err := <-lost; err == nil {
		t.Log("the server answered before it was killed")
	}
	s.start()
	id, err := call()
	if err != nil {
		t.Fatal(err)
	}
	if all := m.stored(); len(all) != 1 || all[0].ID != id {
		t.Errorf("%s was returned, and there are %+v", id, all)
	}
	eventually(t, hung, "the agent has ended", func() bool { return m.stored()[0].State.Phase == "ended" })

	accept := func() error {
		_, err := client().Accept(ctx, connect.NewRequest(&aiboxv1.AcceptChangesRequest{SessionId: id, Target: aiboxv1.AcceptTarget_ACCEPT_TARGET_BRANCH, Branch: "taken"}))
		return err
	}
	branches := func() []string {
		return strings.Fields(m.git(repo, "for-each-ref", "--format=%(refname)", "refs/heads/taken"))
	}
	go func() { lost <- accept() }()
	eventually(t, hung, "the branch is there", func() bool { return len(branches()) > 0 })
	_ = s.Process.Kill()
	s.ends(-1)
	t.Logf("the accept: %v", <-lost)
	s.start()
	if err := accept(); err != nil && connect.CodeOf(err) != connect.CodeAlreadyExists && connect.CodeOf(err) != connect.CodeFailedPrecondition && !strings.Contains(err.Error(), "already accepted") {
		t.Errorf("the accept after that: %v", err)
	}
	m.git(repo, "fsck", "--strict", "--no-dangling")
	if all := branches(); len(all) != 1 {
		t.Errorf("there are the branches %q", all)
	}
	for _, branch := range branches() {
		if got := m.git(repo, "show", branch+":main.go"); !strings.Contains(got, "hello, world") {
			t.Errorf("%s has %q", branch, got)
		}
	}
	if got := m.git(repo, "status", "--porcelain"); got != "" {
		t.Errorf("the repository has %q", got)
	}

	feedback := func() (string, error) {
		answer, err := client().Feedback(ctx, connect.NewRequest(&aiboxv1.SessionFeedbackRequest{SessionId: id, Comments: []*aiboxv1.Comment{{Text: "shorter, please"}}}))
		if err != nil {
			return "", err
		}
		return answer.Msg.GetSessionId(), nil
	}
	go func() { _, err := feedback(); lost <- err }()
	eventually(t, hung, "the next session is being started", func() bool { return len(m.stored()) > 1 })
	_ = s.Process.Kill()
	s.ends(-1)
	t.Logf("the feedback: %v", <-lost)
	s.start()
	next, err := feedback()
	t.Logf("the feedback after that: %q, %v", next, err)
	eventually(t, 2*hung, "the agents have ended", func() bool { return len(m.alive()) == 0 })
	var continued []string
	for _, r := range m.stored() {
		if r.ID != id && r.State.Result != nil && r.State.Result.Fault == nil {
			continued = append(continued, r.ID)
			if n := strings.Count(m.read(m.sessions(), r.ID, "spec.json"), "shorter, please"); n != 1 {
				t.Errorf("the prompt of %s has the comment %d times", r.ID, n)
			}
		}
	}
	if len(continued) != 1 || next != "" && next != continued[0] || next == "" && !strings.Contains(fmt.Sprint(err), continued[0]) {
		t.Errorf("the session is continued by %q, and the answer is %q, %v", continued, next, err)
	}
}
