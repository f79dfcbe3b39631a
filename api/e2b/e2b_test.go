package e2b

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/e2b/filesystempb"
	"aibox/api/e2b/processpb"
	"aibox/api/server"
	"aibox/session"
)

// call sends a request and returns its status and body. Headers are NAME, VALUE pairs.
func call(t *testing.T, front *httptest.Server, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	status, text, _ := exchange(t, front, method, path, strings.NewReader(body), headers...)
	return status, text
}

func exchange(t *testing.T, front *httptest.Server, method, path string, body io.Reader, headers ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, front.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Add(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data), answer.Header
}

// create creates a sandbox of tenant a.
func create(t *testing.T, front *httptest.Server, token string) accessJSON {
	t.Helper()
	status, body := call(t, front, "POST", "/e2b/v2/sandboxes", `{"templateID": "base"}`, "X-API-KEY", token)
	if status != http.StatusCreated {
		t.Fatalf("create: %d %s", status, body)
	}
	var access accessJSON
	if err := json.Unmarshal([]byte(body), &access); err != nil {
		t.Fatal(err)
	}
	return access
}

func inside(a accessJSON) []string {
	return []string{"E2b-Sandbox-Id", a.SandboxID, "E2b-Sandbox-Port", "49983", "X-Access-Token", a.AccessToken}
}

func TestASandboxIsCreatedAsThePackagesAskForIt(t *testing.T) {
	fake, _, front := serve(t)
	status, body := call(t, front, "POST", "/e2b/sandboxes", `{"templateID": "base", "timeout": 60, "metadata": {"a": "b"}, "envVars": {"X": "1"},
		"secure": false, "autoPause": true, "allow_internet_access": false, "volumeMounts": [{"name": "v", "path": "/data"}]}`, "X-API-KEY", "token-a")
	if status != http.StatusCreated || !strings.Contains(body, `"envdVersion":"0.6.4"`) || !strings.Contains(body, `"domain":"boxes.test:`) {
		t.Fatalf("%d %s", status, body)
	}
	got := fake.created[0]
	if got.Template != "code" || got.Timeout.AsDuration() != time.Minute || got.Metadata["a"] != "b" || got.Env["X"] != "1" ||
		got.OnTimeout != aiboxv1.OnTimeout_ON_TIMEOUT_PAUSE || got.Volumes[0].Path != "/data" || got.Network.Mode != aiboxv1.NetworkMode_NETWORK_MODE_ALLOWLIST {
		t.Errorf("the request is %v", got)
	}
	create(t, front, "token-a")
	if got := fake.created[1]; got.Timeout.AsDuration() != 5*time.Minute || got.Network != nil {
		t.Errorf("a request without settings becomes %v", got)
	}
}

func TestSettingsThatAiboxDoesNotHaveAreRefusedWithTheReason(t *testing.T) {
	fake, _, front := serve(t)
	for body, want := range map[string]string{
		`{"mcp": {"x": {}}}`:                       "leave out mcp",
		`{"iam": {"tokens": {}}}`:                  "leave out iam",
		`{"autoResume": {"enabled": true}}`:        "leave out autoResume",
		`{"autoPauseMemory": false}`:               "with its memory",
		`{"network": {"rules": {"h": []}}}`:        "network.rules",
		`{"network": {"egressProxy": {}}}`:         "network.egressProxy",
		`{"network": {"allowPublicTraffic":true}}`: "trafficAccessToken",
		`{"network": {"maskRequestHost": "x"}}`:    "network.maskRequestHost",
		`{"network": {"httpsPorts": [1]}}`:         "network.httpsPorts",
		`{"timeout": -1}`:                          "between 0 seconds and a year",
		`{"timeout": 1e300}`:                       "valid JSON",
		`{"isolation": "off"}`:                     "isolation",
		`{} {}`:                                    "after top-level value",
		`[`:                                        "valid JSON",
	} {
		status, answer := call(t, front, "POST", "/e2b/v2/sandboxes", body, "X-API-KEY", "token-a")
		if status != http.StatusBadRequest && status != http.StatusNotImplemented || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if len(fake.created) > 0 {
		t.Errorf("sandboxes were created: %v", fake.created)
	}
}

func TestWithoutAValidTokenTheControlPlaneRefusesAllCalls(t *testing.T) {
	fake, _, front := serve(t)
	access := create(t, front, "token-a")
	fake.revoked["token-b"] = true
	for _, path := range []string{"GET /v2/sandboxes", "POST /v2/sandboxes", "GET /sandboxes/", "DELETE /sandboxes/", "POST /sandboxes//connect", "POST /sandboxes//timeout", "PUT /sandboxes//network", "GET /sandboxes//metrics", "POST /sandboxes//pause"} {
		method, path, _ := strings.Cut(path, " ")
		path = strings.Replace(path, "/sandboxes/", "/sandboxes/"+access.SandboxID, 1)
		body := "{}"
		if strings.HasSuffix(path, "/timeout") {
			body = `{"timeout": 5}`
		}
		for _, key := range []string{"", "wrong", "token-b", "token-a x", access.AccessToken} {
			if status, body := call(t, front, method, "/e2b"+path, body, "X-API-KEY", key); status != http.StatusUnauthorized || !strings.Contains(body, "X-API-KEY") || strings.Contains(body, "Bearer") {
				t.Errorf("%s %s with %q: %d %s", method, path, key, status, body)
			}
		}
	}
}

func TestMetricsOfManySandboxesAreThoseOfAllThatRun(t *testing.T) {
	fake, _, front := serve(t)
	a, b, paused, other := create(t, front, "token-a"), create(t, front, "token-a"), create(t, front, "token-a"), create(t, front, "token-b")
	fake.sandboxes[paused.SandboxID].state = aiboxv1.SandboxState_SANDBOX_STATE_PAUSED
	path := "/e2b/sandboxes/metrics?sandbox_ids=" + strings.Join([]string{a.SandboxID, b.SandboxID, paused.SandboxID, other.SandboxID, "s999-sandbox"}, ",")
	status, body := call(t, front, "GET", path, "", "X-API-KEY", "token-a")
	var answer struct{ Sandboxes map[string]metricJSON }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || len(answer.Sandboxes) != 2 {
		t.Errorf("%d %s, %v", status, body, err)
	}
	for want, cause := range map[int]error{
		http.StatusTooManyRequests:     apiFault(connect.CodeResourceExhausted, "limit", "too many calls"),
		http.StatusUnauthorized:        apiFault(connect.CodeUnauthenticated, "unauthenticated", "the token was revoked"),
		http.StatusInternalServerError: apiFault(connect.CodeInternal, "internal", "aibox failed"),
	} {
		fake.unmeasured = cause
		if status, body := call(t, front, "GET", path, "", "X-API-KEY", "token-a"); status != want {
			t.Errorf("%v: %d %s", cause, status, body)
		}
	}
	fake.unmeasured = nil
	fake.revoked["token-a"] = true
	if status, body := call(t, front, "GET", path, "", "X-API-KEY", "token-a"); status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d %s", status, body)
	}
}

