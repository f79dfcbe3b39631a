package rules

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"aibox/netguard"
)

// unmatched begins the names of bridges that lock 1 does not match.
const unmatched = "aiboxoff"

// lab is one bridge with everything behind it.
type lab struct {
	t       testing.TB
	image   string
	network string
	bridge  string
	gateway string
	peer    string // the address the next sandbox gets
}

func docker(t testing.TB, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.Command("docker", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("this test needs rootless Docker with runsc (DOCKER_HOST=%q): docker %s: %v\n%s", os.Getenv("DOCKER_HOST"), strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// site finds the bridges' namespace as runtime/docker does.
func site(t testing.TB) Site {
	t.Helper()
	dir := os.Getenv("XDG_RUNTIME_DIR")
	for _, name := range []string{"dockerd-rootless/child_pid", "docker.pid"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		must(t, err)
		site := Site{PID: pid}
		if file := filepath.Join(dir, "dockerd-rootless/netns"); exists(file) {
			site.NetNS = file
		}
		return site
	}
	t.Fatalf("this test needs rootless Docker: no pid in %q", dir)
	return Site{}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// needSandboxes skips a test that needs real sandboxes if only the quick tests run.
func needSandboxes(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs rootless Docker and runsc; go test without -short runs it")
	}
}

// probed is the result of the prober in a sandbox for one target.
type probed struct {
	Target string
	Open   bool // the target answered
	Millis int64
	Err    string
}

// buildProber builds the program that tries targets.
func buildProber(t testing.TB) (program string) {
	t.Helper()
	dir := t.TempDir()
	program = filepath.Join(dir, "prober")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./testdata/prober")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the prober: %v\n%s", err, out)
	}
	return program
}

// newProber builds the program that runs in every sandbox, and an image that contains only
// this program, so that the tests need no other.
func newProber(t testing.TB) (program, image string) {
	t.Helper()
	program = buildProber(t)
	image = fmt.Sprintf("aibox-test-prober:%05x", rand.IntN(1<<20))
	load := exec.Command("sh", "-c", `tar -c -C "$1" prober | docker import - "$2"`, "sh", filepath.Dir(program), image)
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("this test needs rootless Docker with runsc (DOCKER_HOST=%q): importing an image: %v\n%s", os.Getenv("DOCKER_HOST"), err, out)
	}
	t.Cleanup(func() { docker(t, "image", "rm", image) })
	return program, image
}

// newLab makes a network as the pool does. options are more flags of docker network create.
func newLab(t testing.TB, prefix, image string, options ...string) *lab {
	t.Helper()
	id := fmt.Sprintf("%05x", rand.IntN(1<<20))
	l := &lab{t: t, image: image, network: "aibox-test-" + id, bridge: prefix + id}
	for try := 0; ; try++ {
		base := fmt.Sprintf("10.213.%d.", rand.IntN(255))
		l.gateway, l.peer = base+"1", base+"2"
		create := append([]string{"network", "create"}, options...)
		out, err := exec.Command("docker", append(create, "--driver=bridge", "--subnet="+base+"0/29", "--gateway="+l.gateway,
			"-o", "com.docker.network.bridge.name="+l.bridge, "-o", "com.docker.network.bridge.enable_ip_masquerade=false",
			"-o", "com.docker.network.bridge.enable_icc=false",
			"-o", "com.docker.network.bridge.gateway_mode_ipv4=nat-unprotected", // Docker 28 and later: the locks must work without Docker's own rules
			l.network)...).CombinedOutput()
		if err == nil {
			break
		}
		if !strings.Contains(string(out), "overlaps") || try == 10 {
			t.Fatalf("this test needs rootless Docker with runsc (DOCKER_HOST=%q): %v\n%s", os.Getenv("DOCKER_HOST"), err, out)
		}
	}
	t.Cleanup(func() {
		unguarded(t, "forget", l.bridge, GuardRequest{})
		docker(t, "network", "rm", l.network)
	})
	return l
}

// sandbox runs the prober in a sandbox on the lab's network.
func (l *lab) sandbox(args ...string) *exec.Cmd {
	run := []string{"run", "--rm", "-i", "--runtime=runsc", "--network=" + l.network, "--log-driver=none", "--cap-drop=ALL", l.image, "/prober"}
	return exec.Command("docker", append(run, args...)...)
}

