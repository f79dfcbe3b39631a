package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"aibox/api/auth"
)

// holding returns a token of a tenant with all rights.
func (s *apiServer) holding(tenant string) string {
	s.m.t.Helper()
	var rights []string
	for _, right := range auth.Rights() {
		rights = append(rights, auth.RightName(right))
	}
	return strings.TrimSpace(s.m.aibox(0, "token", "create", "--tenant", tenant, "--right", strings.Join(rights, ",")).stdout)
}

// call calls a method by Connect with JSON, and returns the whole answer.
func (s *apiServer) call(method protoreflect.MethodDescriptor, token string, fields map[string]any) string {
	s.m.t.Helper()
	contentType, body := "application/connect+json", enveloped(s.m.t, fields)
	if !method.IsStreamingClient() && !method.IsStreamingServer() {
		contentType, body = "application/json", body[5:]
	}
	r, err := http.NewRequestWithContext(s.m.t.Context(), "POST", s.url+"/"+string(method.Parent().FullName())+"/"+string(method.Name()), bytes.NewReader(body))
	if err != nil {
		s.m.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", contentType)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.m.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		s.m.t.Fatal(err)
	}
	return string(data)
}

// enveloped returns a message as streams of Connect have it: after a byte of flags and its size.
func enveloped(t testing.TB, fields map[string]any) []byte {
	t.Helper()
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
}

// must returns the answer to a REST call that succeeds.
func (s *apiServer) must(what string, args ...string) string {
	s.m.t.Helper()
	body, status := s.curl(args...)
	if status != "200" {
		s.m.t.Fatalf("%s: %s %s", what, status, body)
	}
	return body
}

// field returns a string field of an answer in JSON.
func (s *apiServer) field(body, name string) string {
	s.m.t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		s.m.t.Fatalf("%v: %s", err, body)
	}
	text, _ := fields[name].(string)
	if text == "" {
		s.m.t.Fatalf("no %s in %s", name, body)
	}
	return text
}

// ids are the fields of requests that name something which belongs to a tenant.
type ids map[string]any