func TestASandboxOfAnotherTenantIsAnsweredLikeOneThatDoesNotExist(t *testing.T) {
	_, _, front := serve(t)
	access := create(t, front, "token-a")
	for _, route := range []string{"GET ", "DELETE ", "POST /connect", "POST /timeout", "POST /pause", "POST /resume", "POST /snapshots", "PUT /network", "GET /metrics"} {
		method, suffix, _ := strings.Cut(route, " ")
		body := "{}"
		if suffix == "/timeout" {
			body = `{"timeout": 5}`
		}
		status, theirs := call(t, front, method, "/e2b/sandboxes/"+access.SandboxID+suffix, body, "X-API-KEY", "token-b")
		_, none := call(t, front, method, "/e2b/sandboxes/s999-sandbox"+suffix, body, "X-API-KEY", "token-b")
		if status != http.StatusNotFound || theirs != none {
			t.Errorf("%s: %d %s, and %s", route, status, theirs, none)
		}
	}
	if status, body := call(t, front, "GET", "/e2b/v2/sandboxes", "", "X-API-KEY", "token-b"); status != http.StatusOK || strings.TrimSpace(body) != "[]" {
		t.Errorf("the list of another tenant: %d %s", status, body)
	}
}

func TestTheInsideOfASandboxNeedsItsOwnToken(t *testing.T) {
	fake, _, front := serve(t)
	a, b, other := create(t, front, "token-a"), create(t, front, "token-a"), create(t, front, "token-b")
	fake.files.content["/secret"] = []byte("secret")
	tries := map[string][]string{
		"no token":                    {"E2b-Sandbox-Id", a.SandboxID},
		"another sandbox's token":     {"E2b-Sandbox-Id", a.SandboxID, "X-Access-Token", b.AccessToken},
		"another tenant's token":      {"E2b-Sandbox-Id", a.SandboxID, "X-Access-Token", other.AccessToken},
		"the token for ports":         {"E2b-Sandbox-Id", a.SandboxID, "X-Access-Token", a.TrafficToken},
		"the API's token":             {"E2b-Sandbox-Id", a.SandboxID, "X-Access-Token", "token-a"},
		"a changed token":             {"E2b-Sandbox-Id", a.SandboxID, "X-Access-Token", "A" + a.AccessToken[1:]},
		"an endless token":            {"E2b-Sandbox-Id", a.SandboxID, "X-Access-Token", strings.Repeat("A", 100_000)},
		"a sandbox that is not there": {"E2b-Sandbox-Id", "s999-sandbox", "X-Access-Token", a.AccessToken},
		"a token of another server":   {"E2b-Sandbox-Id", a.SandboxID, "X-Access-Token", newTokens([]byte("other")).issue(forInside, a.SandboxID, "token-a")},
	}
	for name, headers := range tries {
		for _, path := range []string{"/files?path=/secret", "/health", "/metrics", "/envs"} {
			if status, body := call(t, front, "GET", "/e2b"+path, "", headers...); status != http.StatusUnauthorized || !strings.Contains(body, errToken.Error()) {
				t.Errorf("%s: %s: %d %s", name, path, status, body)
			}
		}
		for _, rpc := range []string{"process.Process/List", "process.Process/Start", "filesystem.Filesystem/Stat", "filesystem.Filesystem/WatchDir"} {
			if status, _ := call(t, front, "POST", "/e2b/"+rpc, "{}", append(headers, "Content-Type", "application/json")...); status != http.StatusUnauthorized {
				t.Errorf("%s: %s: %d", name, rpc, status)
			}
		}
	}
	if status, body := call(t, front, "GET", "/e2b/files?path=/secret", "", inside(a)...); status != http.StatusOK || body != "secret" {
		t.Errorf("with the right token: %d %s", status, body)
	}
	fake.revoked["token-a"] = true
	if status, _ := call(t, front, "GET", "/e2b/files?path=/secret", "", inside(a)...); status != http.StatusUnauthorized {
		t.Errorf("after the caller's token was revoked: %d", status)
	}
}

