package wiring

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/server"
	"aibox/app"
	"aibox/app/template"
	"aibox/config"
	"aibox/session"
)

// mcpServer serves the API with /mcp on loopback, with real tokens and records.
type mcpServer struct {
	t   *testing.T
	api *API
	url string

	mu    sync.Mutex
	calls []server.Call // that were recorded
}

// newMCPServer starts a server whose user has given these repositories for agents.
func newMCPServer(t *testing.T, repositories ...string) *mcpServer {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"STATE", "DATA", "CONFIG", "CACHE"} {
		t.Setenv("XDG_"+name+"_HOME", filepath.Join(home, name))
	}
	s := &mcpServer{t: t}
	api, err := Open(t.Context(), Config{App: app.New(nil), Version: "1", Log: io.Discard, Complete: func(o *server.Options) {
		o.Hosts = []string{"127.0.0.1", "box.example.org"}
		o.Record = func(call server.Call) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.calls = append(s.calls, call)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	end := api.AddMCP(context.WithoutCancel(t.Context()), repositories)
	web := httptest.NewServer(api)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		end()
		_ = api.Close()
	})
	s.api, s.url = api, web.URL+"/mcp"
	return s
}

// mcpCaller is a caller of /mcp with a token.
type mcpCaller struct {
	*mcpServer
	token, tokenID, session string
}

func (s *mcpServer) caller(tenant session.Tenant, rights ...aiboxv1.Right) *mcpCaller {
	s.t.Helper()
	secret, token, err := s.api.Store.CreateToken(s.t.Context(), tenant, "test", rights, time.Time{})
	if err != nil {
		s.t.Fatal(err)
	}
	return &mcpCaller{mcpServer: s, token: secret, tokenID: token.ID}
}

