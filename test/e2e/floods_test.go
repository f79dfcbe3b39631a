package e2e

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// floodOutput is the limit of the session whose agent prints without an end; 1024 shows that
// a gigabyte does not grow the supervisor.
var floodOutput = flag.Int("floods.output", 20, "MiB that the flood of output may print")

// exhaustion is a program that uses as much of a resource as it can, until a limit ends its
// session.
type exhaustion struct {
	flags   []string
	program []string
	reason  string // in the message about the session's end
}

func python(program string) []string { return []string{"python3", "-c", program} }

// namesFlood asks the name server without a pause, by UDP and by TCP.
const namesFlood = `
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

// connectionsFlood opens connections to the egress proxy without a pause, and keeps them.
const connectionsFlood = `
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

// descriptorsFlood opens files, pipes and sockets in many processes.
const descriptorsFlood = `
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

// endlessStream is a model server whose answers never end.
func endlessStream(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// exhaustions are programs that a limit must end.
func exhaustions(t *testing.T) map[string]exhaustion {
	const begun = "echo begun; "
	perl := func(program string) []string { return []string{"perl", "-e", `$| = 1; print "begun\n"; ` + program} }
	return map[string]exhaustion{
		"large files in the workspace": {
			[]string{"--disk", "20"},
			perl(`$x = "x" x (1 << 20); for (1 .. 1e6) { open F, ">", "f$_"; print F $x }`),
			"the workspace has grown by more than its limit of 20 MiB",
		},
		// Its size is only known by the free space of the disk, so it must be larger than anything
		// that other tests delete meanwhile.
		"a file that another user of the sandbox hides": {
			[]string{"--disk", "20"},
			[]string{"sh", "-c", begun + `mkdir d; chown 1000 d; chmod 700 d; head -c 5000000000 /dev/zero > d/x; sleep 1000`},
			"the workspace has grown by more than its limit of 20 MiB",
		},
		"empty files in the workspace": {
			[]string{"--disk", "20"},
			perl(`mkdir "d"; for (1 .. 21_000) { open F, ">", "d/$_"; close F } sleep 1000`),
			"the workspace has grown by more than its limit of 20000 files",
		},
		"output":            {[]string{"--max-output", fmt.Sprint(*floodOutput)}, []string{"sh", "-c", begun + "yes flood"}, "the agent has printed more than"},
		"no activity":       {[]string{"--idle-timeout", "3s"}, []string{"sh", "-c", begun + "sleep 1000"}, "idle for 3s"},
		"descriptors":       {[]string{"--timeout", "20s"}, python(descriptorsFlood), "time limit"},
		"names":             {[]string{"--timeout", "20s", "--network", "local", "--inference", "scripted"}, python(namesFlood), "time limit"},
		"proxy connections": {[]string{"--timeout", "20s", "--network", "allowlist", "--allow", "example.com", "--inference", "scripted"}, python(connectionsFlood), "time limit"},
		"an endless stream of the model": {
			[]string{"--timeout", "20s", "--network", "local", "--inference", endlessStream(t)},
			[]string{"sh", "-c", begun + `curl -sSN -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \
  -d '{"model":"one","stream":true,"messages":[{"role":"user","content":"?"}]}' "$OPENAI_BASE_URL/chat/completions" >/dev/null; echo ended; sleep 1000`},
			"time limit",
		},
	}
}

// responsive measures how long a command and a session take.
func (m *machine) responsive(repo string) (list, session time.Duration) {
	m.t.Helper()
	list = m.aibox(0, "ls").took
	return list, m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--", "true").took
}

// Whatever resource a sandbox uses as much of as it can, a limit ends its session with exit code 5
// and keeps its work. Meanwhile other commands and sessions are not much slower, and the supervisor
// stays small. The factor is generous, since tests share the machine.
func TestALimitEndsEachFloodAndOtherSessionsContinue(t *testing.T) {
	t.Parallel()
	for name, f := range exhaustions(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			repo := m.repo("p", nil)
			quietList, quietSession := m.responsive(repo)
			flags := f.flags
			if !strings.Contains(strings.Join(flags, " "), "--network") {
				flags = append(flags, "--network", "none")
			}
			b := m.start(append(append([]string{"run", "shell", "--repo", repo}, flags...), append([]string{"--", "sh", "-c", `echo work > work.txt; "$@"`, "sh"}, f.program...)...)...)
			b.stdout.await(t, "begun")
			peaks := watchPeak(m.stored()[1].State.Supervisor.PID)
			list, session := m.responsive(repo)
			t.Logf("quiet: %v and %v; flooded: %v and %v", quietList, quietSession, list, session)
			if list > 10*quietList+5*time.Second || session > 10*quietSession+10*time.Second {
				t.Errorf("it hurts others: a list takes %v instead of %v, a session %v instead of %v", list, quietList, session, quietSession)
			}
			if code := b.wait(); code != 5 || !strings.Contains(b.stderr.String(), f.reason) || !strings.Contains(b.stderr.String(), "→") {
				t.Fatalf("it ends with %d:\n%.3000s", code, b.stderr.String())
			}
			peak := <-peaks
			t.Logf("the supervisor took %d MB", peak>>10)
			if peak > memoryBound {
				t.Error("that is too much")
			}
			m.tidied()
			id := m.stored()[1].ID
			if o := m.aibox(0, "diff", id, "--", "work.txt"); !strings.Contains(o.stdout, "+work") {
				t.Errorf("the work is lost:\n%s", o)
			}
			if text := m.read(m.sessions(), id, "audit.jsonl"); !strings.Contains(text, `"limit.reached"`) {
				t.Errorf("the log has\n%.3000s", text)
			}
			m.aibox(0, "rm", "--force", id)
		})
	}
}

// A limit is announced, and the user can raise it while the agent works.
func TestALimitThatIsRaisedDoesNotEndTheSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ flag, near, first, second string }{
		"disk":   {"--disk", "the workspace has grown by", "head -c 18000000 /dev/zero > x", "head -c 15000000 /dev/zero > y"},
		"output": {"--max-output", "the agent has printed", "yes near | head -c 18000000", "yes over | head -c 15000000"},
		"idle":   {"--idle-timeout", "the session is idle", "true", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			value := "20"
			if name == "idle" {
				value = "20s"
			}
			id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), c.flag, value, "--", "sh", "-c",
				c.first+"; until test -e go; do sleep 0.1; done; "+c.second+"; until test -e done; do sleep 0.1; done")
			eventually(t, limit, "the session asks", func() bool {
				return strings.Contains(m.aibox(0, "answer", "--json").stdout, fmt.Sprintf(`"what": %q`, name))
			})
			m.aibox(0, "answer", id, "yes")
			if text := m.read(m.sessions(), id, "audit.jsonl"); !strings.Contains(text, `"limit.extended"`) || !strings.Contains(text, c.near) && name != "idle" {
				t.Errorf("the log has\n%.3000s", text)
			}
			workspace := m.record(id).State.Workspace.Path
			m.write(workspace+"/go", "")
			m.write(workspace+"/done", "")
			m.aibox(0, "attach", id)
			if r := m.record(id).State.Result; r.Fault != nil {
				t.Errorf("it ends with %+v", r.Fault)
			}
		})
	}
}
