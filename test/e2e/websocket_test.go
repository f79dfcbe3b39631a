package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"

	"github.com/coder/websocket"
)

// webSocketReconnects reads the output of a process by WebSockets, each of which is cut after
// some events, without losing or repeating any of it.
func (s *apiServer) webSocketReconnects(id string) {
	t := s.m.t
	t.Helper()
	const size, cuts = 8 << 20, 10
	body, status := s.curl("-d", fmt.Sprintf(`{"argv":["sh","-c","seq 1 2000000 | head -c %d"]}`, size), s.url+"/v1/sandboxes/"+id+"/processes")
	var started struct{ ProcessID int }
	if err := json.Unmarshal([]byte(body), &started); err != nil || status != "200" {
		t.Fatalf("%s %s %v", status, body, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	sum, read, next, lost := sha256.New(), 0, int64(1), 0
	for ended := false; !ended; lost++ {
		url := fmt.Sprintf("%s/v1/sandboxes/%s/processes/%d/ws?from_seq=%d", strings.Replace(s.url, "http", "ws", 1), id, started.ProcessID, next)
		conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.token}}})
		if err != nil {
			t.Fatal(err)
		}
		conn.SetReadLimit(4 << 20)
		for !ended && (read < size*(lost+1)/(cuts+1) || lost >= cuts) {
			_, data, err := conn.Read(ctx)
			if err != nil {
				t.Fatalf("after %d bytes: %v", read, err)
			}
			var event struct {
				Seq    int64 `json:",string"`
				Stdout struct{ Data []byte }
				Exit   *struct{}
			}
			if err := json.Unmarshal(data, &event); err != nil {
				t.Fatal(err)
			}
			if event.Seq == 0 { // a heartbeat, or the start
				continue
			}
			if event.Seq != next {
				t.Fatalf("event %d in place of %d", event.Seq, next)
			}
			next++
			sum.Write(event.Stdout.Data)
			read += len(event.Stdout.Data)
			ended = event.Exit != nil
		}
		_ = conn.CloseNow()
	}
	want, err := exec.Command("sh", "-c", fmt.Sprintf("seq 1 2000000 | head -c %d | sha256sum", size)).Output()
	if got := hex.EncodeToString(sum.Sum(nil)); err != nil || read != size || lost <= cuts || !strings.HasPrefix(string(want), got) {
		t.Errorf("%d bytes with the SHA-256 %s by %d WebSockets, not %s (%v)", read, got, lost, want, err)
	}
}
