package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
)

// receiving is a service of sessions that reads the messages of an upload, as the real one does.
type receiving struct {
	aiboxv1connect.UnimplementedSessionsHandler
}

func (receiving) UploadTree(_ context.Context, stream *connect.ClientStream[aiboxv1.UploadTreeRequest]) (*connect.Response[aiboxv1.Tree], error) {
	for stream.Receive() {
	}
	return connect.NewResponse(&aiboxv1.Tree{}), stream.Err()
}

// newSettingsSite is a site with one sandbox of the tenant a, in which nothing is ever started
// or changed. stays checks that, and that the server lives.
func newSettingsSite(t *testing.T) (s *site, id, token string, stays func(after string)) {
	t.Helper()
	s = newSite(t, func(o *Options) { o.Services.Sessions = receiving{} })
	id, token = s.sandbox("a"), bearer(s.token("a"))
	return s, id, token, func(after string) {
		t.Helper()
		if s.m.creates != 1 || len(s.m.running) > 0 || len(s.m.changes) > 0 || s.m.all[0].State != "running" {
			t.Fatalf("%s changed something", after)
		}
		if got := s.request("GET", "/v1/sandboxes/"+id, "", token); got.status != 200 {
			t.Fatalf("after %s, the server answers %d %s", after, got.status, got.body)
		}
	}
}

// withField returns a message with one more field, whose name may be a path.
func withField(t *testing.T, message, name string, value any) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(message), &fields); err != nil {
		t.Fatal(err)
	}
	names := strings.Split(name, ".")
	for i := len(names) - 1; i > 0; i-- {
		value = map[string]any{names[i]: value}
	}
	fields[names[0]] = value
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// enumerations returns the paths of the fields of a message that are enumerations, and the
// paths of the messages in it.
func enumerations(m protoreflect.MessageDescriptor, at string) (enums, messages []string) {
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		path := at + string(field.Name())
		switch {
		case field.Enum() != nil:
			enums = append(enums, path)
		case field.Message() != nil && !field.IsMap() && !field.IsList() && field.Message().ParentFile().Package() == "aibox.v1":
			inner, deeper := enumerations(field.Message(), path+".")
			enums, messages = append(enums, inner...), append(append(messages, path), deeper...)
		}
	}
	return enums, messages
}

func TestAnUnknownFieldOrValueInAnyMethodIsAnErrorThatNamesIt(t *testing.T) {
	s, id, token, stays := newSettingsSite(t)
	enums := 0
	for _, method := range methods(t) {
		refused := func(what, encoding, message, named string) {
			t.Helper()
			if code, answer := s.callAs(method, encoding, message, token); code != "invalid_argument" || !strings.Contains(answer, named) {
				t.Errorf("%s with %s: %q %s", method.FullName(), what, code, answer)
			}
			stays(string(method.FullName()) + " with " + what)
		}
		valid := sample(t, method, id)
		paths, messages := enumerations(method.Input(), "")
		for _, at := range append(messages, "") {
			refused("an unknown field in JSON", "json", withField(t, valid, strings.TrimPrefix(at+".bogus", "."), 1), "bogus")
		}
		unknown := protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1)
		refused("an unknown field in Protobuf", "proto", string(unknown), "999")
		for _, at := range messages {
			if field := method.Input().Fields().ByName(protoreflect.Name(at)); field != nil {
				nested := protowire.AppendBytes(protowire.AppendTag(nil, field.Number(), protowire.BytesType), unknown)
				refused("an unknown field of "+at+" in Protobuf", "proto", string(nested), at+".999")
			}
		}
		for _, path := range paths {
			var value any = 77
			if field := method.Input().Fields().ByName(protoreflect.Name(path)); field != nil && field.IsList() {
				value = []int{1, 77}
			}
			refused("an unknown value of "+path, "json", withField(t, valid, path, value), "77 of "+path)
			enums++
		}
	}
	if enums < 11 {
		t.Errorf("only %d enumerations were checked", enums)
	}
}

// restPath returns the path of a REST call about a sandbox.
func restPath(rule *restRule, id string) string {
	path := strings.Join(rule.segments, "/")
	for _, name := range rule.bound {
		value := map[string]string{"sandbox_id": id, "session_id": id, "id": id, "process_id": "1"}[name]
		if value == "" {
			value = "none"
		}
		path = strings.Replace(path, "{"+name+"}", value, 1)
	}
	return path
}

