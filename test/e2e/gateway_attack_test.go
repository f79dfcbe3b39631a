package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// echoed are answers that carry a key, as they are on the wire. Each ends its
// connection.
func echoed(key string) []string {
	half := len(key) / 2
	escaped, percent := "", ""
	for i := range len(key) {
		escaped += fmt.Sprintf(`\u%04x`, key[i])
		percent += fmt.Sprintf("%%%02X", key[i])
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, `{"error":{"message":"`+key+`"}}`)
	_ = w.Close()
	ok := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
	wrong := func(text string) string {
		return "HTTP/1.1 401 " + key + "\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + `{"error":{"message":"wrong key: ` + text + ` , sorry"}}`
	}
	return []string{
		wrong(key), wrong(strings.ReplaceAll(key, "/", `\/`)), wrong(escaped), wrong(percent), wrong(strings.ReplaceAll(escaped, `\`, `\\`)),
		wrong(base64.StdEncoding.EncodeToString([]byte("user:" + key))), wrong(base64.URLEncoding.EncodeToString([]byte("Bearer " + key))), wrong(hex.EncodeToString([]byte(key))),
		"HTTP/1.1 100 Continue\r\nX-Key: " + key + "\r\n\r\n" + ok + "\r\n{}",
		"HTTP/1.1 103 Early Hints\r\nLink: <" + key + ">\r\n\r\n" + ok + "\r\n{}",
		ok + "Content-Encoding: gzip\r\n\r\n" + packed.String(),
		ok + "X-Request-Id: " + key[:half] + "\r\nRequest-Id: " + key[half:] + "\r\n\r\n{}",
		ok + "X-Ratelimit-" + strings.NewReplacer("/", "", "+", "").Replace(key) + ": 1\r\n\r\n{}",
		ok + "Content-Length: 500\r\n\r\n{\"error\":\"" + key[:len(key)-1],
	}
}

// A model server that repeats the key in every way it knows gets none of them into
// the sandbox, nor into anything that aibox writes or prints.
func TestAKeyThatAServerRepeatsReachesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	key := "canary-" + "1f/2e+3d4c5b6a7988"
	answers := echoed(key)
	var next atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"one","object":"model"}]}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, answers[int(next.Add(1)-1)%len(answers)])
	}))
	t.Cleanup(server.Close)
	m.env = append(m.env, "AIBOX_INFERENCE_KEY="+key)
	ask := fmt.Sprintf(`for i in $(seq %d); do curl -sS -i --raw -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \
  -d '{"model":"one","messages":[{"role":"user","content":"?"}]}' "$OPENAI_BASE_URL/chat/completions" 2>&1; echo; done | tee got`, len(answers))
	o := m.aibox(0, "run", "shell", "--inference", server.URL+"/v1", "--repo", m.repo("p", nil), "--json", "--", "sh", "-c", ask)
	if asked := int(next.Load()); asked != len(answers) {
		t.Errorf("the server was asked %d times, not %d: %s", asked, len(answers), o)
	}
	if count := strings.Count(o.stdout+o.stderr, "HTTP/1.1 401 "); count == 0 {
		t.Errorf("nothing of the answers came: %s", o)
	}
	o.stdout += m.exec(aibox, "logs", m.stored()[0].ID).stdout + fmt.Sprint(m.exec(aibox, "netguard", "log", "--json"))
	for name, needle := range needles(key) {
		if strings.Contains(o.stdout, needle) || strings.Contains(o.stderr, needle) {
			t.Errorf("the key was printed, %s", name)
		}
		for _, file := range m.holding(needle) {
			t.Errorf("the key is in %s, %s", file, name)
		}
	}
}

// needles are parts of a key, of eight bytes of it and more, in the spellings that
// echoed uses.
func needles(key string) map[string]string {
	encode := base64.StdEncoding.EncodeToString
	return map[string]string{
		"its beginning": key[:12], "its middle": key[5:14], "its end": key[len(key)-9:],
		"escaped": `\u0063\u0061\u006e\u0061`, "escaped twice": `\\u0063\\u0061\\u006e`, "percent-encoded": "%63%61%6E%61",
		"in Base64": encode([]byte(key))[:14], "in Base64, one on": encode([]byte("x" + key))[2:14], "in Base64, two on": encode([]byte("xx" + key))[3:14],
		"hexadecimal": hex.EncodeToString([]byte(key))[:16], "packed": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", // the head that Go's package writes
	}
}

// besiege sends the gateway large and half-sent requests, then a small honest one
// until that is answered, and keeps its connections until a file appears.
const besiege = `
import json, os, socket, threading, time, urllib.parse
u = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
head = ("POST %s/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
        % (u.path, os.environ["OPENAI_API_KEY"])).encode()
held = []
def send(*parts):
    s = socket.create_connection((u.hostname, u.port))
    held.append(s)
    s.settimeout(30)
    try:
        for part in parts:
            s.sendall(part)
    except OSError:
        pass
    return s
def whole(body):
    try:
        s = send(head, b"Content-Length: %d\r\n\r\n" % len(body), body)
        s.recv(100)
    except OSError:
        pass
bodies = [b'{"model":"scripted","messages":[{"role":"user","content":"' + b"x" * (28 << 20) + b'"}]}',
          b'{"model":"scripted","messages":[' + b"{}," * (1 << 20) + b"{}]}",
          b'{"model":"scripted","messages":' + b"[" * (3 << 20)]
threads = [threading.Thread(target=whole, args=(bodies[i % 3],)) for i in range(48)]
for t in threads: t.start()
for t in threads: t.join()
for i in range(100):
    send(head)
    send(head, b"Content-Length: 1000\r\n\r\n")
    send(head, b"Content-Length: 1000000\r\n\r\n", b'{"model":"' + b"y" * 150000)
    send(b"GET /aibox/health HTTP/1.1\r\nHost: x\r\n\r\n")
begin = time.monotonic()
body = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "hello"}]}).encode()
while True:
    s = send(head, b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body), body)
    answer = s.recv(100)
    if answer.startswith(b"HTTP/1.1 200"):
        break
print("answered", answer[:12], "after", round(time.monotonic() - begin, 1), "s", flush=True)
while not os.path.exists("go"): time.sleep(0.05)
`

// A sandbox that floods its gateway does not block its own honest requests or those of
// other sandboxes, and the memory of its supervisor stays small.
func TestASandboxThatFloodsItsGatewayAffectsNoOther(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"besiege.py": besiege})
	client := m.start("run", "shell", "--inference", "scripted", "--repo", repo, "--", "python3", "besiege.py")
	client.stdout.await(t, "answered")
	r := m.stored()[0]
	if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, r.ID) {
		t.Errorf("while it floods: %s", o)
	}
	m.aibox(0, "run", "shell", "--inference", "scripted", "--repo", repo, "--", "sh", "-c",
		`curl -sSf -H "Authorization: Bearer $OPENAI_API_KEY" "$OPENAI_BASE_URL/models"`)
	if peak := peakOf(r.State.Supervisor.PID); peak == 0 || peak > 100<<10 {
		t.Errorf("the supervisor took %d KiB", peak)
	} else {
		t.Logf("the supervisor took %d KiB at most; %s", peak, client.stdout.String())
	}
	m.write(filepath.Join(r.State.Workspace.Path, "go"), "")
	client.ends(0)
}