// send sends a request and returns the status and the message of the answer. header holds pairs of
// names and values; an empty value removes a header.
func (c *mcpCaller) send(method string, body io.Reader, header ...string) (status int, answer string, answered http.Header) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.url, body)
	if err != nil {
		c.t.Fatal(err)
	}
	all := append([]string{
		"Authorization", "Bearer " + c.token, "Content-Type", "application/json", "Accept", "application/json, text/event-stream",
		"Mcp-Session-Id", c.session, "Mcp-Protocol-Version", "2025-06-18",
	}, header...)
	for i := 0; i < len(all); i += 2 {
		if all[i] == "Host" {
			r.Host = all[i+1]
		} else if r.Header.Del(all[i]); all[i+1] != "" {
			r.Header.Set(all[i], all[i+1])
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	answer = string(text)
	for line := range strings.Lines(answer) {
		if data, ok := strings.CutPrefix(line, "data: {"); ok {
			answer = "{" + data
		}
	}
	return response.StatusCode, answer, response.Header
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// begin starts an MCP session.
func (c *mcpCaller) begin() *mcpCaller {
	c.t.Helper()
	status, answer, header := c.send("POST", strings.NewReader(initialize))
	if c.session = header.Get("Mcp-Session-Id"); status != 200 || c.session == "" {
		c.t.Fatalf("a session cannot begin: %d %s", status, answer)
	}
	c.send("POST", strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return c
}

// call calls a tool with arguments, a JSON text.
func (c *mcpCaller) call(tool, arguments string) (status int, answer string) {
	c.t.Helper()
	status, answer, _ = c.send("POST", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)))
	return status, answer
}

// works reports whether a call of list_sandboxes succeeds.
func (c *mcpCaller) works() bool {
	c.t.Helper()
	status, answer := c.call("list_sandboxes", "{}")
	return status == 200 && strings.Contains(answer, `{\"sandboxes\":[]}`)
}

func TestAnMCPSessionBelongsToTheTenantThatBeganIt(t *testing.T) {
	s := newMCPServer(t)
	ann, ben := s.caller("ann", auth.Rights()...).begin(), s.caller("ben", auth.Rights()...)
	again := s.caller("ann", auth.Rights()...)
	again.session = ann.session
	if !ann.works() || !again.works() {
		t.Fatal("the tenant cannot use its session")
	}
	text, code, _ := strings.Cut(ann.session, ".")
	for _, id := range []string{
		ann.session, text, text + ".", "." + code, text + "." + strings.Repeat("0", len(code)), "x" + ann.session, ann.session + "0", ".", strings.Repeat("x", 4096),
	} {
		caller := ben
		if id != ann.session {
			caller = again // not even its own tenant guesses an id
		}
		caller.session = id
		for _, method := range []string{"POST", "GET", "DELETE"} {
			body := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
			if method != "POST" {
				body = ""
			}
			if status, answer, _ := caller.send(method, strings.NewReader(body)); status != http.StatusNotFound || strings.Contains(answer, "ann") {
				t.Errorf("%s with the session %.80q: %d %s", method, id, status, answer)
			}
		}
	}
	if !ann.works() {
		t.Error("the session has ended")
	}
	if status, _, _ := ann.send("DELETE", nil); status >= 300 || ann.works() {
		t.Errorf("its tenant cannot end it: %d", status)
	}
}

func TestMCPRefusesWebPagesAndOtherHosts(t *testing.T) {
	s := newMCPServer(t)
	ann := s.caller("ann", auth.Rights()...).begin()
	for _, header := range [][]string{
		{"Origin", "https://evil.example"},
		{"Origin", s.url},
		{"Origin", "null"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-origin"},
		{"Host", "evil.example"},
		{"Host", "127.0.0.1.evil.example"},
		{"Host", "127.0.0.1@evil.example"},
	} {
		for _, id := range []string{"", ann.session} {
			status, answer, _ := ann.send("POST", strings.NewReader(initialize), append(header, "Mcp-Session-Id", id)...)
			if status != http.StatusForbidden && status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", header, status, answer)
			}
		}
	}
	for _, token := range []string{"", "Bearer", "Bearer aibox_" + strings.Repeat("A", 43), "Basic " + ann.token, "Bearer " + ann.token + "x"} {
		if status, answer, _ := ann.send("POST", strings.NewReader(initialize), "Authorization", token); status != http.StatusUnauthorized {
			t.Errorf("with %q: %d %s", token, status, answer)
		}
	}
	if status, answer, _ := ann.send("POST", strings.NewReader(initialize), "Mcp-Session-Id", "", "Host", "box.example.org"); status != 200 {
		t.Errorf("a name of the server is refused: %d %s", status, answer)
	}
	if err := s.api.Store.RevokeToken(t.Context(), ann.tokenID); err != nil {
		t.Fatal(err)
	}
	if status, answer := ann.call("list_sandboxes", "{}"); status != http.StatusUnauthorized {
		t.Errorf("a revoked token in its session: %d %s", status, answer)
	}
}

// toolRights are the tools, each with the right that it needs and with arguments that match its
// schema.
var toolRights = map[string]struct {
	right     aiboxv1.Right
	arguments string
}{
	"create_sandbox":  {aiboxv1.Right_RIGHT_SANDBOXES, `{"template":"no-such"}`},
	"list_sandboxes":  {aiboxv1.Right_RIGHT_READ, `{}`},
	"destroy_sandbox": {aiboxv1.Right_RIGHT_SANDBOXES, `{"sandbox":"00001-sandbox"}`},
	"run_code":        {aiboxv1.Right_RIGHT_EXECUTE, `{"sandbox":"00001-sandbox","language":"python","code":"1"}`},
	"run_command":     {aiboxv1.Right_RIGHT_EXECUTE, `{"sandbox":"00001-sandbox","command":"true"}`},
	"read_file":       {aiboxv1.Right_RIGHT_EXECUTE, `{"sandbox":"00001-sandbox","path":"/x"}`},
	"write_file":      {aiboxv1.Right_RIGHT_EXECUTE, `{"sandbox":"00001-sandbox","path":"/x","content":""}`},
	"list_files":      {aiboxv1.Right_RIGHT_EXECUTE, `{"sandbox":"00001-sandbox","path":"/x"}`},
	"open_port":       {aiboxv1.Right_RIGHT_EXECUTE, `{"sandbox":"00001-sandbox","port":80}`},
	"run_agent":       {aiboxv1.Right_RIGHT_SESSIONS, `{"repository":"relative","prompt":"p"}`},
	"list_sessions":   {aiboxv1.Right_RIGHT_READ, `{}`},
	"wait_session":    {aiboxv1.Right_RIGHT_READ, `{"session":"00001-codex"}`},
	"read_output":     {aiboxv1.Right_RIGHT_SESSIONS, `{"session":"00001-codex"}`},
	"list_changes":    {aiboxv1.Right_RIGHT_SESSIONS, `{"session":"00001-codex"}`},
	"read_diff":       {aiboxv1.Right_RIGHT_SESSIONS, `{"session":"00001-codex"}`},
	"accept_changes":  {aiboxv1.Right_RIGHT_ACCEPT, `{"session":"00001-codex","all":true}`},
	"send_feedback":   {aiboxv1.Right_RIGHT_SESSIONS, `{"session":"00001-codex","prompt":"p"}`},
	"stop_session":    {aiboxv1.Right_RIGHT_SESSIONS, `{"session":"00001-codex"}`},
}

func TestEachMCPToolNeedsItsRight(t *testing.T) {
	s := newMCPServer(t)
	all := s.caller("ann", auth.Rights()...).begin()
	_, listed, _ := all.send("POST", strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(listed), &list); err != nil || len(list.Result.Tools) != len(toolRights) {
		t.Fatalf("the tools are %s: %v", listed, err)
	}
	for _, right := range auth.Rights() {
		one := s.caller("ann", aiboxv1.Right_RIGHT_READ, right)
		one.session = all.session // created with more rights, which do not apply
		for _, tool := range list.Result.Tools {
			known := toolRights[tool.Name]
			status, answer := one.call(tool.Name, known.arguments)
			permitted := slices.Contains([]aiboxv1.Right{aiboxv1.Right_RIGHT_READ, right}, known.right)
			refusal := "does not have the right " + auth.RightName(known.right)
			if refused := strings.Contains(answer, refusal); status != 200 || refused == permitted || !permitted && !strings.Contains(answer, `"isError":true`) {
				t.Errorf("%s with the right %s: %d %s", tool.Name, auth.RightName(right), status, answer)
			}
		}
	}
	none := s.caller("ann", aiboxv1.Right_RIGHT_EXECUTE)
	if status, answer, _ := none.send("POST", strings.NewReader(initialize)); status != http.StatusForbidden {
		t.Errorf("without the right to read: %d %s", status, answer)
	}
}

func TestAnMCPCallerChoosesTheNetworkOfAnAgentOnlyWithTheRight(t *testing.T) {
	s := newMCPServer(t)
	without := s.caller("ann", aiboxv1.Right_RIGHT_READ, aiboxv1.Right_RIGHT_SESSIONS).begin()
	with := s.caller("ann", auth.Rights()...).begin()
	const refusal = "does not have the right network"
	for arguments, needs := range map[string]bool{`"network":"public"`: true, `"allow":["npm"]`: true, `"model":"m"`: true, `"agent":"amp"`: true, `"network":"none"`: false, `"allow":[]`: false, `"network":"local","allow":[]`: true, `"timeout":"20m"`: false} {
		arguments = `{"repository":"relative","prompt":"p",` + arguments + `}`
		if _, answer := without.call("run_agent", arguments); strings.Contains(answer, refusal) != needs {
			t.Errorf("%s without the right: %s", arguments, answer)
		}
		if _, answer := with.call("run_agent", arguments); strings.Contains(answer, refusal) {
			t.Errorf("%s with the right: %s", arguments, answer)
		}
	}
}

// endless is a body that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '['
	}
	return len(p), nil
}

