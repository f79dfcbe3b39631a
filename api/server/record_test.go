package server

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	utf8encoding "unicode/utf8"

	"github.com/coder/websocket"

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
		"aibox.v1.Files/Read " + id + " false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded:\n%s", strings.Join(got, "\n"))
	}
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
