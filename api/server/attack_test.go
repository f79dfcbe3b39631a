package server

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/app/sandbox"
	"aibox/internal/diskerr"
	"aibox/internal/fault"
)

type rightType = aiboxv1.Right

// methods returns all methods of the schema, so that a new one is tested, too.
func methods(t *testing.T) []protoreflect.MethodDescriptor {
	t.Helper()
	var all []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("aibox.v1", func(file protoreflect.FileDescriptor) bool {
		for s := range file.Services().Len() {
			for m := range file.Services().Get(s).Methods().Len() {
				all = append(all, file.Services().Get(s).Methods().Get(m))
			}
		}
		return true
	})
	if len(all) < 50 {
		t.Fatalf("only %d methods were found", len(all))
	}
	return all
}

// framed returns the path, the type and the body of a call of a method over Connect, with a
// message in an encoding: json or proto.
func framed(method protoreflect.MethodDescriptor, encoding, message string) (path, contentType, body string) {
	path = "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
	if !method.IsStreamingClient() && !method.IsStreamingServer() {
		return path, "application/" + encoding, message
	}
	envelope := append([]byte{0}, binary.BigEndian.AppendUint32(nil, uint32(len(message)))...)
	return path, "application/connect+" + encoding, string(envelope) + message
}

// call calls a method over Connect with JSON, and returns the code of its error; empty for
// success.
func (s *site) call(method protoreflect.MethodDescriptor, message string, headers ...string) (code, answer string) {
	s.t.Helper()
	return s.callAs(method, "json", message, headers...)
}

// callAs is call with the encoding of the message.
func (s *site) callAs(method protoreflect.MethodDescriptor, encoding, message string, headers ...string) (code, answer string) {
	s.t.Helper()
	path, contentType, body := framed(method, encoding, message)
	got := s.request("POST", path, body, append(headers, "Content-Type: "+contentType, "Connect-Protocol-Version: 1")...)
	if !method.IsStreamingClient() && !method.IsStreamingServer() {
		if got.status == http.StatusOK {
			return "", got.body
		}
		return codeOf(s.t, got.body), got.body
	}
	for rest := got.body; len(rest) >= 5; {
		size := int(binary.BigEndian.Uint32([]byte(rest[1:5])))
		if len(rest) < 5+size {
			break
		}
		if rest[0]&2 != 0 {
			var end struct {
				Error json.RawMessage
			}
			if err := json.Unmarshal([]byte(rest[5:5+size]), &end); err != nil {
				s.t.Fatal(err)
			}
			if end.Error == nil {
				return "", got.body
			}
			return codeOf(s.t, string(end.Error)), string(end.Error)
		}
		rest = rest[5+size:]
	}
	s.t.Fatalf("%s: a stream without an end: %d %q", method.FullName(), got.status, got.body)
	return "", ""
}

func codeOf(t testing.TB, body string) string {
	t.Helper()
	var e struct{ Code string }
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Code == "" {
		t.Fatalf("no error: %q", body)
	}
	return e.Code
}

func TestNoMethodAnswersWithoutAValidToken(t *testing.T) {
	s := newSite(t, nil)
	good := s.token("a")
	revoked, info, err := s.store.CreateToken(t.Context(), "a", "", auth.Rights(), time.Time{})
	if err != nil || s.store.RevokeToken(t.Context(), info.ID) != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Second)
	expired, _, err := s.store.CreateToken(t.Context(), "a", "", auth.Rights(), end)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(end.Add(time.Millisecond)))
	for _, method := range methods(t) {
		for name, header := range map[string]string{
			"none": "X: y", "wrong": bearer(auth.NewToken()), "revoked": bearer(revoked), "expired": bearer(expired), "empty": bearer(""),
			"basic": "Authorization: Basic " + good, "cookie": "Cookie: token=" + good, "query": "X-Access-Token: " + good,
		} {
			if code, body := s.call(method, "{}", header); code != "unauthenticated" {
				t.Errorf("%s with the token %q: %q %s", method.FullName(), name, code, body)
			}
		}
	}
	if len(s.m.running) > 0 || s.m.creates > 0 {
		t.Error("something was done")
	}
	if got := s.request("GET", "/v1/sandboxes", "", bearer(good)); got.status != 200 {
		t.Errorf("a good token: %d %s", got.status, got.body)
	}
}