func TestMCPSurvivesHugeAndMalformedRequests(t *testing.T) {
	s := newMCPServer(t)
	ann := s.caller("ann", auth.Rights()...).begin()
	huge := strings.Repeat("x", 9<<20)
	for name, body := range map[string]string{
		"huge":     `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_code","arguments":{"sandbox":"a","language":"python","code":"` + huge + `"}}}`,
		"a method": `{"jsonrpc":"2.0","id":2,"method":"` + huge + `"}`,
		"deep":     strings.Repeat("[", 1<<20), "empty": "", "no JSON": "\x00\xff", "an array": `[1,2,3]`, "no version": `{"id":1,"method":"tools/list"}`,
		"null": "null", "text": `"tools/list"`, "an id that is no id": `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
	} {
		if status, answer, _ := ann.send("POST", strings.NewReader(body)); status < 400 || status >= 500 || len(answer) > 4096 {
			t.Errorf("%s: %d, %d bytes %.200s", name, status, len(answer), answer)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "POST", s.url, io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","params":`), endless{}))
	r.Header.Set("Authorization", "Bearer "+ann.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if response, err := http.DefaultClient.Do(r); err == nil {
		if response.Body.Close(); response.StatusCode < 400 {
			t.Errorf("an endless body: %d", response.StatusCode)
		}
	} else if ctx.Err() != nil {
		t.Error("an endless body is read on and on")
	}
	if !ann.works() {
		t.Error("the server does not work any more")
	}
}

