package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/internal/files"
	"aibox/session"
	"aibox/session/process"
)

// reading reads everything that is written.
type reading struct{ noFiles }

func (reading) Write(_ context.Context, path files.Path, in io.Reader, _ files.WriteOptions) (files.Entry, error) {
	n, err := io.Copy(io.Discard, in)
	return files.Entry{Path: path, Size: n}, err
}

func TestTheMessagesOfATenantTakeABoundedAmountOfMemory(t *testing.T) {
	const most, large = 1 << 20, 256 << 10
	s := newSite(t, func(o *Options) {
		o.Limits = Limits{TenantMessages: most}
		o.Services.Files = func(context.Context, session.ID, string) Files { return reading{} }
	})
	tokens := map[session.Tenant]string{"a": s.token("a"), "b": s.token("b")}
	ids := map[session.Tenant]string{"a": s.sandbox("a"), "b": s.sandbox("b")}
	stdin := make([]byte, large)
	text := fmt.Sprintf(`{"argv":["true"],"stdin":%q}`, strings.Repeat("A", large))
	// settle waits for the ends of calls that are answered.
	settle := func() {
		for running := 1; running > 0; runtime.Gosched() {
			s.Server.calls.mu.Lock()
			running = s.Server.calls.all
			s.Server.calls.mu.Unlock()
		}
	}
	exec := func(tenant session.Tenant, options ...connect.ClientOption) error {
		defer settle()
		client := aiboxv1connect.NewProcessesClient(http.DefaultClient, s.url, append(options, tokenOf(tokens[tenant]))...)
		_, err := client.Exec(t.Context(), connect.NewRequest(&aiboxv1.ExecRequest{SandboxId: ids[tenant], Argv: []string{"true"}, Stdin: stdin}))
		return err
	}
	upload := func(pieces int, options ...connect.ClientOption) error {
		defer settle()
		out := aiboxv1connect.NewFilesClient(http.DefaultClient, s.url, options...).Write(t.Context())
		out.RequestHeader().Set("Authorization", "Bearer "+tokens["a"])
		for range pieces {
			if err := out.Send(&aiboxv1.WriteFileRequest{SandboxId: ids["a"], Path: "/x", Content: &httpbody.HttpBody{Data: stdin}}); err != nil {
				break // CloseAndReceive has the reason
			}
		}
		_, err := out.CloseAndReceive()
		return err
	}
	others := s.messages.Call("a") // the tenant's other calls
	check := func(fits bool) {
		t.Helper()
		gzip, grpc := connect.WithClientOptions(connect.WithSendGzip()), connect.WithGRPCWeb()
		for name, err := range map[string]error{
			"Connect": exec("a"), "compressed": exec("a", gzip), "gRPC-Web": exec("a", grpc), "a stream": upload(1), "a long stream": upload(8), "a compressed stream": upload(1, gzip),
		} {
			var known *connect.Error
			isLimit := errors.As(err, &known) && known.Code() == connect.CodeResourceExhausted && strings.HasPrefix(known.Message(), "the messages that the tenant receives at once would have more than 1 MiB")
			if fits && err != nil || !fits && !isLimit {
				t.Errorf("%s, which should fit %v: %v", name, fits, err)
			}
		}
		got := s.request("POST", "/v1/sandboxes/"+ids["a"]+":exec", text, bearer(tokens["a"]))
		if fits && got.status != http.StatusOK || !fits && (got.status != http.StatusTooManyRequests || !strings.Contains(got.body, "try again when other calls have ended")) {
			t.Errorf("REST, which should fit %v: %d %s", fits, got.status, got.body)
		}
		settle()
	}
	check(true)
	if err := others.Reserve(most - large/2); err != nil {
		t.Fatalf("earlier calls still count: %v", err)
	}
	check(false)
	// What has arrived counts, also if the rest never comes.
	part := fmt.Sprintf("POST /v1/sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", bearer(tokens["a"]), 2*large, text)
	if got := s.answerTo(part); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a part of a message: %s", got.Status)
	}
	if err := exec("b"); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	others.Release()
	check(true)
}