// A call that names a thing of another tenant gets the same answer as a call that names a thing
// that does not exist. New methods of the schema are included automatically.
func TestNoCallReachesTheThingsOfAnotherTenant(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("acme")
	s.token = s.holding("acme")
	evil := s.holding("evil")

	id := s.create(`{"network":{"allow":{"hosts":[]}},"timeout":"900s"}`)
	t.Cleanup(func() { s.curl("-X", "DELETE", s.url+"/v1/sandboxes/"+id) })
	at := s.url + "/v1/sandboxes/" + id
	s.must("a process", "-d", `{"argv":["sleep","1000"]}`, at+"/processes")
	made := s.must("a code context", "-d", `{"language":"bash"}`, at+"/contexts")
	taken := s.must("a snapshot", "-d", `{"name":"mine"}`, at+":snapshot")
	s.must("a volume", "-d", `{"name":"data"}`, s.url+"/v1/volumes")
	if got := s.call(methodNamed("aibox.v1.Templates.Create"), s.token, templateMine); !strings.Contains(got, `"name":"mine"`) {
		t.Fatalf("a template: %s", got)
	}
	m.write(m.home+"/main.go", greeting)
	if o := m.exec("tar", "-C", m.home, "-cf", m.home+"/tree.tar", "main.go"); o.code != 0 {
		t.Fatal(o)
	}
	tree := s.must("a tree", "-H", "Content-Type: application/x-tar", "--data-binary", "@"+m.home+"/tree.tar", s.url+"/v1/trees")

	foreign := ids{
		"sandbox_id": id, "session_id": id, "id": id, "context_id": s.field(made, "contextId"),
		"snapshot_id": s.field(taken, "snapshotId"), "tree_id": s.field(tree, "treeId"),
	}
	missing := ids{"sandbox_id": "00001" + id[5:], "session_id": "00001" + id[5:], "id": "00001" + id[5:], "context_id": "none"}
	for _, name := range []string{"snapshot_id", "tree_id"} {
		missing[name] = swapped(foreign[name].(string))
	}
	checked := 0
	for _, method := range everyMethod() {
		fields := method.Input().Fields()
		for _, named := range []string{"sandbox_id", "session_id", "id", "snapshot_id", "tree_id", "template", "name", "volumes"} {
			if fields.ByName(protoreflect.Name(named)) == nil {
				continue
			}
			theirs, none := requestOf(method, foreign), requestOf(method, missing)
			switch name := string(method.Name()); {
			case named == "name" && name != "Get" && name != "Delete":
				continue // it names the caller's own
			case named == "name":
				theirs["name"], none["name"] = map[string]string{"Volumes": "data", "Templates": "mine"}[string(method.Parent().Name())], "nothing"
			case named == "template":
				theirs["template"], none["template"] = "mine", "nothing"
			case named == "volumes":
				theirs["volumes"], none["volumes"] = mounted("data"), mounted("nothing")
			default:
				theirs[named], none[named] = foreign[named], missing[named]
			}
			checked++
			got, want := shownTo(s.call(method, evil, theirs), theirs), shownTo(s.call(method, evil, none), none)
			if got != want || method.Name() != "List" && method.Name() != "ListSnapshots" && !strings.Contains(got, `"code":"not_found"`) {
				t.Errorf("%s with another tenant's %s: %.400s\nwith one that does not exist: %.400s", method.FullName(), named, got, want)
			}
		}
		if strings.HasPrefix(string(method.Name()), "List") {
			if got := s.call(method, evil, nil); strings.Contains(got, id) || strings.Contains(got, foreign["snapshot_id"].(string)) || strings.Contains(got, `"data"`) || strings.Contains(got, `"mine"`) {
				t.Errorf("%s shows another tenant's: %s", method.FullName(), got)
			}
		}
	}
	if checked < 55 {
		t.Errorf("only %d calls were checked", checked)
	}
	for _, path := range []string{"/files/content?path=/etc/passwd", "/files/archive?path=/etc", "/processes/1/ws", "/ports/80/", "/metrics"} {
		if o := m.exec("curl", "-sS", "-o", m.home+"/out", "-w", "%{http_code}", "-H", "Authorization: Bearer "+evil, at+path); o.stdout != "404" {
			t.Errorf("%s: %s %s", path, o.stdout, m.read(m.home, "out"))
		}
	}

	// All of it is still there, and its owner's.
	for path, want := range map[string]string{
		"/v1/sandboxes/" + id: "SANDBOX_STATE_RUNNING", "/v1/sandboxes/" + id + "/processes/1": `"pid"`, "/v1/snapshots": "snap-",
		"/v1/volumes": `"data"`, "/v1/templates/mine": `"mine"`,
	} {
		if body, status := s.curl(s.url + path); status != "200" || !strings.Contains(body, want) || strings.Contains(body, `"exit"`) {
			t.Errorf("%s afterwards: %s %s", path, status, body)
		}
	}
	if n := len(m.containers()); n != 1 {
		t.Errorf("%d sandboxes run", n)
	}
}

// templateMine is the request for a template.
var templateMine = ids{"name": "mine", "base": "code", "defaults": ids{"env": ids{"A": "1"}}}

// methodNamed returns a method of the schema.
func methodNamed(name protoreflect.FullName) protoreflect.MethodDescriptor {
	all := everyMethod()
	return all[slices.IndexFunc(all, func(m protoreflect.MethodDescriptor) bool { return m.FullName() == name })]
}

// everyMethod returns all methods of the schema.
func everyMethod() (all []protoreflect.MethodDescriptor) {
	protoregistry.GlobalFiles.RangeFilesByPackage("aibox.v1", func(file protoreflect.FileDescriptor) bool {
		for s := range file.Services().Len() {
			methods := file.Services().Get(s).Methods()
			for n := range methods.Len() {
				all = append(all, methods.Get(n))
			}
		}
		return true
	})
	return all
}

// requestOf returns a request of a method that is valid but for what it names.
func requestOf(method protoreflect.MethodDescriptor, named ids) map[string]any {
	all := map[string]any{}
	values := ids{
		"process_id": 1, "argv": []string{"id"}, "path": "/x", "source": "/x", "destination": "/y", "by": "60s", "signal": 9,
		"size": ids{"rows": 24, "cols": 80}, "policy": ids{}, "code": "echo", "host": "a.example", "port": 80, "prompt": "p", "agent": "codex",
	}
	for _, name := range []string{"sandbox_id", "session_id", "id", "context_id"} {
		values[name] = named[name]
	}
	if method.Name() == "Create" || method.Name() == "CreateContext" {
		values["language"] = "bash"
	}
	if strings.HasPrefix(string(method.Name()), "List") {
		delete(values, "sandbox_id") // of a filter, see named
		if method.Parent().Name() != "Sandboxes" {
			values["sandbox_id"] = named["sandbox_id"]
		}
	}
	for name, value := range values {
		if method.Input().Fields().ByName(protoreflect.Name(name)) != nil {
			all[name] = value
		}
	}
	if method.FullName() == "aibox.v1.Sessions.Start" {
		delete(all, "sandbox_id")
	}
	return maps.Clone(all)
}

