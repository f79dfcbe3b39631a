package server

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

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
