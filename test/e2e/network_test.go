package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// prober tries targets from inside a sandbox and prints how each one went as a line
// of JSON. Each gets two seconds to fail in. One that fails slowly is tried again, up to twice: a
// busy machine delays some of them, a guard that drops packets all of them.
const prober = `
import json, socket, sys, time, threading
def udp(address, port, data=b"x"):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.connect((address, port))
        s.send(data)
        return s.recv(100)
def tcp(address, port):
    with socket.create_connection((address, port), timeout=2): return True
def http(address, port):
    with socket.create_connection((address, port), timeout=2) as s:
        s.send(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return s.recv(100)
def name(host):
    return socket.getaddrinfo(host, 80)
query = bytes.fromhex("abcd01000001000000000000") + b"\x07example\x03com\x00\x00\x01\x00\x01"
def ask(server): return udp(server, 53, query)
def attempt(line):
    kind, *args = line.split()
    call = {"tcp": lambda a, p: tcp(a, int(p)), "udp": lambda a, p: udp(a, int(p)), "http": lambda a, p: http(a, int(p)),
            "dns": ask, "name": name}[kind]
    begin = time.monotonic()
    try:
        detail, answered = repr(call(*args)), True
    except Exception as e:
        detail, answered = repr(e), False
    return {"target": line, "answered": answered, "ms": (time.monotonic() - begin) * 1000, "detail": detail}
for line in open(sys.argv[1]):
    for _ in range(3):
        a = attempt(line.strip())
        if a["answered"] or a["ms"] < 900: break
    print(json.dumps(a), flush=True)
`

type attempt struct {
	Target, Detail string
	Answered       bool
	Ms             float64
}

// ways out that no policy leaves open.
var closed = []string{
	"tcp 1.1.1.1 443", "tcp 93.184.215.14 80", "udp 1.1.1.1 443", "udp 8.8.8.8 53", "dns 9.9.9.9", "dns 10.0.2.3",
	"tcp 2606:4700:4700::1111 443", "udp 2606:4700:4700::1111 443", "tcp 169.254.169.254 80", "tcp fd00:ec2::254 80",
	"tcp 10.0.2.2 22", "tcp 10.0.2.2 80", "tcp 172.17.0.1 80", "tcp 192.168.1.1 80", "tcp 100.100.100.200 80",
	"name example.com", "name localhost.example", "tcp 10.200.200.1 22", "tcp 10.200.200.1 3128", "tcp 10.200.200.1 11435",
	"udp 10.200.200.1 11434", "tcp 10.200.200.2 11434",
}

func TestASandboxReachesOnlyTheGatewayUnderLocal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	inference := m.script("[[step]]\nsay = \"hello\"\n")
	neighbor := m.detached("shell", "--inference", inference, "--repo", m.repo("other", nil), "--", "sh", "-c",
		`hostname -I; exec python3 -m http.server --bind 0.0.0.0 8000`)
	defer m.aibox(0, "rm", "-f", neighbor)
	defer m.aibox(0, "stop", neighbor)
	watcher := m.start("logs", "-f", neighbor)
	watcher.stdout.await(t, "\n")
	sandbox, _, _ := strings.Cut(strings.TrimSpace(watcher.stdout.String()), " ")
	bridge := m.record(neighbor).State.Network.Gateway.String()

	for _, policy := range []string{"local", "none"} {
		targets := append([]string{
			"http 10.200.200.1 11434", "tcp " + sandbox + " 8000", "tcp " + bridge + " 8000", "tcp " + bridge + " 11434", "tcp " + bridge + " 11435",
		}, closed...)
		repo := m.repo("probe-"+policy, map[string]string{"probe.py": prober, "targets": strings.Join(targets, "\n") + "\n"})
		o := m.aibox(0, "run", "shell", "--network", policy, "--inference", inference, "--repo", repo, "--", "python3", "probe.py", "targets")
		lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
		if len(lines) != len(targets) {
			t.Fatalf("%d targets, but %d results:\n%s", len(targets), len(lines), o)
		}
		for _, line := range lines {
			var a attempt
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				t.Fatal(err)
			}
			gateway := strings.HasPrefix(a.Target, "http 10.200.200.1 11434")
			switch {
			case gateway && policy == "local":
				if !a.Answered || !strings.Contains(a.Detail, "401") {
					t.Errorf("%s: the gateway does not ask for its key: %+v", policy, a)
				}
			case a.Answered:
				t.Errorf("%s: %s answered: %s", policy, a.Target, a.Detail)
			case a.Ms > 900: // a dropped packet is sent again after a second
				t.Errorf("%s: %s was refused after %.0f ms: %s", policy, a.Target, a.Ms, a.Detail)
			}
		}
		for _, want := range []string{"example.com", "1.1.1.1:443", "169.254.169.254:80"} {
			if !strings.Contains(o.stderr, want) {
				t.Errorf("%s: the user is not warned that %s was refused:\n%s", policy, want, o.stderr)
			}
		}
		all := m.stored()
		if log := m.aibox(0, "netguard", "log", all[len(all)-1].ID); !strings.Contains(log.stdout, "1.1.1.1:443") {
			t.Errorf("%s: the log has\n%s", policy, log)
		}
	}
}

// A file on the host that a link in the workspace names is not what a sandbox sees.
func TestASandboxSeesNothingOfTheHostButTheWorkspace(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	m.write(filepath.Join(m.home, "secret.txt"), "host-secret\n")
	o := m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--", "sh", "-c", `
ln -s `+m.home+`/secret.txt link; cat link 2>&1; ls -A / /root /home 2>&1; ls /var/run/docker.sock /run/user 2>&1
mount | grep -c ' /workspace '; cat /proc/1/environ; id -u; uname -r; cat /proc/cmdline`)
	for _, leak := range []string{"host-secret", m.home + "/src", "docker.sock\n"} {
		if strings.Contains(strings.ReplaceAll(o.stdout, "'/var/run/docker.sock'", ""), leak) {
			t.Errorf("the sandbox sees %q:\n%s", leak, o)
		}
	}
}
