package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
)

// notingServer notes which of its exchanges were whole, and which were cut off.
const notingServer = echoHandler + `
def note(text): print(text, file=open("/tmp/notes", "a"), flush=True)
class Noting(Handler):
    def do_GET(self):
        if self.path != "/endless": return super().do_GET()
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while True: self.wfile.write(b"10000\r\n" + bytes(65536) + b"\r\n")
        except OSError: note("download cut")
        self.close_connection = True
    def echo(self):
        try: super().echo()
        except OSError: pass
        if self.path == "/long": note("websocket cut")
    def do_PUT(self):
        whole, left = False, int(self.headers.get("Content-Length", 0))
        note("upload begun")
        try:
            if left > 0: # a body of a given length
                while left > 0 and (data := self.rfile.read(min(left, 65536))): left -= len(data)
                whole = left == 0
            else: # chunks
                while (head := self.rfile.readline().strip()):
                    if (whole := int(head, 16) == 0): break
                    self.rfile.read(int(head, 16) + 2)
        except OSError: pass
        note("upload whole" if whole else "upload cut")
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", 3000), Noting).serve_forever()`

// What passed through a port when the server was killed is cut off on both sides: the program in
// the sandbox takes no part for a whole. The next server forwards to the port as before.
func TestWhatAPortForwardsIsCutOffOnBothSidesIfTheServerIsKilled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	id := s.create(`{"timeout":"900s"}`)
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", id) })
	argv, err := json.Marshal(map[string]any{"argv": []string{"python3", "-c", notingServer}})
	if err != nil {
		t.Fatal(err)
	}
	if body, status := s.curl("-d", string(argv), s.url+"/v1/sandboxes/"+id+"/processes"); status != "200" {
		t.Fatal(status, body)
	}
	path := "/v1/sandboxes/" + id + "/ports/3000/"
	works := func() {
		t.Helper()
		eventually(t, hung, "the port answers", func() bool {
			_, status := s.curl(s.url + path)
			return status == "200"
		})
		s.portWebSockets(id)
	}
	works()
	noted := func(text string) int { return strings.Count(s.sh(id, "cat /tmp/notes"), text) }
	client := &http.Client{Transport: authorized{&http.Transport{}, s.token}}
	upload := func(length int64) func(context.Context) {
		return func(ctx context.Context) {
			body, feed := io.Pipe()
			request, err := http.NewRequestWithContext(ctx, http.MethodPut, s.url+path, body)
			if err != nil {
				t.Error(err)
				return
			}
			request.ContentLength = length
			go func() {
				_, _ = feed.Write(make([]byte, 1<<20))
				<-ctx.Done() // the rest never comes
				_ = feed.CloseWithError(ctx.Err())
			}()
			if response, err := client.Do(request); err == nil {
				response.Body.Close()
				t.Errorf("a request without its whole body is answered with %d", response.StatusCode)
			}
			_ = body.Close()
		}
	}
	for _, call := range []struct {
		name, cut string
		do        func(ctx context.Context)
		begun     func() bool
	}{
		{"an upload of a length", "upload cut", upload(1 << 30), func() bool { return noted("upload begun") == 1 }},
		{"an upload in chunks", "upload cut", upload(-1), func() bool { return noted("upload begun") == 2 }},
	} {
		before := noted(call.cut)
		s.killIn(call.name, id, call.do, call.begun)
		eventually(t, hung, call.name+" is cut off in the sandbox", func() bool { return noted(call.cut) == before+1 })
		works()
	}
	if n := noted("upload whole"); n != 0 {
		t.Errorf("%d uploads count as whole", n)
	}

	var got atomic.Int64
	s.killIn("a download", id, func(ctx context.Context) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path+"endless", nil)
		if err != nil {
			t.Error(err)
			return
		}
		response, err := client.Do(request)
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		part := make([]byte, 1<<16)
		for err == nil {
			var n int
			n, err = response.Body.Read(part)
			got.Add(int64(n))
		}
		if err == io.EOF { //nolint:errorlint // what a whole body ends with
			t.Error("the download counts as whole")
		}
	}, func() bool { return got.Load() > 1<<20 })
	eventually(t, hung, "the download is cut off in the sandbox", func() bool { return noted("download cut") == 1 })
	works()

	var echoed atomic.Int64
	s.killIn("a WebSocket", id, func(ctx context.Context) {
		conn, _, err := websocket.Dial(ctx, strings.Replace(s.url, "http", "ws", 1)+path+"long", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.token}}})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow() //nolint:errcheck // the server is dead
		for err == nil {
			if err = conn.Write(ctx, websocket.MessageText, []byte("echo")); err == nil {
				_, _, err = conn.Read(ctx)
			}
			echoed.Add(1)
		}
		if code := websocket.CloseStatus(err); code != -1 {
			t.Errorf("the WebSocket ends with a close of %d", code)
		}
	}, func() bool { return echoed.Load() > 20 })
	eventually(t, hung, "the WebSocket is cut off in the sandbox", func() bool { return noted("websocket cut") == 1 })
	works()
}