func TestMCPRefusesUnknownToolsAndWrongArguments(t *testing.T) {
	s := newMCPServer(t)
	ann := s.caller("ann", auth.Rights()...).begin()
	for _, c := range []struct{ tool, arguments, want string }{
		{"no_such", `{}`, "unknown tool"},
		{"", `{}`, "unknown tool"},
		{"run_command", `{"sandbox":"a"}`, `command`},
		{"run_command", `{"sandbox":"a","command":7}`, `command`},
		{"run_command", `{"sandbox":"a","command":"true","user":"root"}`, "user"},
		{"run_command", `[]`, "isError"},
		{"run_command", `{"sandbox":"a","command":"true","seconds":1e300}`, "600 seconds"},
		{"run_command", `{"sandbox":"a","command":"true","seconds":-1}`, "600 seconds"},
		{"create_sandbox", `{"memory_mib":-1}`, "memory"},
		{"create_sandbox", `{"network":"everything"}`, "network"},
		{"create_sandbox", `{"timeout":"soon"}`, "timeout"},
		{"create_sandbox", `{"settings":{"system":"x"}}`, "settings"},
		{"create_sandbox", `{"template":"../../etc/passwd"}`, "template"},
		{"open_port", `{"sandbox":"a","port":65536}`, "not a port"},
		{"open_port", `{"sandbox":"a","port":-1}`, "not a port"},
		{"read_file", `{"sandbox":"a","path":"/x","offset":-9223372036854775808}`, "offset"},
		{"read_file", `{"sandbox":"../../x","path":"/x"}`, "isError"},
		{"list_files", `{"sandbox":"a","path":"/","depth":2147483648}`, "isError"},
		{"write_file", `{"sandbox":"a","path":"/x","content":"` + strings.Repeat("x", 4<<20+1) + `"}`, "4 MiB"},
		{"write_file", `{"sandbox":"a","path":"/x","content":"*","encoding":"base64"}`, "base64"},
		{"wait_session", `{"session":"00001-codex","seconds":601}`, "600 seconds"},
		{"read_output", `{"session":"00001-codex","from":-1}`, "from"},
		{"run_agent", `{"repository":"/etc","prompt":"p"}`, "not one of the allowed repositories"},
		{"run_agent", `{"repository":"/etc","prompt":"p","secret":["X=evil.example:Authorization"]}`, "secret"},
	} {
		status, answer := ann.call(c.tool, c.arguments)
		failed := strings.Contains(answer, `"isError":true`) || strings.Contains(answer, `"error":{`)
		if !failed || !strings.Contains(answer, c.want) || len(answer) > 8<<10 {
			t.Errorf("%s %.80s: %d %.300s", c.tool, c.arguments, status, answer)
		}
	}
	if !ann.works() {
		t.Error("the server does not work any more")
	}
}

