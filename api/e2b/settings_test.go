package e2b

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

func TestEveryCallOfTheControlPlaneRefusesUnknownFieldsAndParametersAndNamesThem(t *testing.T) {
	fake, s, front := serve(t)
	a := create(t, front, "token-a")
	bodies := 0
	for pattern := range s.calls() {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.NewReplacer("{id}", a.SandboxID, "{name}", "x").Replace(path)
		for _, query := range []string{"bogus=1", "a;b"} {
			if status, body := call(t, front, method, "/e2b"+path+"?"+query, "", "X-API-KEY", "token-a"); status != http.StatusBadRequest || !strings.Contains(body, "bogus") && query != "a;b" {
				t.Errorf("%s?%s: %d %s", pattern, query, status, body)
			}
		}
		for _, name := range queries[pattern] {
			if status, body := call(t, front, method, "/e2b"+path+"?"+name+"=1&"+name+"=2", "", "X-API-KEY", "token-a"); status != http.StatusBadRequest || !strings.Contains(body, name) {
				t.Errorf("%s with %s twice: %d %s", pattern, name, status, body)
			}
		}
		if method == "GET" || method == "DELETE" {
			continue
		}
		bodies++
		if status, body := call(t, front, method, "/e2b"+path, `{"bogus": 1}`, "X-API-KEY", "token-a"); status != http.StatusBadRequest || !strings.Contains(body, "bogus") {
			t.Errorf("%s with an unknown field: %d %s", pattern, status, body)
		}
	}
	for body, name := range map[string]string{
		`{"timeout": 60, "timeout": 7200}`:                           "timeout",
		`{"metadata": {"a": "1", "a": "2"}}`:                         "a",
		`{"timeout": 60, "Timeout": 7200}`:                           "Timeout",
		`{"network": {"allowOut": ["a.b"], "allowOut": ["*"]}}`:      "allowOut",
		`{"allow_internet_access": false, "timeout": 60} {"more":1}`: "{",
		`{"metadata": {"a": "` + "\xff" + `"}}`:                      "UTF-8",
	} {
		if status, got := call(t, front, "POST", "/e2b/sandboxes", body, "X-API-KEY", "token-a"); status != http.StatusBadRequest || !strings.Contains(got, name) {
			t.Errorf("%q: %d %s", body, status, got)
		}
	}
	if bodies < 10 {
		t.Errorf("only %d calls with a body were checked", bodies)
	}
	if len(fake.created) != 1 || len(fake.policies) > 0 {
		t.Errorf("%d sandboxes were created, and %d policies set", len(fake.created), len(fake.policies))
	}
	if status, body := call(t, front, "GET", "/e2b/sandboxes/"+a.SandboxID, "", "X-API-KEY", "token-a"); status != http.StatusOK || !strings.Contains(body, `"running"`) {
		t.Errorf("afterwards: %d %s", status, body)
	}
}

func TestEveryCallInsideASandboxRefusesUnknownFieldsAndParametersAndNamesThem(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	for _, tried := range []string{"GET /files?path=/x&bogus=1", "POST /files?path=/x&bogus=1", "GET /files?path=/x&path=/bogus", "GET /health?bogus=1", "GET /metrics?bogus=1", "GET /envs?bogus=1"} {
		method, path, _ := strings.Cut(tried, " ")
		status, body := call(t, front, method, "/e2b"+path, "", inside(a)...)
		if status != http.StatusBadRequest || !strings.Contains(body, "bogus") && !strings.Contains(body, "path") {
			t.Errorf("%s: %d %s", tried, status, body)
		}
	}
	unknown := string(protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1))
	checked := 0
	for _, name := range []protoreflect.FullName{"process.Process", "filesystem.Filesystem"} {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		if err != nil {
			t.Fatal(err)
		}
		service, ok := found.(protoreflect.ServiceDescriptor)
		if !ok {
			t.Fatalf("%s is no service", name)
		}
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			for encoding, message := range map[string]string{"json": `{"bogus":1}`, "proto": unknown} {
				kind, body := "application/"+encoding, message
				if method.IsStreamingClient() || method.IsStreamingServer() {
					kind, body = "application/connect+"+encoding, "\x00\x00\x00\x00"+string(rune(len(message)))+message
				}
				checked++
				_, answer := call(t, front, "POST", "/e2b/"+string(name)+"/"+string(method.Name()), body, append(inside(a), "Content-Type", kind)...)
				if !strings.Contains(answer, "invalid_argument") || !strings.Contains(answer, "bogus") && !strings.Contains(answer, "999") {
					t.Errorf("%s in %s: %q", method.FullName(), encoding, answer)
				}
			}
		}
	}
	if checked < 30 || len(fake.started) > 0 {
		t.Errorf("%d calls were checked, and %d processes started", checked, len(fake.started))
	}
}