func TestRoutesOutsideOfTheSchemaNeedATokenToo(t *testing.T) {
	s := newSite(t, nil)
	for _, path := range []string{
		"/metrics", "/v1/sandboxes", "/v1/nothing", "/nothing", "/v1/sandboxes/x/processes/1/ws",
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
	} {
		if got := s.request("GET", path, ""); got.status != 401 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := s.request("GET", "/metrics", "", bearer(s.token("a"))); got.status != 404 {
		t.Errorf("a tenant reads the server's metrics: %d", got.status)
	}
	if got := s.request("GET", "/metrics", "", bearer(s.token("local"))); got.status != 200 || !strings.Contains(got.body, "aibox_requests_total") {
		t.Errorf("the machine's user does not: %d", got.status)
	}
}

func TestARouteWithoutARightCannotBeAdded(t *testing.T) {
	s := newSite(t, nil)
	defer func() {
		if recover() == nil {
			t.Error("it was added")
		}
	}()
	s.Handle(Route{Pattern: "/x", Handler: http.NotFoundHandler()})
}

func TestEachMethodNeedsItsRight(t *testing.T) {
	s := newSite(t, nil)
	tokens := map[rightType]string{}
	for _, right := range auth.Rights() {
		tokens[right] = s.token("a", auth.RightName(right))
	}
	for _, method := range methods(t) {
		code, body := s.call(method, "{}", bearer(tokens[rightOf(method)]))
		if code != "permission_denied" || !strings.Contains(body, "does not have the right") {
			t.Errorf("%s without its right: %q %s", method.FullName(), code, body)
		}
	}
}

// TestWhatASandboxReachesIsChosenOnlyWithTheRightNetwork names every field and every setting of
// a creation, so that a new one has to be added.
func TestWhatASandboxReachesIsChosenOnlyWithTheRightNetwork(t *testing.T) {
	needed := map[string]string{
		"network": `{}`, "model": `"m"`,
		"settings.network": "public", "settings.allow": "a.example", "settings.deny": "a.example", "settings.model": "m",
		"settings.egress-upload": "0", "settings.egress-download": "0", "settings.egress-upload-host": "0", "settings.egress-download-host": "0",
		"settings.inference": "http://127.0.0.1:1", "settings.inference-tools": "web-search", "settings.inspect": "a.example", "settings.secret": "X@a.example",
	}
	free := map[string]string{
		"template": `"code"`, "name": `"n"`, "metadata": `{"k":"v"}`, "env": `{"K":"v"}`, "timeout": `"60s"`, "idle_timeout": `"60s"`,
		"on_timeout": `"ON_TIMEOUT_PAUSE"`, "limits": `{"memoryMib":"512"}`, "permissions": `{"root":true}`, "volumes": `[{"volume":"v","path":"/v"}]`,
		"snapshot_id": `"snap-1"`, "idempotency_key": `"k"`, "settings": `{}`,
		"settings.timeout": "60s", "settings.idle-timeout": "60s", "settings.memory": "512", "settings.cpus": "1", "settings.pids": "64", "settings.disk": "512",
		"settings.image": "x", "settings.allow-degraded": "true", "settings.max-upload": "1", "settings.max-tokens": "1", "settings.max-cost": "1",
		"settings.model-timeout": "60s",
	}
	var parts []string
	fields := (&aiboxv1.CreateSandboxRequest{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		parts = append(parts, string(fields.Get(i).Name()))
	}
	for _, key := range sandbox.SettingKeys() {
		parts = append(parts, "settings."+key)
	}
	cases := &stored{}
	s := newSite(t, func(o *Options) { o.Services.Sandboxes = cases })
	cases.machine = s.m
	token := bearer(s.token("a", "network"))
	for _, part := range parts {
		value, needs := needed[part]
		if other, isFree := free[part]; isFree == needs {
			t.Errorf("%s is not in one of the tables", part)
			continue
		} else if isFree {
			value = other
		}
		body := fmt.Sprintf(`{%q:%s}`, part, value)
		if key, ok := strings.CutPrefix(part, "settings."); ok {
			body = fmt.Sprintf(`{"settings":{%q:%q}}`, key, value)
		}
		before := s.m.creates
		got := s.request("POST", "/v1/sandboxes", body, token)
		if refused := got.status == 403 && strings.Contains(got.body, "the right network"); refused != needs || needs && s.m.creates > before {
			t.Errorf("%s without the right network: %d %s", body, got.status, got.body)
		}
	}
}

// idField returns the field of a method's request that names a sandbox or a session; empty
// if it has none.
func idField(method protoreflect.MethodDescriptor) string {
	for _, name := range []string{"sandbox_id", "session_id", "id"} {
		if method.Input().Fields().ByName(protoreflect.Name(name)) != nil {
			return name
		}
	}
	return ""
}

// sample returns a request of a method about a sandbox.
func sample(t *testing.T, method protoreflect.MethodDescriptor, id string) string {
	t.Helper()
	all := map[string]any{}
	for name, value := range map[string]any{
		idField(method): id, "process_id": 1, "argv": []string{"echo"}, "path": "/x", "source": "/x", "destination": "/y", "by": "60s", "signal": 9,
		"size": map[string]int{"rows": 24, "cols": 80}, "policy": map[string]any{}, "code": "1", "language": "python", "host": "a.example", "port": 80,
		"name": "data", "dockerfile": "RUN true",
	} {
		if f := method.Input().Fields().ByName(protoreflect.Name(name)); f != nil {
			all[name] = value
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// volatile matches the parts that differ between two answers to the same call.
var volatile = regexp.MustCompile(`"(id|value)":\s*"[^"]*"|\d{5}-sandbox`)

func TestAnotherTenantsThingsAnswerAsThoseThatDoNotExist(t *testing.T) {
	s := newSite(t, nil)
	foreign := s.sandbox("b")
	own := s.sandbox("a")
	if _, err := s.m.StartProcess(t.Context(), "00001-sandbox", waiting); err != nil {
		t.Fatal(err)
	}
	token := bearer(s.token("a"))
	checked := 0
	for _, method := range methods(t) {
		if idField(method) == "" {
			continue
		}
		checked++
		foreignCode, foreignBody := s.call(method, sample(t, method, foreign), token)
		missingCode, missingBody := s.call(method, sample(t, method, "00099-sandbox"), token)
		foreignBody, missingBody = volatile.ReplaceAllString(foreignBody, ""), volatile.ReplaceAllString(missingBody, "")
		if foreignCode != missingCode || foreignBody != missingBody || foreignCode != "not_found" && foreignCode != "unimplemented" {
			t.Errorf("%s:\nanother tenant's: %q %s\nmissing:          %q %s", method.FullName(), foreignCode, foreignBody, missingCode, missingBody)
		}
	}
	if checked < 40 {
		t.Errorf("only %d methods were checked", checked)
	}
	if got := s.request("GET", "/v1/sandboxes/"+foreign+"/processes/1/ws", "", token); got.status != 404 {
		t.Errorf("the WebSocket: %d %s", got.status, got.body)
	}
	if got := s.request("GET", "/v1/sandboxes", "", token); strings.Contains(got.body, foreign) || !strings.Contains(got.body, own) {
		t.Errorf("the list: %s", got.body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		if call.Kind == "" {
			t.Errorf("%s succeeded", call.Method)
		}
	}
	if len(s.m.running["00001-sandbox"]) != 1 {
		t.Error("a process was started in another tenant's sandbox")
	}
}

func TestNoWebPageCanCall(t *testing.T) {
	s := newSite(t, nil)
	token := bearer(s.token("a"))
	for name, headers := range map[string][]string{
		"another origin":      {"Origin: https://evil.example"},
		"its own origin":      {"Origin: " + s.url},
		"no origin":           {"Origin: null"},
		"an empty origin":     {"Origin: "},
		"a page's request":    {"Sec-Fetch-Site: cross-site"},
		"a sandbox's page":    {"Sec-Fetch-Site: same-origin"},
		"a rebound name":      {"Host: evil.example"},
		"a rebound name:port": {"Host: evil.example:80"},
		"a look-alike":        {"Host: 127.0.0.1.evil.example"},
		"user and host":       {"Host: evil@127.0.0.1"},
		"two colons":          {"Host: 127.0.0.1:1:2"},
		"another address":     {"Host: 10.0.0.1"},
	} {
		for _, path := range []string{"/v1/sandboxes", "/aibox.v1.Sandboxes/Create", "/health", "/openapi.yaml"} {
			if got := s.request("POST", path, "{}", append(headers, token)...); got.status != 403 && got.status != 400 {
				t.Errorf("%s, %s: %d %s", name, path, got.status, got.body)
			}
		}
	}
	if s.m.creates > 0 {
		t.Error("a sandbox was created")
	}
	for _, host := range []string{"localhost", "LOCALHOST:80", "127.0.0.1:99", "[::1]:80", "[::1]"} {
		if got := s.request("GET", "/health", "", "Host: "+host); got.status != 200 {
			t.Errorf("the host %s: %d %s", host, got.status, got.body)
		}
	}
	if got := s.request("GET", "/v1/sandboxes", "", token, "Sec-Fetch-Site: none"); got.status != 200 {
		t.Errorf("the user's own address bar: %d", got.status)
	}
}

// raw sends bytes on a new connection and returns the answers.
func (s *site) raw(text string) string {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.WriteString(conn, text)
	_ = conn.(*net.TCPConn).CloseWrite()
	data, _ := io.ReadAll(conn)
	return string(data)
}

func TestASmuggledRequestHasNoExtraRights(t *testing.T) {
	s := newSite(t, nil)
	own := s.sandbox("a")
	token := s.token("a")
	smuggled := "DELETE /v1/sandboxes/" + own + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	head := "POST /v1/sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token + "\r\nContent-Type: application/json\r\n"
	// The first request of these is valid. A line feed may end a line by itself, so that
	// all servers see two requests.
	valid := []string{"length and chunks", "chunks and length", "a bare line feed"}
	for name, text := range map[string]string{
		"length and chunks":   head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"chunks and length":   head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + smuggled,
		"two lengths":         head + "Content-Length: 2\r\nContent-Length: 100\r\n\r\n{}" + smuggled,
		"a list of lengths":   head + "Content-Length: 2, 100\r\n\r\n{}" + smuggled,
		"an unknown encoding": head + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}" + smuggled,
		"a spaced header":     head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"a folded header":     head + "X: a\r\n Content-Length: 2\r\n\r\n{}" + smuggled,
		"a bare line feed":    head + "Content-Length: 2\n\n{}" + smuggled,
		"a bad chunk":         head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + smuggled,
		"two hosts":           "GET /v1/sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
		"no host":             "GET /v1/sandboxes HTTP/1.1\r\n\r\n",
		"an absolute target":  "GET http://evil.example/v1/sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token + "\r\n\r\n",
	} {
		answers := s.raw(text)
		var statuses []string
		for _, status := range regexp.MustCompile(`(?m)^HTTP/1\.1 (\d+)`).FindAllStringSubmatch(answers, -1) {
			statuses = append(statuses, status[1])
		}
		if accepted := slices.Index(statuses, "200"); accepted > 0 || accepted == 0 && !slices.Contains(valid, name) {
			t.Errorf("%s: %s", name, answers)
		}
		if strings.Contains(name, "and") && len(statuses) != 1 {
			t.Errorf("%s: the connection stays open: %s", name, answers)
		}
		if s.m.all[0].State != "running" {
			t.Fatalf("%s: the sandbox was destroyed", name)
		}
	}
}

func TestHugeAndEndlessBodiesAreRefused(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits = Limits{Message: 10_000, Header: 8 << 10} })
	token := bearer(s.token("a"))
	huge := `{"name":"` + strings.Repeat("x", 20_000) + `"}`
	for _, path := range []string{"/v1/sandboxes", "/aibox.v1.Sandboxes/Create"} {
		got := s.request("POST", path, huge, token)
		if got.status == 200 || !strings.Contains(got.body, "10000") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	endless, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/v1/sandboxes", zeros{})
	if err != nil {
		t.Fatal(err)
	}
	endless.Header.Set("Content-Type", "application/json")
	endless.Header.Set("Authorization", strings.TrimPrefix(token, "Authorization: "))
	if response, err := http.DefaultClient.Do(endless); err == nil {
		if response.StatusCode == 200 {
			t.Error("an endless body was accepted")
		}
		response.Body.Close()
	}
	header := s.raw("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("x", 20_000) + "\r\n\r\n")
	if strings.Contains(header, "200 OK") || header != "" && !strings.Contains(header, "431") {
		t.Errorf("a huge header: %s", header)
	}
	if s.m.creates > 0 {
		t.Error("a sandbox was created")
	}
	if got := s.request("GET", "/v1/sandboxes", "", token); got.status != 200 {
		t.Errorf("the server does not live: %d", got.status)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestSlowClientsAreCutOff(t *testing.T) {
	s := newSite(t, func(o *Options) {
		o.Limits = Limits{HeaderTime: 100 * time.Millisecond, Stall: 100 * time.Millisecond, Idle: 100 * time.Millisecond}
	})
	token := s.token("a")
	id := s.sandbox("a")
	for name, text := range map[string]string{
		"no header":   "",
		"half header": "POST /v1/sandboxes HTTP/1.1\r\nHost: 127",
		"half body":   "POST /v1/sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token + "\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		"half chunk":  "PUT /v1/sandboxes/" + id + "/files/content?path=/x HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token + "\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nabc",
		// Before net/http sends an answer, it reads the rest of a small body.
		"no token":     "POST /v1/sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n",
		"public route": "GET /openapi.yaml HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n",
		"half HTTP/2":  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"half upgrade": "GET /v1/sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text)
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, bufio.NewReader(conn)); errors.Is(err, net.ErrClosed) || isTimeout(err) {
			t.Errorf("%s: the connection stays open: %v", name, err)
		}
		conn.Close()
	}
	if s.m.creates > 1 {
		t.Error("a sandbox was created")
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestTooManyCallsAreRefusedByTenant(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits = Limits{TenantCalls: 2, Calls: 3} })
	id := s.sandbox("a")
	token := bearer(s.token("a"))
	for range 2 { // streams that do not end by themselves
		info, err := s.m.StartProcess(t.Context(), "00001-sandbox", waiting)
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"sandbox_id":%q,"process_id":%d}`, id, info.ID)
		envelope := append([]byte{0}, binary.BigEndian.AppendUint32(nil, uint32(len(body)))...)
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/aibox.v1.Processes/Connect", strings.NewReader(string(envelope)+body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", strings.TrimPrefix(token, "Authorization: "))
		r.Header.Set("Content-Type", "application/connect+json")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if _, err := io.ReadFull(response.Body, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
	}
	got := s.request("GET", "/v1/sandboxes", "", token)
	if got.status != 429 || !strings.Contains(got.body, "2 calls at once") {
		t.Errorf("a third call: %d %s", got.status, got.body)
	}
	if got := s.request("GET", "/v1/sandboxes", "", bearer(s.token("b"))); got.status != 200 {
		t.Errorf("another tenant: %d %s", got.status, got.body)
	}
}

func TestBadSettingsAreErrorsAndTheServerLives(t *testing.T) {
	s := newSite(t, nil)
	token := bearer(s.token("a"))
	for name, body := range map[string]string{
		"an unknown field":      `{"bogus":1}`,
		"an unknown setting":    `{"settings":{"bogus":"1"}}`,
		"a setting given twice": `{"settings":{"memory":"100"},"limits":{"memory_mib":200}}`,
		"a bad value":           `{"settings":{"memory":"much"}}`,
		"a bad mode":            `{"network":{"mode":77}}`,
		"a bad on_timeout":      `{"on_timeout":77}`,
		"a negative time":       `{"timeout":"-5s"}`,
		"no JSON":               `{"timeout":`,
		"a wrong type":          `{"limits":"all"}`,
		"a deep nesting":        strings.Repeat(`{"network":`, 20_000) + strings.Repeat("}", 20_000),
		"a bad volume":          `{"volumes":[{"volume":"x","path":"/etc"}]}`,
		"a user's setting":      `{"settings":{"image":"debian"}}`,
	} {
		for _, path := range []string{"/v1/sandboxes", "/aibox.v1.Sandboxes/Create"} {
			got := s.request("POST", path, body, token)
			if got.status != 400 && got.status != 403 {
				t.Errorf("%s, %s: %d %s", name, path, got.status, got.body)
			}
		}
	}
	if s.m.creates > 0 {
		t.Error("a sandbox was created")
	}
	if got := s.request("POST", "/v1/sandboxes", "{}", token); got.status != 200 {
		t.Errorf("the server does not live: %d %s", got.status, got.body)
	}
}

func TestNoAnswerHasAStackOrAnInternalError(t *testing.T) {
	s := newSite(t, nil)
	tenant, local := bearer(s.token("a")), bearer(s.token("local"))
	s.m.panics = true
	for _, path := range []string{"/v1/sandboxes", "/aibox.v1.Sandboxes/Create"} {
		got := s.request("POST", path, "{}", tenant)
		if got.status != 500 || strings.Contains(got.body, "secret") || strings.Contains(got.body, ".go") || strings.Contains(got.body, "goroutine") {
			t.Errorf("a panic: %d %s", got.status, got.body)
		}
	}
	s.m.panics, s.m.fail = false, fmt.Errorf("opening /home/u/.local/state/aibox: %w", io.ErrUnexpectedEOF)
	if got := s.request("POST", "/v1/sandboxes", "{}", tenant); got.status != 500 || strings.Contains(got.body, "/home/u") || !strings.Contains(got.body, got.header.Get(requestHeader)) {
		t.Errorf("an internal error: %d %s", got.status, got.body)
	}
	if got := s.request("POST", "/v1/sandboxes", "{}", local); got.status != 500 || !strings.Contains(got.body, "/home/u") {
		t.Errorf("an internal error, to the machine's user: %d %s", got.status, got.body)
	}
	s.m.fail = diskerr.Explain(&fs.PathError{Op: "mkdir", Path: "/home/u/aibox/x", Err: syscall.ENOSPC}, "/home/u/aibox")
	for _, path := range []string{"/v1/sandboxes", "/aibox.v1.Sandboxes/Create"} {
		if got := s.request("POST", path, "{}", tenant); got.status != 503 || strings.Contains(got.body, "/home/u") || !strings.Contains(got.body, "the server's machine has a problem") {
			t.Errorf("a full disk: %d %s", got.status, got.body)
		}
	}
	if got := s.request("POST", "/v1/sandboxes", "{}", local); got.status != 503 || !strings.Contains(got.body, "df -h /home/u/aibox") {
		t.Errorf("a full disk, to the machine's user: %d %s", got.status, got.body)
	}
	shown := s.Shown(t.Context(), "a", s.m.fail)
	if strings.Contains(fmt.Sprint(shown, fault.Hints(shown)), "/home/u") || fault.KindOf(shown) != fault.Environment {
		t.Errorf("a full disk, over MCP: %v", shown)
	}
}

func FuzzAHostHeaderThatIsAcceptedNamesThisServer(f *testing.F) {
	for _, seed := range []string{"localhost", "127.0.0.1:80", "[::1]:1", "[::1]", "evil@localhost", "localhost:80:90", "localhost.", "[localhost]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		switch name := hostName(host); name {
		case "localhost", "127.0.0.1", "::1":
			rest := strings.ToLower(host)
			rest = strings.TrimPrefix(strings.TrimPrefix(rest, "["), name)
			rest = strings.TrimPrefix(rest, "]")
			if rest != "" && strings.Trim(rest, ":0123456789") != "" || strings.Count(rest, ":") > 1 {
				t.Errorf("%q is %q", host, name)
			}
		}
	})
}

func FuzzErrorsOfRESTHaveOneShape(f *testing.F) {
	f.Add(404, `{"code":5,"message":"x","details":[{"@type":"t","kind":"not_found","message":"y","hints":["z"]}]}`)
	f.Add(500, "text")
	f.Add(415, "")
	f.Fuzz(func(t *testing.T, status int, body string) {
		shown, got := shape(status, []byte(body))
		if shown.GetKind() == "" || got < 400 && got != status {
			t.Errorf("%d %q: %v %d", status, body, shown, got)
		}
	})
}
