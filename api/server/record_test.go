package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	utf8encoding "unicode/utf8"

	"github.com/coder/websocket"

	"aibox/internal/fault"
	"aibox/session/process"
)

// A call is recorded on whatever route it comes.
func TestCommandsOverAWebSocketAndDownloadsAreRecorded(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), s.token("a")
	info, err := s.m.StartProcess(t.Context(), "00001-sandbox", process.Request{Argv: []string{"cat"}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	conn := s.dialProcess(id, info.ID, token, "")
	input := `{"input":"` + base64.StdEncoding.EncodeToString([]byte("x")) + `"}`
	for _, command := range []string{input, input, `{"resize":{"rows":0}}`} {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(command)); err != nil {
			t.Fatal(err)
		}
	}
	for err == nil { // until the server has refused the size
		_, _, err = conn.Read(t.Context())
	}
	s.request("GET", "/v1/sandboxes/"+id+"/files/content?path=/none", "", bearer(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for _, c := range s.calls {
		got = append(got, fmt.Sprintf("%s %s %t", c.Method, c.Subject, c.Kind == ""))
	}
	want := []string{
		"aibox.v1.Processes/SendInput " + id + " true", "aibox.v1.Processes/Resize " + id + " false",
		"aibox.v1.Processes/Connect " + id + " false",
		"aibox.v1.Files/Read " + id + " false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded:\n%s", strings.Join(got, "\n"))
	}
}

func TestTheRecordNamesWhatACallHasMadeAndDeleted(t *testing.T) {
	cases := &stored{}
	s := newSite(t, func(o *Options) { o.Services.Sandboxes = cases })
	cases.machine = s.m
	token := bearer(s.token("a"))
	var made struct {
		ID string `json:"sandboxId"`
	}
	for _, body := range []string{`{}`, `{"name":"n"}`} {
		if got := s.request("POST", "/v1/sandboxes", body, token); got.status != 200 || json.Unmarshal([]byte(got.body), &made) != nil || made.ID == "" {
			t.Fatalf("%d %s", got.status, got.body)
		}
		s.mu.Lock()
		last := s.calls[len(s.calls)-1]
		s.mu.Unlock()
		if last.Made != made.ID || (last.Subject == "n") != (body != "{}") {
			t.Errorf("%s is recorded as %+v", body, last)
		}
	}
	s.request("DELETE", "/v1/sandboxes/"+made.ID, "", token)
	s.request("DELETE", "/v1/snapshots/snap-1", "", token)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, want := range []string{made.ID, "snap-1"} {
		if c := s.calls[len(s.calls)-2+i]; c.Subject != want || c.Made != "" {
			t.Errorf("the deletion of %s is recorded as %+v", want, c)
		}
	}
}

func TestFailuresDoNotFillTheRecord(t *testing.T) {
	var s *site
	t.Cleanup(func() { // after the end of the server
		if last := s.calls[len(s.calls)-1]; last.Omitted != 2*maxFailures || last.Kind != "unauthenticated" {
			t.Errorf("the last one is %+v", last)
		}
	})
	s = newSite(t, nil)
	for range 3 * maxFailures {
		if got := s.request("GET", "/v1/none", ""); got.status != 401 {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	s.request("GET", "/v1/none", "", bearer(s.token("a")))
	s.mu.Lock()
	defer s.mu.Unlock()
	unknown := 0
	for _, c := range s.calls {
		if c.Tenant == "" {
			unknown++
		}
	}
	if last := s.calls[len(s.calls)-1]; unknown != maxFailures || len(s.calls) != maxFailures+1 || last.Tenant != "a" {
		t.Errorf("of %d calls, %d are of nobody, and the last is %+v", len(s.calls), unknown, last)
	}
}

// A failure can follow what a call has changed.
func TestCallsThatMayHaveChangedSomethingAreRecordedAlthoughTheyFail(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), bearer(s.token("a"))
	start := `{"sandboxId":"` + id + `","argv":["wait"]}`
	start = "\x00\x00\x00\x00" + string(rune(len(start))) + start // the only message of a stream
	s.m.fail = fault.New(fault.Environment, "the disk failed")
	for range maxFailures + 1 {
		s.request("POST", "/aibox.v1.Processes/Start", start, token, "Content-Type: application/connect+json", "Connect-Timeout-Ms: 50")
		s.request("POST", "/v1/sandboxes", "{}", token)
		s.request("PUT", "/v1/sandboxes/"+id+"/files/archive?path=/denied&name=x", "x", token)
		s.request("GET", "/v1/sandboxes/none", "", token)
	}
	count := map[string]int{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		count[c.Method+" "+c.Kind]++
	}
	want := map[string]int{
		"aibox.v1.Processes/Start timeout": maxFailures + 1, "aibox.v1.Sandboxes/Create environment": maxFailures + 1,
		"aibox.v1.Files/Upload failed": maxFailures + 1, "aibox.v1.Sandboxes/Get not_found": maxFailures,
	}
	if !maps.Equal(count, want) {
		t.Errorf("recorded are %v", count)
	}
}

func TestFailuresThatAreNotRecordedAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reported := make(chan Call, 9)
		f := failureCounts{report: func(c Call) { reported <- c }}
		admitted := func(call Call, want bool) {
			t.Helper()
			if ok := f.admit(&call, time.Now()); ok != want {
				t.Errorf("%+v: %t", call, ok)
			}
		}
		check := func(want ...Call) {
			t.Helper()
			synctest.Wait()
			var got []Call
			for len(reported) > 0 {
				got = append(got, <-reported)
			}
			if !slices.Equal(got, want) {
				t.Errorf("reported are %+v", got)
			}
		}
		fill := func() {
			for i := range maxFailures + 7 {
				admitted(Call{Kind: "refused"}, i < maxFailures)
			}
		}
		fill()
		admitted(Call{Kind: "invalid"}, true)
		admitted(Call{Tenant: "a", Kind: "refused"}, true)
		admitted(Call{Tenant: "a", Token: "x", Kind: "refused"}, true)
		check()
		<-time.After(failureTime)
		check(Call{Kind: "refused", Omitted: 7})
		fill()
		f.reportAll()
		check(Call{Kind: "refused", Omitted: 7})
		<-time.After(2 * failureTime)
		check()
	})
}