func TestASandboxOfMCPIsAtMostAsFreeAsTheUsersSettingsOrTheTenantsDefaults(t *testing.T) {
	s := newMCPServer(t)
	const refusal = "can be at most as free as in the user's settings"
	if _, err := s.api.Store.ChangeDefaults(t.Context(), "ben", func(defaults *config.RunOverrides) error {
		return defaults.SetWords("allow", []string{"a.example", "b.example"})
	}); err != nil {
		t.Fatal(err)
	}
	for name, settings := range map[string]map[string]any{
		"open": {"network": "public"}, "listed": {"allow": []string{"b.example"}}, "more": {"allow": []string{"c.example"}},
		"large": {"memory": "999GiB"}, "small": {"timeout": "5m"},
	} {
		for _, tenant := range []session.Tenant{"ann", "ben"} {
			store, err := app.TenantTemplateStore(tenant)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Create(t.Context(), s.api.app.TenantTemplates(tenant), name, &template.Definition{Image: "example.com/no-such:1", Settings: settings}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		tenant    session.Tenant
		arguments string
		refused   bool
	}{
		{"ann", `{"template":"open"}`, true},
		{"ann", `{"template":"open","network":"none"}`, false},
		{"ann", `{"template":"listed"}`, true},
		{"ann", `{"template":"large"}`, true},
		{"ann", `{"template":"small"}`, false},
		{"ann", `{"template":"small","timeout":"10m"}`, false},
		{"ben", `{"template":"open"}`, true},
		{"ben", `{"template":"listed"}`, false},
		{"ben", `{"template":"more"}`, true},
		{session.LocalTenant, `{"template":"no-such","network":"public"}`, true},
		{session.LocalTenant, `{"template":"no-such","allow":["a.example"]}`, true},
		{session.LocalTenant, `{"template":"no-such","network":"none","timeout":"5m"}`, false},
		{"ann", `{"template":"no-such","allow":["a.example"]}`, true},
		{"ben", `{"template":"no-such","allow":["a.example"]}`, false},
		{"ben", `{"template":"no-such","allow":["c.example"]}`, true},
	} {
		_, answer := s.caller(c.tenant, auth.Rights()...).begin().call("create_sandbox", c.arguments)
		if strings.Contains(answer, refusal) != c.refused || !strings.Contains(answer, `"isError":true`) {
			t.Errorf("%s %s: %s", c.tenant, c.arguments, answer)
		}
		if ofUser := strings.Contains(answer, "aibox config set") || strings.Contains(answer, "where it is"); ofUser != (c.refused && c.tenant == session.LocalTenant) {
			t.Errorf("%s %s shows the user's settings: %s", c.tenant, c.arguments, answer)
		}
	}
}

func TestAnAllowListOfMCPNarrowsThePolicyPublic(t *testing.T) {
	s := newMCPServer(t)
	settings := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "aibox", "config.toml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(settings), 0o700), os.WriteFile(settings, []byte("network = \"public\"\ndeny = [\"evil.example\"]\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	const refusal = "can be at most as free as in the user's settings"
	user := s.caller(session.LocalTenant, auth.Rights()...).begin()
	for arguments, refused := range map[string]bool{
		`"allow":["a.example"]`:                       false,
		`"allow":["a.example"],"network":"allowlist"`: false,
		`"allow":["evil.example"]`:                    false, // it stays denied
		`"allow":["a.example:22"]`:                    true,
		`"allow":["npm"]`:                             true,
		`"allow":["a.example:22"],"network":"public"`: true,
		`"allow":["a.example","a.example:22"]`:        true,
		`"network":"none"`:                            false,
		`"network":"public"`:                          false,
	} {
		_, answer := user.call("create_sandbox", `{"template":"no-such",`+arguments+`}`)
		if strings.Contains(answer, refusal) != refused || !strings.Contains(answer, `"isError":true`) {
			t.Errorf("%s: %s", arguments, answer)
		}
	}
}

func TestAgentsOfMCPWorkOnlyOnTheRepositoriesThatTheUserHasGiven(t *testing.T) {
	mine, other := t.TempDir(), t.TempDir()
	s := newMCPServer(t, mine)
	for i, repository := range []string{mine, other} {
		spec := session.Spec{ID: session.ID(fmt.Sprintf("%05d-codex", i)), Agent: "codex", Repository: repository, Tenant: session.LocalTenant}
		storeSession(t, s.api, spec, session.State{Phase: session.Ended, Ended: time.Now()})
	}
	user, ann := s.caller(session.LocalTenant, auth.Rights()...).begin(), s.caller("ann", auth.Rights()...).begin()
	const refusal = "not one of the allowed repositories"
	for _, c := range []struct {
		*mcpCaller
		repository string
		refused    bool
	}{{user, mine, false}, {user, other, true}, {ann, mine, true}} {
		_, answer := c.call("run_agent", fmt.Sprintf(`{"repository":%q,"agent":"no-such","prompt":"p"}`, c.repository))
		if strings.Contains(answer, refusal) != c.refused || !strings.Contains(answer, `"isError":true`) {
			t.Errorf("%s: %s", c.repository, answer)
		}
		if hinted := strings.Contains(answer, "with --repo"); hinted != (c.refused && c.mcpCaller == user) {
			t.Errorf("%s: %s", c.repository, answer)
		}
	}
	if _, answer := user.call("list_sessions", "{}"); !strings.Contains(answer, "00000-codex") || strings.Contains(answer, "00001-codex") {
		t.Errorf("the sessions are %s", answer)
	}
}

func TestATenantCannotUseUpTheMCPSessionsOfAnotherTenant(t *testing.T) {
	s := newMCPServer(t)
	ann, ben := s.caller("ann", auth.Rights()...), s.caller("ben", auth.Rights()...)
	begun := 0
	for ; begun < 200; begun++ {
		if status, answer, _ := ann.send("POST", strings.NewReader(initialize)); status == http.StatusTooManyRequests {
			break
		} else if status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
	}
	if begun != 64 {
		t.Errorf("a tenant has %d sessions at once", begun)
	}
	if !ben.begin().works() {
		t.Error("another tenant has none")
	}
}

func TestAToolOfAnotherTenantDoesNotShowWhatFailedInside(t *testing.T) {
	s := newMCPServer(t)
	var archive bytes.Buffer
	if err := tar.NewWriter(&archive).Close(); err != nil {
		t.Fatal(err)
	}
	tree, err := s.api.Trees.Add(t.Context(), "ann", &archive)
	if err != nil {
		t.Fatal(err)
	}
	repository, err := s.api.Trees.Repository("ann", tree.ID)
	if err != nil {
		t.Fatal(err)
	}
	const id = "00001-codex"
	storeSession(t, s.api, session.Spec{ID: id, Agent: "codex", Repository: repository, Tenant: "ann"}, session.State{Phase: session.Ended, Ended: time.Now()})
	if err := os.Symlink("output.raw", filepath.Join(s.api.Dirs.Sessions(), id, "output.raw")); err != nil { // it cannot be opened
		t.Fatal(err)
	}
	ann := s.caller("ann", auth.Rights()...).begin()
	if _, answer := ann.call("read_output", `{"session":"`+id+`"}`); strings.Contains(answer, s.api.Dirs.State) || !strings.Contains(answer, "aibox failed; ") {
		t.Error(answer)
	}
}
