// Package flood has programs that use as much of one resource as they can, for tests and
// benchmarks. Each prints "begun" first, and none ends by itself.
package flood

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// Python is the command for a program of this package in Python.
func Python(program string) []string { return []string{"python3", "-c", program} }

// Perl is the command for a program in Perl.
func Perl(program string) []string {
	return []string{"perl", "-e", `$| = 1; print "begun\n"; ` + program}
}

// Shell is the command for a program of the shell.
func Shell(program string) []string { return []string{"sh", "-c", "echo begun; " + program} }

// Names asks the name server without a pause, by UDP and by TCP.
const Names = `
import os, socket, threading
print("begun", flush=True)
query = lambda i: os.urandom(2) + b"\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x08%08d\x07example\x00\x00\x01\x00\x01" % i
def streams():
    held = []
    while True:
        try:
            s = socket.create_connection(("10.200.200.1", 53), 5)
            q = query(len(held))
            s.sendall(len(q).to_bytes(2, "big") + q)
            held.append(s)
        except OSError: pass
        if len(held) > 500: held = []
for _ in range(4): threading.Thread(target=streams, daemon=True).start()
s, i = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
while True:
    s.sendto(query(i % 10**8), ("10.200.200.1", 53))
    i += 1
`

// Connections opens connections to the egress proxy without a pause, and keeps them.
const Connections = `
import os, socket, threading, urllib.parse
u = urllib.parse.urlsplit(os.environ["https_proxy"])
print("begun", flush=True)
def connect():
    held = []
    while True:
        try:
            s = socket.create_connection((u.hostname, u.port), 5)
            s.sendall(b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n" + (b"\r\n" if len(held) % 2 else b""))
            held.append(s)
        except OSError: held = held[len(held) // 2:]
for _ in range(7): threading.Thread(target=connect, daemon=True).start()
connect()
`

// Descriptors opens files, pipes and sockets in many processes.
const Descriptors = `
import os, socket, time
print("begun", flush=True)
for i in range(20):
    if os.fork() == 0: break
held, makers = [], [lambda: os.open("README", os.O_RDONLY), os.pipe, socket.socketpair, lambda: os.open("/tmp", os.O_RDONLY)]
while True:
    try:
        for make in makers: held.append(make())
    except OSError: time.sleep(1)
`

// Answer is a program of the shell that reads one streamed answer of the model.
const Answer = `curl -sSN -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \
  -d '{"model":"one","stream":true,"messages":[{"role":"user","content":"?"}]}' "$OPENAI_BASE_URL/chat/completions" >/dev/null`

// Model starts a model server whose answers never end, and returns its base URL.
func Model() (server *httptest.Server, url string) {
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"one","object":"model"}]}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		event := `data: {"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("never ", 500) + `"}}]}` + "\n\n"
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, event); err != nil {
				return
			}
		}
	}))
	return server, server.URL + "/v1"
}
