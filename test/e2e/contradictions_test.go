package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// contradictions are requests whose settings contradict each other, by methods: each with a part
// of the error.
var contradictions = map[protoreflect.FullName][]struct{ fields, want string }{
	"aibox.v1.Sandboxes.Create": {
		{`{"network":{"mode":"NETWORK_MODE_NONE","allow":{"hosts":["a.example"]}}}`, "an allow list has no effect"},
		{`{"network":{"mode":"NETWORK_MODE_NONE","allow":{"hosts":[]}}}`, "an allow list has no effect"},
		{`{"network":{"mode":"NETWORK_MODE_NONE","deny":{"hosts":["a.example"]}}}`, "a deny list has no effect"},
		{`{"network":{"mode":"NETWORK_MODE_NONE","upload_mib":"1"}}`, "a limit of traffic has no effect"},
		{`{"network":{"mode":"NETWORK_MODE_NONE"},"model":"m"}`, "reaches no model"},
		{`{"network":{"mode":"NETWORK_MODE_NONE"},"settings":{"network":"public"}}`, "network is given twice"},
		{`{"settings":{"memory":"100"},"limits":{"memory_mib":"200"}}`, "memory is given twice"},
		{`{"settings":{"timeout":"1m"},"timeout":"120s"}`, "timeout is given twice"},
		{`{"on_timeout":"ON_TIMEOUT_PAUSE","timeout":"0s","idle_timeout":"0s"}`, "never paused"},
		{`{"permissions":{"max_processes":100},"limits":{"processes":10}}`, "allow 100 processes"},
		{`{"permissions":{"root":true,"no_child_processes":true}}`, "cannot be enforced on root"},
		{`{"permissions":{"root":true,"write":{"patterns":["/x"]}}}`, "cannot be enforced on root"},
		{`{"settings":{"verify":"x"}}`, "verify has no effect"},
	},
	"aibox.v1.Sandboxes.List": {
		{`{"metadata":["a=1","a=2"]}`, `\"a\" contradict`},
		{`{"metadata":["a"]}`, "metadata is KEY=VALUE"},
	},
	"aibox.v1.Sessions.Start": {
		{`{"prompt":"p"}`, "no repository"},
		{`{"prompt":"p","repository":"REPO","tree_id":"x"}`, "source"},
		{`{"prompt":"p","repository":"REPO","agent":"codex,claude"}`, "several agents"},
		{`{"prompt":"p","repository":"REPO","agent":"codex","network":{"mode":"NETWORK_MODE_NONE"},"settings":{"network":"public"}}`, "network is given twice"},
		{`{"prompt":"p","repository":"REPO","agent":"codex","limits":{"memory_mib":"200"},"settings":{"memory":"100"}}`, "memory is given twice"},
		{`{"prompt":"p","repository":"REPO","agent":"codex","network":{"mode":"NETWORK_MODE_LOCAL","allow":{"hosts":["a.example"]}}}`, "allow"},
		{`{"prompt":"p","repository":"REPO","agent":"codex","settings":{"bogus":"1"}}`, "bogus"},
		{`{"prompt":"p","repository":"REPO","agent":"codex","options":{"bogus":"1"}}`, "bogus"},
	},
	"aibox.v1.Sessions.List": {
		{`{"metadata":["a=1","a=2"]}`, `\"a\" contradict`},
		{`{"metadata":["a"]}`, "metadata is KEY=VALUE"},
	},
	"aibox.v1.Templates.Create": {
		{`{"name":"mine","defaults":{"network":{"mode":"NETWORK_MODE_NONE","allow":{"hosts":["a.example"]}}}}`, "allow"},
		{`{"name":"mine","defaults":{"network":{"mode":"NETWORK_MODE_NONE","deny":{"hosts":["a.example"]}}}}`, "deny"},
		{`{"name":"mine","apt_packages":["jq"],"dockerfile":"RUN true"}`, "packages"},
		{`{"name":"mine","base":"nothing"}`, "based on"},
	},
}