func TestARequestOfRESTThatContradictsItselfIsAnErrorThatNamesTheField(t *testing.T) {
	s, id, token, stays := newSettingsSite(t)
	checked := 0
	for _, method := range methods(t) {
		rule, ok := restRuleOf(method)
		if !ok {
			continue
		}
		checked++
		path := restPath(&rule, id)
		refused := func(query, body, named string) {
			t.Helper()
			got := s.request(rule.verb, path+query, body, token)
			if got.status != http.StatusBadRequest || !strings.Contains(got.body, named) || !strings.Contains(got.body, `"kind":"invalid"`) {
				t.Errorf("%s %s%s %s: %d %s", rule.verb, path, query, body, got.status, got.body)
			}
			stays(rule.verb + " " + path + query)
		}
		body := ""
		if rule.body != "" && !method.IsStreamingClient() {
			body = "{}"
			refused("", `{"bogus":1}`, "bogus")
		}
		refused("?bogus=1", body, "bogus")
		refused("?path=%zz", body, "query")
		refused("?path=/x;user=root", body, "query")
		for _, name := range rule.bound {
			refused("?"+name+"="+id, body, name)
			if field := method.Input().Fields().ByName(protoreflect.Name(name)); rule.body == "*" {
				refused("", fmt.Sprintf(`{%q:%q}`, field.JSONName(), "1"), name) // which is also a number in JSON
			}
		}
		for i := range method.Input().Fields().Len() {
			field := method.Input().Fields().Get(i)
			name := string(field.Name())
			switch {
			case slices.Contains(rule.bound, name):
			case rule.body == "*":
				refused("?"+name+"=1", body, name)
			case rule.body == name:
				refused("?"+name+".x=1", body, name)
			case field.Message() == nil && !field.IsList():
				refused("?"+name+"=1&"+name+"=2", body, name)
				refused("?"+name+"=1&"+field.JSONName()+"=2", body, name)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d calls of REST were checked", checked)
	}
	if got := s.request("GET", "/v1/sandboxes?states=77", "", token); got.status != http.StatusBadRequest || !strings.Contains(got.body, "states") {
		t.Errorf("an unknown state: %d %s", got.status, got.body)
	}
	for _, filters := range []string{"metadata=a%3D1&metadata=a%3D2", "metadata=a", "metadata=%3D1"} {
		if got := s.request("GET", "/v1/sandboxes?"+filters, "", token); got.status != http.StatusBadRequest || !strings.Contains(got.body, "metadata") {
			t.Errorf("the filters %s: %d %s", filters, got.status, got.body)
		}
	}
}

func TestALaterMessageThatContradictsTheFirstOneIsAnError(t *testing.T) {
	s, id, token, _ := newSettingsSite(t)
	for name, later := range map[string]*aiboxv1.WriteFileRequest{
		"path": {Path: "/y"}, "sandbox_id": {SandboxId: "other"}, "user": {User: "root"}, "mode": {Mode: 0o4755},
	} {
		stream := aiboxv1connect.NewFilesClient(h2c(), s.url, connect.WithGRPC()).Write(t.Context())
		stream.RequestHeader().Set("Authorization", strings.TrimPrefix(token, "Authorization: "))
		_ = stream.Send(&aiboxv1.WriteFileRequest{SandboxId: id, Path: "/x"})
		_ = stream.Send(later)
		if _, err := stream.CloseAndReceive(); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), name) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	stream := aiboxv1connect.NewFilesClient(h2c(), s.url, connect.WithGRPC()).Write(t.Context())
	stream.RequestHeader().Set("Authorization", strings.TrimPrefix(token, "Authorization: "))
	for range 2 {
		_ = stream.Send(&aiboxv1.WriteFileRequest{SandboxId: id, Path: "/x"})
	}
	if _, err := stream.CloseAndReceive(); err != nil {
		t.Errorf("the same path again: %v", err)
	}
}

func TestUnknownSettingsAndCommandsOfAWebSocketAreErrors(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), s.token("a")
	info, err := s.m.StartProcess(t.Context(), "00001-sandbox", waiting)
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/v1/sandboxes/%s/processes/%d/ws", id, info.ID)
	for query, named := range map[string]string{"bogus=1": "bogus", "format=xml": "format", "from_seq=x": "from_seq", "from_seq=1&from_seq=2": "from_seq", "a;b": "query"} {
		if got := s.request("GET", path+"?"+query, "", bearer(token)); got.status != http.StatusBadRequest || !strings.Contains(got.body, named) {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	unknown := &aiboxv1.ProcessCommand{Command: &aiboxv1.ProcessCommand_Signal{Signal: 9}}
	unknown.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1))
	binary, err := proto.Marshal(unknown)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind    websocket.MessageType
		message []byte
		named   string
	}{
		{websocket.MessageText, []byte(`{"signal":9,"bogus":1}`), "bogus"},
		{websocket.MessageText, []byte(`{"signal":9,"closeInput":true}`), "oneof"},
		{websocket.MessageText, []byte(`{}`), "no command"},
		{websocket.MessageBinary, binary, "999"},
	} {
		conn := s.dialProcess(id, info.ID, token, "")
		if err := conn.Write(t.Context(), c.kind, c.message); err != nil {
			t.Fatal(err)
		}
		var read error
		for read == nil {
			_, _, read = conn.Read(t.Context())
		}
		if websocket.CloseStatus(read) != websocket.StatusPolicyViolation || !strings.Contains(read.Error(), c.named) {
			t.Errorf("%q: %v", c.message, read)
		}
	}
	if len(s.m.running["00001-sandbox"][0].signal) > 0 {
		t.Error("a signal was sent")
	}
}

func TestAQueryIsCheckedAsAWhole(t *testing.T) {
	for query, want := range map[string]bool{"": true, "a=1": true, "a=1&b=": true, "c=1": false, "a=1&a=1": false, "a=%zz": false, "a=1;b=2": false} {
		r := &http.Request{URL: &url.URL{RawQuery: query}}
		if err := CheckQuery(r, "a", "b"); (err == nil) != want {
			t.Errorf("%q: %v", query, err)
		}
	}
}