// mounted is a request for a volume.
func mounted(volume string) []ids { return []ids{{"volume": volume, "path": "/v"}} }

// swapped returns a text with its last two different characters swapped.
func swapped(text string) string {
	for i := len(text) - 1; i > 0; i-- {
		if text[i] != text[i-1] && text[i] != '-' && text[i-1] != '-' {
			return text[:i-1] + string(text[i]) + string(text[i-1]) + text[i+1:]
		}
	}
	return "none"
}

var requestIDs = regexp.MustCompile(`"(id|value)":\s*"[^"]*"`)

// shownTo returns an answer without what the caller has sent and without the id of the request.
func shownTo(answer string, sent map[string]any) string {
	answer = requestIDs.ReplaceAllString(answer, "")
	for _, name := range []string{"sandbox_id", "session_id", "id", "snapshot_id", "tree_id", "template", "name", "context_id"} {
		if text, _ := sent[name].(string); text != "" {
			answer = strings.ReplaceAll(answer, text, "NAMED")
		}
	}
	return strings.NewReplacer(`"data"`, "NAMED", `"nothing"`, "NAMED", `\"data\"`, "NAMED", `\"nothing\"`, "NAMED").Replace(answer)
}

// The newer services at a server that is killed in their calls.
func TestSnapshotsAndTemplatesOutliveTheirServer(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	s.token = s.holding("local")
	id := s.create(`{"timeout":"900s"}`)
	t.Cleanup(func() {
		for _, r := range m.stored() {
			if r.State.Phase != "ended" {
				m.exec(aibox, "stop", r.ID)
			}
		}
	})
	at := s.url
	killIn := func(what string, begun func() bool, args ...string) {
		t.Helper()
		args = append([]string{"-sS", "-H", "Authorization: Bearer " + s.token}, args...)
		if !slices.Contains(args, "--data-binary") {
			args = append(args, "-H", "Content-Type: application/json")
		}
		s.killIn(what, id, func(context.Context) { _ = m.cmd("curl", args...).Run() }, begun)
		at = s.url
	}
	snapshots := func() (all []string) {
		t.Helper()
		for _, found := range regexp.MustCompile(`"snapshotId":"([^"]+)"`).FindAllStringSubmatch(s.must("the list", at+"/v1/snapshots"), -1) {
			all = append(all, found[1])
		}
		return all
	}
	killIn("a snapshot", func() bool { return len(m.drafts()) > 0 || len(m.drafts()) == 0 && len(snapshots()) > 0 }, "-d", `{}`, at+"/v1/sandboxes/"+id+":snapshot")
	taken := s.field(s.must("the next snapshot", "-d", `{"name":"next"}`, at+"/v1/sandboxes/"+id+":snapshot"), "snapshotId")

	restored := s.killedCreation(`{"snapshot_id":"` + taken + `","idempotency_key":"restored"}`)
	at = s.url
	if body, status := s.curl("-d", `{"argv":["echo","alive"]}`, at+"/v1/sandboxes/"+restored+":exec"); status != "200" || !strings.Contains(body, "YWxpdmUK") {
		t.Errorf("the sandbox from the snapshot: %s %s", status, body)
	}
	for _, one := range snapshots() {
		killIn("a deletion", func() bool { return true }, "-X", "DELETE", at+"/v1/snapshots/"+one)
		if _, status := s.curl("-X", "DELETE", at+"/v1/snapshots/"+one); status != "200" && status != "404" {
			t.Errorf("the deletion is repeated: %s", status)
		}
	}
	if left := snapshots(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
	create := methodNamed("aibox.v1.Templates.Create")
	m.write(m.home+"/request", string(enveloped(t, templateMine)))
	killIn("a template", func() bool { return true }, "-H", "Content-Type: application/connect+json", "--data-binary", "@"+m.home+"/request", at+"/aibox.v1.Templates/Create")
	if got := s.call(create, s.token, templateMine); !strings.Contains(got, `"name":"mine"`) && !strings.Contains(got, "already") {
		t.Errorf("the template is created again: %s", got)
	}
	s.must("the template", at+"/v1/templates/mine")
	eventually(t, hung, "no rest of a snapshot is left", func() bool {
		m.aibox(0, "gc", "--dry-run")
		return len(m.drafts()) == 0
	})
}