func TestAWatcherWhoseEventsNobodyFetchesKeepsAFewMegabytes(t *testing.T) {
	w := &watcher{}
	for _, fetched := range []bool{false, true} { // what was fetched does not count
		size, count := 0, 0
		for err := error(nil); err == nil && count < maxWatcherEvents; count++ {
			event := &filesystempb.FilesystemEvent{Name: strings.Repeat("x", 4000)}
			size += proto.Size(event)
			err = w.add(event)
		}
		if count < 400 || size > 3<<20 {
			t.Errorf("it keeps %d events with %d bytes (fetched: %v)", count, size, fetched)
		}
		if events, err := w.take(); err != nil || len(events) != count-1 {
			t.Errorf("%d of %d events: %v", len(events), count-1, err)
		}
	}
}

// A client polls: it asks for the last events, and why there are no more, after the end.
func TestAWatcherThatHasEndedIsKeptForItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchers()
		defer w.close()
		register := func(id, sandbox string) *watcher {
			t.Helper()
			added := &watcher{sandbox: sandbox, stop: func() {}}
			if err := w.register(id, added); err != nil {
				t.Fatal(id, err)
			}
			return added
		}
		first := register("first", "a")
		_ = first.add(&filesystempb.FilesystemEvent{Name: "last"})
		first.end(nil)
		time.Sleep(time.Second) // of the synctest bubble, as below
		second := register("second", "a")
		second.end(nil)
		for n := 2; n < maxWatchersOfSandbox; n++ {
			register(fmt.Sprint(n), "a")
		}
		found, err := w.find("first", "a")
		if err != nil {
			t.Fatalf("after %d others: %v", maxWatchersOfSandbox-1, err)
		}
		if events, err := found.take(); err != nil || len(events) != 1 {
			t.Errorf("its events: %v, %v", events, err)
		}
		for range 2 {
			if _, err := found.take(); connect.CodeOf(err) != connect.CodeNotFound {
				t.Errorf("why there are no more: %v", err)
			}
		}
		// If its sandbox needs the place, the one that ended first makes room.
		register("more", "a")
		if _, err := w.find("first", "a"); err == nil {
			t.Error("there are more watchers of a sandbox than the limit")
		}
		if _, err := w.find("second", "a"); err != nil {
			t.Errorf("the place of another one was free: %v", err)
		}
		time.Sleep(keepEnded + time.Second)
		register("other", "b")
		if _, err := w.find("second", "a"); err == nil || len(w.all) != maxWatchersOfSandbox {
			t.Errorf("%d watchers are left after the time for which they are kept", len(w.all))
		}
		if err := w.register("one", &watcher{sandbox: "a"}); err != nil {
			t.Error(err)
		}
		if err := w.register("too many", &watcher{sandbox: "a"}); connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("more watchers that run than the limit: %v", err)
		}
	})
}

func TestAWatcherThatHasEndedMakesRoomForAnotherSandbox(t *testing.T) {
	w := newWatchers()
	defer w.close()
	for n := range maxWatchers {
		tenant := session.Tenant(fmt.Sprint(n / maxWatchersOfTenant))
		added := &watcher{tenant: tenant, sandbox: fmt.Sprint(n / maxWatchersOfSandbox), stop: func() {}}
		if err := w.register(fmt.Sprint(n), added); err != nil {
			t.Fatal(n, err)
		}
		if n == 0 {
			added.end(nil)
		}
	}
	for n, want := range []connect.Code{0, connect.CodeResourceExhausted} {
		err := w.register(fmt.Sprint("more", n), &watcher{sandbox: "another"})
		if (err != nil) != (want != 0) || err != nil && connect.CodeOf(err) != want {
			t.Errorf("watcher %d: %v", n, err)
		}
	}
}