func TestCommandsOverAWebSocketTakeFromTheMessagesOfTheirTenant(t *testing.T) {
	const most, large = 4 << 20, 256 << 10
	s := newSite(t, func(o *Options) { o.Limits = Limits{TenantMessages: most} })
	id, token := s.sandbox("a"), s.token("a")
	info, err := s.m.StartProcess(t.Context(), session.ID(id), process.Request{Argv: []string{"cat"}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	others := s.messages.Call("a") // the tenant's other calls
	if err := others.Reserve(most - large/2); err != nil {
		t.Fatal(err)
	}
	// ended returns why the server has closed a connection.
	ended := func(conn *websocket.Conn) (reason string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return err.Error()
			}
		}
	}
	command := []byte(`{"input":"` + strings.Repeat("QUFB", large/4) + `"}`)
	for _, isWhole := range []bool{true, false} { // what has arrived counts, also if the rest never comes
		conn := s.dialProcess(id, info.ID, token, "")
		conn.SetReadLimit(1 << 20)
		message, err := conn.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = message.Write(command); err == nil && isWhole {
			err = message.Close()
		}
		if got := ended(conn); !strings.Contains(got, "limit: the messages that the tenant receives at once") {
			t.Errorf("a whole message %v: %v, %s", isWhole, err, got)
		}
	}
	others.Release()
	conn := s.dialProcess(id, info.ID, token, "")
	for range 8 { // only one at a time counts
		if err := conn.Write(t.Context(), websocket.MessageText, command); err != nil {
			t.Fatal(err)
		}
	}
	conn.SetReadLimit(1 << 20)
	for echoed := 0; echoed < 8*large*3/4; {
		_, data, err := conn.Read(t.Context())
		if err != nil {
			t.Fatalf("after %d bytes: %v", echoed, err)
		}
		var event aiboxv1.ProcessEvent
		if err := protojson.Unmarshal(data, &event); err != nil {
			t.Fatal(err)
		}
		echoed += len(event.GetStdout().GetData())
	}
	if err := conn.Write(t.Context(), websocket.MessageBinary, marshal(t, &aiboxv1.ProcessCommand{Command: &aiboxv1.ProcessCommand_Input{Input: make([]byte, maxInput+1)}})); err != nil {
		t.Fatal(err)
	}
	if got := ended(conn); !strings.Contains(got, "an input has up to") {
		t.Errorf("an input of more than 1 MiB: %s", got)
	}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// longPaths are files with long paths, and each folder can be made.
type longPaths struct{ noFiles }

func (longPaths) List(context.Context, files.Path, files.ListOptions) (page files.Page, _ error) {
	for range 64 {
		page.Entries = append(page.Entries, files.Entry{Path: files.Path(strings.Repeat("/d", files.MaxPath/2)), Kind: files.Folder})
	}
	return page, nil
}

func (longPaths) MakeFolder(_ context.Context, path files.Path, _ files.MakeOptions) (files.Entry, error) {
	return files.Entry{Path: path, Kind: files.Folder}, nil
}

func TestAnswersThatReadTakeFromTheBudgetOfTheTenant(t *testing.T) {
	s := newSite(t, func(o *Options) {
		o.Services.Files = func(context.Context, session.ID, string) Files { return longPaths{} }
	})
	tokens := map[session.Tenant]string{"a": s.token("a"), "b": s.token("b")}
	ids := map[session.Tenant]string{"a": s.sandbox("a"), "b": s.sandbox("b")}
	others := s.answers.Call("a") // the tenant's other calls
	if err := others.Reserve(s.options.Limits.TenantAnswers); err != nil {
		t.Fatal(err)
	}
	list := func(tenant session.Tenant) int {
		return s.request("POST", "/aibox.v1.Files/List", `{"sandbox_id":"`+ids[tenant]+`","path":"/"}`, bearer(tokens[tenant])).status
	}
	if got := list("a"); got != http.StatusTooManyRequests {
		t.Errorf("a list: %d", got)
	}
	if got := list("b"); got != http.StatusOK {
		t.Errorf("a list of another tenant: %d", got)
	}
	// What a call has changed is answered, whatever else is in memory.
	if got := s.request("POST", "/aibox.v1.Files/MakeDir", `{"sandbox_id":"`+ids["a"]+`","path":"/x"}`, bearer(tokens["a"])); got.status != http.StatusOK {
		t.Errorf("a new folder: %d %s", got.status, got.body)
	}
	others.Release()
	if got := list("a"); got != http.StatusOK {
		t.Errorf("a list, once other calls have ended: %d", got)
	}
}