func TestLongTextsOfCallersDoNotFillTheRecord(t *testing.T) {
	s := newSite(t, nil)
	token := bearer(s.token("a"))
	long := strings.Repeat("é", 10_000)
	if got := s.request("POST", "/aibox.v1.Sandboxes/Create", `{"name":"`+long+`"}`, token); got.status != 400 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.request("GET", "/v1/"+long[:8000], ""); got.status != 401 {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) != 2 {
		t.Fatalf("%d calls are recorded", len(s.calls))
	}
	for _, c := range s.calls {
		if size := len(c.Method) + len(c.Subject); size < 200 || size > 400 || !utf8encoding.ValidString(c.Method+c.Subject) {
			t.Errorf("the record has %d bytes: %.300q %.300q", size, c.Method, c.Subject)
		}
	}
}

// A call can fail before its method is reached: in Connect, in the REST of vanguard, or on a
// route that exists in neither.
func TestCallsThatFailBeforeTheirMethodRunsAreRecorded(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits.Message = 1 << 10 })
	id, token := s.sandbox("a"), s.token("a")
	large := `{"name":"` + strings.Repeat("x", 1<<12) + `"}`
	for _, c := range []struct {
		method, path, body, header string
		want                       string // method and kind
	}{
		{"POST", "/aibox.v1.Sandboxes/Create", `{"x":1}`, "", "POST /aibox.v1.Sandboxes/Create invalid"},
		{"POST", "/aibox.v1.Sandboxes/Create", large, "", "POST /aibox.v1.Sandboxes/Create too_large"},
		{"POST", "/aibox.v1.Sandboxes/Create", "\x00\x00\x00\x00\x02\xff\xff", "Content-Type: application/grpc-web+proto", "POST /aibox.v1.Sandboxes/Create invalid"},
		{"POST", "/aibox.v1.Sandboxes/Create", "{}", "Content-Type: text/plain", "POST /aibox.v1.Sandboxes/Create invalid"},
		{"POST", "/aibox.v1.Sandboxes/Create", "{}", "Content-Encoding: br", "POST /aibox.v1.Sandboxes/Create unsupported"},
		{"PUT", "/aibox.v1.Sandboxes/Create", "{}", "", "PUT /aibox.v1.Sandboxes/Create invalid"},
		{"POST", "/aibox.v1.Sandboxes/None", "{}", "", "POST /aibox.v1.Sandboxes/None not_found"},
		{"POST", "/aibox.v1.None/None", "{}", "", "POST /aibox.v1.None/None not_found"},
		{"POST", "/v1/sandboxes", `{"x":1}`, "", "POST /v1/sandboxes invalid"},
		{"POST", "/v1/sandboxes", large, "", "POST /v1/sandboxes too_large"},
		{"POST", "/v1/sandboxes?x=1", "{}", "", "POST /v1/sandboxes invalid"},
		{"PUT", "/v1/sandboxes", "{}", "", "PUT /v1/sandboxes invalid"},
		{"GET", "/v1/none", "", "", "GET /v1/none not_found"},
		{"GET", "/none", "", "", "GET /none not_found"},
		{"GET", "/v1/sandboxes/none/processes/1/ws", "", "", "GET /v1/sandboxes/none/processes/1/ws not_found"},
		{"GET", "/v1/sandboxes/" + id + "/processes/1/ws?x=1", "", "", "GET /v1/sandboxes/" + id + "/processes/1/ws invalid"},
		// These reach their methods.
		{"GET", "/v1/sandboxes/" + id, "", "", ""},
		{"GET", "/v1/sandboxes/none", "", "", "aibox.v1.Sandboxes/Get not_found"},
		{"GET", "/health", "", "", ""},
	} {
		headers := []string{bearer(token)}
		if c.header != "" {
			headers = append(headers, c.header)
		}
		answered := s.request(c.method, c.path, c.body, headers...)
		if c.body == large && !strings.Contains(answered.body, `"kind":"too_large"`) {
			t.Errorf("%s %s with a large body: %d %s", c.method, c.path, answered.status, answered.body)
		}
		s.mu.Lock()
		var got []string
		for _, call := range s.calls {
			if call.Tenant != "a" || call.Token == "" || call.Request == "" {
				t.Errorf("%s %s: %+v", c.method, c.path, call)
			}
			got = append(got, call.Method+" "+call.Kind)
		}
		s.calls = nil
		s.mu.Unlock()
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s %s with %.20q %s: recorded are %q", c.method, c.path, c.body, c.header, got)
		}
	}
}