// run runs a sandbox to its end, and returns its output and its errors.
func (l *lab) run(what string, args ...string) (out []byte, said string, err error) {
	cmd := l.sandbox(append([]string{what}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	return out, stderr.String(), err
}

func (l *lab) probe(targets ...string) map[string]probed {
	l.t.Helper()
	out, said, err := l.run("probe", targets...)
	// gVisor sometimes loses a race with a program that ends at once: the process is gone
	// when gVisor sets its oom_score_adj.
	for try := 0; err != nil && try < 5 && strings.Contains(said, "oom_score_adj"); try++ {
		out, said, err = l.run("probe", targets...)
	}
	if err != nil {
		l.t.Fatalf("probing: %v\n%s", err, said)
	}
	var results []probed
	if err := json.Unmarshal(out, &results); err != nil {
		l.t.Fatalf("probing: %v\n%s", err, out)
	}
	found := map[string]probed{}
	for _, result := range results {
		found[result.Target] = result
	}
	return found
}

// unguarded runs a job that exists only in tests, to open sockets with one lock or both
// missing.
func unguarded(t testing.TB, op, bridge string, ports GuardRequest) *Sockets {
	t.Helper()
	client := Client{Site: site(t), Args: []string{"test-job"}}
	reply, err := client.call(context.Background(), request{Op: op, Bridge: bridge, GuardRequest: ports})
	must(t, err)
	if op == "forget" {
		return nil
	}
	sockets, err := newSockets(reply.files, ports)
	must(t, err)
	t.Cleanup(func() { sockets.Close() })
	return sockets
}

// listenInNamespace puts a listener on every address of the bridges' namespace, as
// a published port is, and returns its port.
func listenInNamespace(t testing.TB, program string) string {
	t.Helper()
	return startServer(t, atSite(t, program, "serve", ":0"))
}

// inSite runs a script as root in the namespace of the bridges.
func inSite(t testing.TB, script string) {
	t.Helper()
	if out, err := atSite(t, "sh", "-ec", "PATH=$PATH:/usr/sbin:/sbin; "+script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func atSite(t testing.TB, args ...string) *exec.Cmd {
	s := site(t)
	net := "-n"
	if s.NetNS != "" {
		net = "--net=" + s.NetNS
	}
	return exec.Command("nsenter", append([]string{"-t", strconv.Itoa(s.PID), "-U", "--preserve-credentials", net, "--"}, args...)...)
}

// startServer starts a prober that serves, and returns the port it prints.
func startServer(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	stdin, err := cmd.StdinPipe() // closing it ends the server
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("server: %v", err)
	}
	return strings.TrimSpace(port)
}

func serveEcho(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() { defer conn.Close(); _, _ = io.CopyN(conn, conn, 6) }()
	}
}

// answer makes every socket of a session answer until the test ends.
func answer(t testing.TB, sockets *Sockets, rejecter bool) *refusals {
	var wait sync.WaitGroup
	for _, listener := range sockets.TCP {
		wait.Go(func() { serveEcho(listener) })
	}
	for _, conn := range sockets.UDP {
		wait.Go(func() {
			packet := make([]byte, 64)
			for {
				n, from, err := conn.ReadFrom(packet)
				if err != nil {
					return
				}
				_, _ = conn.WriteTo(packet[:n], from)
			}
		})
	}
	seen := &refusals{}
	if rejecter {
		wait.Go(func() {
			if err := sockets.Refuse(context.Background(), seen.add); err != nil {
				t.Errorf("rejecter: %v", err)
			}
		})
	}
	t.Cleanup(func() { sockets.Close(); wait.Wait() })
	return seen
}

type refusals struct {
	mu   sync.Mutex
	list []string
}

func (r *refusals) add(refusal Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, refusal.Protocol.String()+" "+refusal.Dst.String())
}

func (r *refusals) has(target string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.list, target)
}

var labPorts = GuardRequest{TCP: netguard.Local.TCPPorts(), UDP: netguard.Local.UDPPorts()}

var allowed = []string{"tcp 10.200.200.1:11434", "tcp 10.200.200.1:53", "udp 10.200.200.1:53"}

// forbidden lists what no sandbox may reach. wild is the port of a listener on every
// address of the namespace.
func (l *lab) forbidden(wild, other string) (all, reachable []string) {
	reachable = []string{ // when there are no locks
		"tcp 10.200.200.1:" + wild,
		"tcp " + l.gateway + ":" + wild,
		"tcp 10.0.2.100:" + wild,
		"tcp 172.17.0.1:" + wild,
	}
	return append([]string{
		other,
		"tcp 10.200.200.1:22", "tcp 10.200.200.1:3128", "tcp 10.200.200.1:11436", "udp 10.200.200.1:5353",
		"tcp 1.1.1.1:443", "tcp 192.0.2.1:80", "udp 1.1.1.1:53", "udp 8.8.8.8:443",
		"tcp 169.254.169.254:80", "tcp [fd00:ec2::254]:80", "tcp [2606:4700:4700::1111]:443", "udp [2606:4700:4700::1111]:53",
		"tcp 10.0.2.2:22", "tcp 10.0.2.2:" + wild, "tcp 10.0.2.3:53", "udp 10.0.2.3:53",
		"udp " + l.gateway + ":53", "tcp " + l.gateway + ":11434",
	}, reachable...), reachable
}

// letPast turns off Docker's own isolation between two bridges, after the two rules of lock
// 1.
func letPast(t testing.TB, from, to string) {
	t.Helper()
	edit := func(op string) {
		inSite(t, fmt.Sprintf("for pair in '%s %s' '%s %s'; do set -- $pair; iptables -w 5 %s -i $1 -o $2 -j ACCEPT; done", from, to, to, from, op))
	}
	edit("-I DOCKER-USER 3")
	t.Cleanup(func() { edit("-D DOCKER-USER") })
}