// independent are methods whose settings have nothing to do with each other, or whose
// contradictions other tests have, since they need what the request is about.
var independent = []protoreflect.FullName{
	"aibox.v1.Sandboxes.Update",
	"aibox.v1.Processes.Start", "aibox.v1.Processes.Launch", "aibox.v1.Processes.Exec", "aibox.v1.Processes.CreateContext",
	"aibox.v1.Processes.RunCode", // app/sandbox/code
	"aibox.v1.Sessions.Accept",   // api/sessions
	"aibox.v1.Sessions.Feedback",
}

// alone are names of fields that cannot contradict another one.
var alone = []string{
	"sandbox_id", "session_id", "snapshot_id", "tree_id", "id", "context_id", "process_id", "name", "path", "source", "destination", "user",
	"page_size", "page_token", "from_seq", "offset", "length", "depth", "mode", "content", "archive", "policy", "host", "port", "ttl", "language",
}

// related returns the fields of a method that could contradict each other.
func related(method protoreflect.MethodDescriptor) (names []string) {
	for i := range method.Input().Fields().Len() {
		if name := string(method.Input().Fields().Get(i).Name()); !slices.Contains(alone, name) {
			names = append(names, name)
		}
	}
	return names
}

// A setting that contradicts another one is an error that names it, in every way of the API, and
// nothing is created.
func TestSettingsThatContradictEachOtherAreErrors(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	s.token = s.holding("local")
	repo := m.repo("p", nil)
	refused := func(what, answer, want string) {
		t.Helper()
		if !strings.Contains(answer, want) {
			t.Errorf("%s: no %q in %s", what, want, answer)
		}
	}
	for _, method := range everyMethod() {
		rows, ok := contradictions[method.FullName()]
		if names := related(method); !ok && len(names) > 1 && !slices.Contains(independent, method.FullName()) {
			t.Errorf("%s has no row, although it has %q", method.FullName(), names)
		}
		for _, row := range rows {
			text := strings.ReplaceAll(row.fields, "REPO", repo)
			var fields map[string]any
			if err := json.Unmarshal([]byte(text), &fields); err != nil {
				t.Fatal(err)
			}
			answer := s.call(method, s.token, fields)
			refused(string(method.FullName())+" "+text, answer, row.want)
			if !strings.Contains(answer, `"code":"invalid_argument"`) && !strings.Contains(answer, `"code":"permission_denied"`) {
				t.Errorf("%s %s: %s", method.FullName(), text, answer)
			}
			if path := map[protoreflect.FullName]string{"aibox.v1.Sandboxes.Create": "/v1/sandboxes", "aibox.v1.Sessions.Start": "/v1/sessions"}[method.FullName()]; path != "" {
				body, status := s.curl("-d", text, s.url+path)
				refused("REST "+text, body, row.want)
				if status != "400" && status != "403" {
					t.Errorf("REST %s: %s", text, status)
				}
			}
		}
	}
	for body, want := range map[string]string{
		`{"allow_internet_access":false,"network":{"allowOut":["0.0.0.0/0"]}}`:    "both allow and deny everything",
		`{"volumeMounts":[{"name":"a","path":"/x"},{"name":"b","path":"/x/y"}]}`:  "overlap",
		`{"templateID":"base","network":{"allowOut":["a.example"],"bogus":true}}`: "bogus",
	} {
		o := m.exec("curl", "-sS", "-w", "\n%{http_code}", "-H", "X-API-KEY: "+s.token, "-H", "Content-Type: application/json", "-d", body, s.url+"/e2b/sandboxes")
		refused("E2B "+body, o.stdout, want)
		if !strings.HasSuffix(o.stdout, "\n400") {
			t.Errorf("E2B %s: %s", body, o)
		}
	}
	c := s.mcp()
	c.refused("allow", "create_sandbox", map[string]any{"network": "none", "allow": []string{"a.example"}})
	c.refused("allow", "run_agent", map[string]any{"repository": repo, "agent": "codex", "prompt": "p", "network": "none", "allow": []string{"a.example"}})
	if all := m.stored(); len(all) > 0 {
		t.Errorf("%d sandboxes or sessions were created", len(all))
	}
	if body, status := s.curl(s.url + "/v1/sandboxes"); status != "200" {
		t.Errorf("the server does not live: %s %s", status, body)
	}
}