func TestTheWatchersOfATenantTakeNoPlaceOfAnotherOne(t *testing.T) {
	w := newWatchers()
	defer w.close()
	register := func(id string, tenant session.Tenant, sandbox string) error {
		return w.register(id, &watcher{tenant: tenant, sandbox: sandbox, stop: func() {}})
	}
	for n := range maxWatchersOfTenant {
		if err := register(fmt.Sprint(n), "a", fmt.Sprint(n/maxWatchersOfSandbox)); err != nil {
			t.Fatal(n, err)
		}
	}
	if err := register("of b", "b", "of b"); err != nil {
		t.Fatal(err)
	}
	if err := register("more", "a", "another"); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("more watchers of a tenant than the limit: %v", err)
	}
	// One of another tenant makes no room; an own one does.
	w.all["of b"].end(nil)
	if err := register("more", "a", "another"); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("more watchers of a tenant than the limit, after the end of another one's: %v", err)
	}
	w.all["0"].end(nil)
	if err := register("more", "a", "another"); err != nil {
		t.Errorf("after the end of an own one: %v", err)
	}
}

func TestAWatcherBelongsToTheTenantOfItsCaller(t *testing.T) {
	w := newWatchers()
	defer w.close()
	ctx := auth.With(t.Context(), auth.Caller{Tenant: "a"})
	id, err := w.add(ctx, func(ctx context.Context, started func() error, _ func(*filesystempb.FilesystemEvent) error) error {
		defer func() { <-ctx.Done() }()
		return started()
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.all[id].tenant; got != "a" {
		t.Errorf("it belongs to %q", got)
	}
}

// The events of a watcher are in this process, so reading them makes no other call of the API.
func TestAWatcherIsOfNoUseAfterItsCallersTokenWasRevoked(t *testing.T) {
	fake, s, front := serve(t)
	access := create(t, front, "token-a")
	event := &filesystempb.FilesystemEvent{Name: "secret"}
	watched := &watcher{sandbox: access.SandboxID, stop: func() {}, events: []*filesystempb.FilesystemEvent{event}}
	if err := s.watches.register("w", watched); err != nil {
		t.Fatal(err)
	}
	try := func(method string) (int, string) {
		return call(t, front, "POST", "/e2b/filesystem.Filesystem/"+method, `{"watcherId":"w"}`, append(inside(access), "Content-Type", "application/json")...)
	}
	if status, body := try("GetWatcherEvents"); status != http.StatusOK || !strings.Contains(body, "secret") {
		t.Fatalf("with a valid token: %d %s", status, body)
	}
	_ = watched.add(event)
	fake.revoked["token-a"] = true
	for _, method := range []string{"GetWatcherEvents", "RemoveWatcher"} {
		if status, body := try(method); status != http.StatusUnauthorized {
			t.Errorf("%s after the token was revoked: %d %s", method, status, body)
		}
	}
	if _, err := s.watches.find("w", access.SandboxID); err != nil {
		t.Errorf("the watcher was removed: %v", err)
	}
}

func TestARequestThatNamesTwoSandboxesIsRefused(t *testing.T) {
	_, _, front := serve(t)
	a, b := create(t, front, "token-a"), create(t, front, "token-a")
	for name, try := range map[string]struct {
		path    string
		headers []string
	}{
		"header and path":       {"/e2b/sandboxes/" + a.SandboxID, []string{"X-API-KEY", "token-a", "E2b-Sandbox-Id", b.SandboxID}},
		"two headers":           {"/e2b/health", append(inside(a), "E2b-Sandbox-Id", b.SandboxID)},
		"header and host":       {"/health", append(inside(a), "Host", "49983-"+b.SandboxID+".boxes.test")},
		"an empty header":       {"/e2b/health", []string{"E2b-Sandbox-Id", "", "X-Access-Token", a.AccessToken}},
		"a path as an id":       {"/e2b/health", []string{"E2b-Sandbox-Id", "../" + a.SandboxID, "X-Access-Token", a.AccessToken}},
		"another port's header": {"/e2b/health", []string{"E2b-Sandbox-Id", a.SandboxID, "E2b-Sandbox-Port", "22", "X-Access-Token", a.AccessToken}},
		"no sandbox":            {"/e2b/health", []string{"X-Access-Token", a.AccessToken}},
	} {
		if status, body := call(t, front, "GET", try.path, "", try.headers...); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestASandboxThatWasKeptWarmIsListedByTheTimeOfItsStart(t *testing.T) {
	fake, _, front := serve(t)
	warm, cold := create(t, front, "token-a"), create(t, front, "token-a")
	fake.sandboxes[warm.SandboxID].started = time.Unix(3000, 0)
	r, err := http.NewRequestWithContext(t.Context(), "GET", front.URL+"/e2b/v2/sandboxes?startedAfter=1970-01-01T00:33:20Z", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-KEY", "token-a")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), warm.SandboxID) || strings.Contains(string(body), cold.SandboxID) || response.Header.Get(nextHeader) != "more" {
		t.Errorf("%s, and the next page is %q: %v", body, response.Header.Get(nextHeader), err)
	}
}

func TestASandboxThatHasEndedIsReportedAsGone(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	if status, _ := call(t, front, "GET", "/e2b/health", "", inside(a)...); status != http.StatusNoContent {
		t.Errorf("health while it runs: %d", status)
	}
	// A sandbox whose supervisor has died stays in this state until it is ended.
	fake.sandboxes[a.SandboxID].state = aiboxv1.SandboxState_SANDBOX_STATE_ENDING
	if status, _ := call(t, front, "DELETE", "/e2b/sandboxes/"+a.SandboxID, "", "X-API-KEY", "token-a"); status != http.StatusNoContent {
		t.Errorf("delete: %d", status)
	}
	if status, _ := call(t, front, "DELETE", "/e2b/sandboxes/"+a.SandboxID, "", "X-API-KEY", "token-a"); status != http.StatusNotFound {
		t.Errorf("delete again: %d", status)
	}
	for _, path := range []string{"/health", "/files?path=/x"} {
		if status, body := call(t, front, "GET", "/e2b"+path, "", inside(a)...); status != http.StatusBadGateway {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	status, body := call(t, front, "POST", "/e2b/filesystem.Filesystem/Stat", `{"path": "/x"}`, append(inside(a), "Content-Type", "application/json")...)
	if !strings.Contains(body, `"unavailable"`) {
		t.Errorf("stat: %d %s", status, body)
	}
}

func TestAPausedSandboxIsResumedByConnect(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	path := "/e2b/sandboxes/" + a.SandboxID
	for _, step := range []struct {
		path, body string
		want       int
	}{
		{"/resume", `{}`, http.StatusConflict},
		{"/pause", `{"memory": false}`, http.StatusNotImplemented},
		{"/pause", `{}`, http.StatusNoContent},
		{"/pause", ``, http.StatusConflict},
		{"/connect", `{"timeout": 10}`, http.StatusCreated},
		{"/connect", `{"timeout": 1000}`, http.StatusOK},
	} {
		if status, body := call(t, front, "POST", path+step.path, step.body, "X-API-KEY", "token-a"); status != step.want {
			t.Errorf("%s %s: %d %s", step.path, step.body, status, body)
		}
	}
	long := fake.sandboxes[a.SandboxID].ends
	if time.Until(long) < 900*time.Second {
		t.Errorf("connect has not prolonged the sandbox: %s", time.Until(long))
	}
	call(t, front, "POST", path+"/connect", `{"timeout": 5}`, "X-API-KEY", "token-a")
	if ends := fake.sandboxes[a.SandboxID].ends; !ends.Equal(long) {
		t.Errorf("connect has shortened the sandbox: %s", time.Until(ends))
	}
	call(t, front, "POST", path+"/timeout", `{"timeout": 5}`, "X-API-KEY", "token-a")
	if left := time.Until(fake.sandboxes[a.SandboxID].ends); left > 6*time.Second {
		t.Errorf("after a timeout of 5 seconds %s are left", left)
	}
}

// The packages remove tags of templates by this call. It must not delete a template of that name.
func TestACallThatIsRefusedIsNotTakenForAnother(t *testing.T) {
	_, front := attached(t, server.Limits{})
	for one, reason := range map[string]string{
		"DELETE /templates/tags": "no tags", "POST /templates/tags": "builds templates", "GET /templates": "builds templates",
		"GET /v2/templates": "builds templates", "POST /v3/templates": "builds templates", "GET /v2/sandboxes/x/logs": "no log",
	} {
		method, path, _ := strings.Cut(one, " ")
		if status, body := call(t, front, method, "/e2b"+path, "", "X-API-KEY", "token-a"); status != http.StatusNotImplemented || !strings.Contains(string(body), reason) {
			t.Errorf("%s: %d %s", one, status, body)
		}
	}
}

// Programs that connect to one sandbox at the same time must not undo each other's timeouts. The
// first one resumes it, with its timeout, and the others only prolong it.
func TestCallsThatConnectAtTheSameTimeDoNotDisturbEachOther(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	path := "/e2b/sandboxes/" + a.SandboxID
	for round := range 5 {
		call(t, front, "POST", path+"/timeout", `{"timeout": 5}`, "X-API-KEY", "token-a")
		call(t, front, "POST", path+"/pause", `{}`, "X-API-KEY", "token-a")
		var connecting sync.WaitGroup
		for i := range 10 {
			connecting.Go(func() {
				body := fmt.Sprintf(`{"timeout": %d}`, (i+round)%10*1000+1000)
				if status, answer := call(t, front, "POST", path+"/connect", body, "X-API-KEY", "token-a"); status >= 300 {
					t.Errorf("%d %s", status, answer)
				}
			})
		}
		connecting.Wait()
		if left := time.Until(fake.sandboxes[a.SandboxID].ends); left < 9900*time.Second {
			t.Errorf("%v are left", left)
		}
	}
}

func TestFilesAreWrittenWholeOrNotAtAll(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	large := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	status, body, _ := exchange(t, front, "POST", "/e2b/files?path=/large", bytes.NewReader(large), append(inside(a), "Content-Type", octetStream)...)
	if status != http.StatusOK || !bytes.Equal(fake.files.content["/large"], large) {
		t.Errorf("%d %s, and %d bytes", status, body, len(fake.files.content["/large"]))
	}
	// A body that is shorter than its length, or is not gzip, leaves no file.
	cut := io.MultiReader(bytes.NewReader(large[:100_000]), brokenReader{})
	r, err := http.NewRequestWithContext(t.Context(), "POST", front.URL+"/e2b/files?path=/cut", cut)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 200_000
	for i, headers := 0, inside(a); i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.Header.Set("Content-Type", octetStream)
	if answer, err := front.Client().Do(r); err == nil {
		answer.Body.Close()
		t.Errorf("an upload that broke off: %s", answer.Status)
	}
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	_, _ = pack.Write(large)
	_ = pack.Close()
	status, body = call(t, front, "POST", "/e2b/files?path=/cut", packed.String()[:packed.Len()-12], append(inside(a), "Content-Type", octetStream, "Content-Encoding", "gzip")...)
	if status != http.StatusBadRequest {
		t.Errorf("half of a gzip: %d %s", status, body)
	}
	if _, ok := fake.files.content["/cut"]; ok {
		t.Error("a file that was cut off was written")
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestAFormWritesEachFileToItsOwnPath(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for _, name := range []string{"/home/user/a/b.txt", "c.txt"} {
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, "content of "+name)
	}
	_ = w.Close()
	status, body, _ := exchange(t, front, "POST", "/e2b/files", &form, append(inside(a), "Content-Type", w.FormDataContentType())...)
	if status != http.StatusOK || string(fake.files.content["/home/user/a/b.txt"]) != "content of /home/user/a/b.txt" || string(fake.files.content["c.txt"]) != "content of c.txt" {
		t.Errorf("%d %s %q", status, body, fake.files.content)
	}
	status, body = call(t, front, "POST", "/e2b/files?path=/x", "x", append(inside(a), "Content-Type", octetStream, "X-Metadata-Key", "v")...)
	if status != http.StatusBadRequest || !strings.Contains(body, "metadata") {
		t.Errorf("metadata: %d %s", status, body)
	}
}

func TestAFormIsReadToItsLastBoundaryAndKeepsLittleInMemory(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	part := func(name, more, content string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"f\"\r\n" + more + "\r\n" + content + "\r\n"
	}
	large := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		form   string
		status int
		answer string
	}{
		"whole":                      {part("file", "", "1") + "--b--\r\n", http.StatusOK, `"f"`},
		"no last boundary":           {part("file", "", "1") + "--b\r\n", http.StatusBadRequest, "the form cannot be read"},
		"half of the last boundary":  {part("file", "", "1") + "--b", http.StatusBadRequest, "the form cannot be read"},
		"half of a header":           {part("file", "", "1") + "--b\r\nContent-Type: x", http.StatusBadRequest, "the form cannot be read"},
		"half of a name":             {part("file", "", "1") + "--b\r\nContent", http.StatusBadRequest, "the form cannot be read"},
		"half of a file":             {part("file", "", "1") + strings.TrimSuffix(part("file", "", "1"), "\r\n"), http.StatusBadRequest, "broke off"},
		"no body":                    {"", http.StatusBadRequest, "the form cannot be read"},
		"a large header":             {part("file", "X: "+large+"\r\n", "1") + "--b--\r\n", http.StatusBadRequest, "the headers of a part"},
		"a large second header":      {part("file", "", large) + part("file", "X: "+large+"\r\n", "1") + "--b--\r\n", http.StatusBadRequest, "the headers of a part"},
		"a large field, then a file": {part("note", "", large) + part("file", "", "1") + "--b--\r\n", http.StatusOK, `"f"`},
	} {
		status, body := call(t, front, "POST", "/e2b/files", c.form, append(inside(a), "Content-Type", "multipart/form-data; boundary=b")...)
		if status != c.status || !strings.Contains(body, c.answer) {
			t.Errorf("%s: %d %.200s", name, status, body)
		}
	}
	if string(fake.files.content["f"]) == "" {
		t.Error("no file was written")
	}
}

func TestASignedURLOpensOneFileInOneWayUntilItExpires(t *testing.T) {
	fake, s, front := serve(t)
	a := create(t, front, "token-a")
	fake.files.content["/f"] = []byte("<script>")
	sign := func(path, operation, expires string) string {
		return signature(path, operation, "", a.AccessToken, expires)
	}
	soon, past := "9999999999", "1000"
	for query, want := range map[string]int{
		"path=/f&signature=" + sign("/f", "read", ""):                                     http.StatusOK,
		"path=/f&signature_expiration=" + soon + "&signature=" + sign("/f", "read", soon): http.StatusOK,
		"path=/f&signature_expiration=" + past + "&signature=" + sign("/f", "read", past): http.StatusUnauthorized,
		"path=/f&signature_expiration=" + soon + "&signature=" + sign("/f", "read", ""):   http.StatusUnauthorized,
		"path=/f&signature=" + sign("/f", "read", soon):                                   http.StatusUnauthorized,
		"path=/g&signature=" + sign("/f", "read", ""):                                     http.StatusUnauthorized,
		"path=/f&username=root&signature=" + sign("/f", "read", ""):                       http.StatusUnauthorized,
		"path=/f&signature=" + sign("/f", "write", ""):                                    http.StatusUnauthorized,

		"path=/f&signature=v1_": http.StatusUnauthorized,
		"path=/f&signature=":    http.StatusUnauthorized,
		"path=/f":               http.StatusBadRequest,
	} {
		status, body, header := exchange(t, front, "GET", "/files?"+query, nil)
		if status != want {
			t.Errorf("%s: %d %s", query, status, body)
		}
		if status == http.StatusOK && (header.Get("Content-Disposition") != "attachment" || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Content-Type") != octetStream) {
			t.Errorf("a browser could run the file: %v", header)
		}
	}
	status, body := call(t, front, "GET", "/files?path=/f&signature="+sign("/f", "read", ""), "", "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("root:")))
	if status != http.StatusUnauthorized {
		t.Errorf("as another user than the signed one: %d %s", status, body)
	}
	if _, _, err := s.tokens.verify(signed{path: "/f", operation: "read", signature: sign("/f", "read", "")}, "s999-sandbox", time.Now()); err == nil {
		t.Error("a signature counts for another sandbox")
	}
}

func TestBodiesOfTheControlPlaneAreLimited(t *testing.T) {
	_, _, front := serve(t)
	status, body := call(t, front, "POST", "/e2b/v2/sandboxes", `{"templateID": "`+strings.Repeat("x", maxBody)+`"}`, "X-API-KEY", "token-a")
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", status, body)
	}
	a := create(t, front, "token-a")
	status, body = call(t, front, "POST", "/e2b/process.Process/SendInput", `{"input": {"stdin": "`+strings.Repeat("A", 2*maxMessage)+`"}}`, append(inside(a), "Content-Type", "application/json")...)
	if !strings.Contains(body, "resource_exhausted") {
		t.Errorf("%d %s", status, body)
	}
}

func processClient(front *httptest.Server) processpb.ProcessClient {
	return processpb.NewProcessClient(front.Client(), front.URL+"/e2b", connect.WithProtoJSON())
}

func withHeaders[M any](message *M, headers []string) *connect.Request[M] {
	r := connect.NewRequest(message)
	for i := 0; i < len(headers); i += 2 {
		r.Header().Add(headers[i], headers[i+1])
	}
	return r
}

func TestAProcessIsFollowedToItsEnd(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	cwd := "/tmp"
	r := withHeaders(&processpb.StartRequest{Process: &processpb.ProcessConfig{Cmd: "print", Args: []string{"hello"}, Cwd: &cwd, Envs: map[string]string{"A": "b"}}},
		append(inside(a), "Authorization", "Basic cm9vdDo="))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := processClient(front).Start(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for events.Receive() {
		got = append(got, strings.ReplaceAll(events.Msg().Event.String(), "  ", " "))
	}
	if err := events.Err(); err != nil || len(got) != 3 || !strings.Contains(got[0], "pid:100") || !strings.Contains(got[1], "hello") || !strings.Contains(got[2], "exited:true") {
		t.Errorf("%v, and %q", err, got)
	}
	start := fake.started[0]
	if start.User != "root" || start.Dir != "/tmp" || start.Env["A"] != "b" || !start.Stdin || start.Timeout.AsDuration() < 50*time.Second {
		t.Errorf("the process was started by %v", start)
	}
}

func TestAProcessThatCannotBeRunIsAnInvalidArgument(t *testing.T) {
	_, _, front := serve(t)
	a := create(t, front, "token-a")
	tag := "t"
	for _, start := range []*processpb.StartRequest{{Process: &processpb.ProcessConfig{Cmd: "nothing"}}, {}, {Process: &processpb.ProcessConfig{Cmd: "print"}, Tag: &tag}} {
		events, err := processClient(front).Start(t.Context(), withHeaders(start, inside(a)))
		if err != nil {
			t.Fatal(err)
		}
		for events.Receive() {
			t.Errorf("an event: %v", events.Msg())
		}
		if code := connect.CodeOf(events.Err()); code != connect.CodeInvalidArgument {
			t.Errorf("%v: %v", start, events.Err())
		}
	}
}

func TestAProcessThatHasEndedIsNotFound(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	client := processClient(front)
	events, err := client.Start(t.Context(), withHeaders(&processpb.StartRequest{Process: &processpb.ProcessConfig{Cmd: "wait"}}, inside(a)))
	if err != nil || !events.Receive() {
		t.Fatal(err, events.Err())
	}
	selector := &processpb.ProcessSelector{Selector: &processpb.ProcessSelector_Pid{Pid: events.Msg().Event.GetStart().Pid}}
	kill := func() error {
		_, err := client.SendSignal(t.Context(), withHeaders(&processpb.SendSignalRequest{Process: selector, Signal: processpb.Signal_SIGNAL_SIGKILL}, inside(a)))
		return err
	}
	if err := kill(); err != nil || len(fake.signals) != 1 || fake.signals[0] != 9 {
		t.Errorf("%v, and the signals %v", err, fake.signals)
	}
	close(fake.exit)
	for events.Receive() {
	}
	if code := connect.CodeOf(kill()); code != connect.CodeNotFound {
		t.Errorf("killing a process that has ended: %v", code)
	}
}

func TestTheDomainOfSandboxesIsThatOfTheUserOrTheNameOfTheServer(t *testing.T) {
	for _, c := range []struct {
		own        bool
		host, want string
	}{
		{false, "boxes.test:80", "boxes.test:80"},
		{false, "LOCALHOST", "localhost"},
		{false, "192.0.2.1:80", "boxes.test:80"},
		{false, "127.0.0.1:80", "localhost:80"},
		{false, "[::1]", "localhost"},
		{true, "127.0.0.1:80", "boxes.test:80"},
		{true, "localhost:80", "boxes.test:80"},
		{true, "192.0.2.1", "boxes.test"},
	} {
		s, err := New(Config{Key: make([]byte, KeySize), Domains: []string{"boxes.test", "localhost"}, OwnDomain: c.own})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		if got := s.domainOf(r); got != c.want {
			t.Errorf("%v, %s: %s", c.own, c.host, got)
		}
		_ = s.Close()
	}
}

func TestTheTokenForPortsOpensThePortsOfOneSandbox(t *testing.T) {
	_, s, front := serve(t)
	a, b := create(t, front, "token-a"), create(t, front, "token-a")
	var passed []http.Header
	ports := httptest.NewServer(s.Wrap(s.inside, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { passed = append(passed, r.Header) })))
	t.Cleanup(ports.Close)
	host := "3000-" + a.SandboxID + ".boxes.test:80"
	for _, token := range []string{"", a.AccessToken, b.TrafficToken, "token-a"} {
		if status, body := call(t, ports, "GET", "/x", "", "Host", host, trafficHeader, token); status != http.StatusForbidden {
			t.Errorf("with %q: %d %s", token, status, body)
		}
	}
	if len(passed) > 0 {
		t.Errorf("requests passed: %v", passed)
	}
	if status, body := call(t, ports, "GET", "/x", "", "Host", host, trafficHeader, a.TrafficToken); status != http.StatusOK || passed[0].Get(portsHeader) != "token-a" || passed[0].Get(trafficHeader) != "" {
		t.Errorf("%d %s, and %v", status, body, passed)
	}
	if status, _ := call(t, ports, "GET", "/x", "", "Host", host); status != http.StatusOK || passed[1].Get(portsHeader) != "" {
		t.Errorf("without a token of the packages %v", passed[1])
	}
	// The forwarder would pass a header that it does not know on to the program in the sandbox.
	passed = nil
	for path, host := range map[string]string{"/x": strings.Replace(host, ":", ".:", 1), "/v1/sandboxes/" + a.SandboxID + "/ports/3000/": "boxes.test"} {
		if status, body := call(t, ports, "GET", path, "", "Host", host, trafficHeader, a.TrafficToken); status != http.StatusOK {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
	for _, header := range passed {
		if header.Get(trafficHeader) != "" {
			t.Errorf("the token of the packages is passed on: %v", header)
		}
	}
}

func TestATokenOpensOnlyItsSandboxForItsPurpose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := newTokens(rapid.SliceOfN(rapid.Byte(), KeySize, KeySize).Draw(t, "key"))
		id, other := rapid.String().Draw(t, "id"), rapid.String().Draw(t, "other")
		caller := rapid.StringN(1, 100, 100).Draw(t, "caller")
		token := tokens.issue(forInside, id, caller)
		if opened, err := tokens.open(forInside, id, token); err != nil || opened != caller {
			t.Fatalf("%q, %v", opened, err)
		}
		if _, err := tokens.open(forPorts, id, token); err == nil {
			t.Fatal("it opens for another purpose")
		}
		if _, err := tokens.open(forInside, other, token); err == nil && id != other {
			t.Fatal("it opens for another sandbox")
		}
		changed := []byte(token)
		changed[rapid.IntRange(0, len(changed)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		if _, err := tokens.open(forInside, id, string(changed)); err == nil {
			t.Fatal("a changed token opens")
		}
	})
}
