package e2e

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"aibox/test/testnet"
)

// sshHost is a Git server over SSH that aibox takes for one on the Internet.
type sshHost struct {
	*testnet.Host
	Key ssh.Signer

	mu     sync.Mutex
	logins []string // the users that have logged in
}

// newSSHHost starts a server with one repository, named repo. authorized can log in as any
// user, and anyone can if it is nil.
func (m *machine) newSSHHost(repository string, authorized ssh.PublicKey) *sshHost {
	m.t.Helper()
	h := &sshHost{Host: testnet.NewHost(m.t, 22), Key: newSSHKey(m.t)}
	enter := func(c ssh.ConnMetadata) (*ssh.Permissions, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.logins = append(h.logins, c.User())
		return nil, nil
	}
	config := &ssh.ServerConfig{NoClientAuth: authorized == nil, NoClientAuthCallback: enter}
	if authorized != nil {
		config.PublicKeyCallback = func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if !bytes.Equal(key.Marshal(), authorized.Marshal()) {
				return nil, errors.New("another key")
			}
			return nil, nil
		}
		config.VerifiedPublicKeyCallback = func(c ssh.ConnMetadata, _ ssh.PublicKey, _ *ssh.Permissions, _ string) (*ssh.Permissions, error) {
			return enter(c)
		}
	}
	config.AddHostKey(h.Key)
	go func() {
		for {
			conn, err := h.Listener(22).Accept()
			if err != nil {
				return
			}
			go m.serveGitOverSSH(conn, config, repository)
		}
	}()
	return h
}

func newSSHKey(t testing.TB) ssh.Signer {
	t.Helper()
	signer, err := ssh.NewSignerFromKey(newPrivateKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func newPrivateKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// known returns a line of known_hosts with which the server is the one that has key.
func (h *sshHost) known(key ssh.Signer) string {
	return knownhosts.Line([]string{h.Name}, key.PublicKey()) + "\n"
}

// users returns who has logged in.
func (h *sshHost) users() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.logins)
}

// serveGitOverSSH serves the repository to one connection.
func (m *machine) serveGitOverSSH(conn net.Conn, config *ssh.ServerConfig, repository string) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			defer channel.Close()
			for request := range requests {
				var command struct{ Text string }
				program, path, _ := strings.Cut(commandOf(request, &command), " ")
				served := (program == "git-upload-pack" || program == "git-receive-pack") && path == "'/repo'"
				_ = request.Reply(served || request.Type == "env", nil)
				if !served {
					continue
				}
				git := m.cmd("git", strings.TrimPrefix(program, "git-"), repository)
				git.Stdin, git.Stdout, git.Stderr = channel, channel, channel.Stderr()
				var exit *exec.ExitError
				var status [4]byte
				if err := git.Run(); errors.As(err, &exit) {
					status[3] = byte(exit.ExitCode())
				}
				_, _ = channel.SendRequest("exit-status", false, status[:])
				return
			}
		}()
	}
}

// commandOf returns the command that a request asks for, or "".
func commandOf(request *ssh.Request, command *struct{ Text string }) string {
	if request.Type != "exec" || ssh.Unmarshal(request.Payload, command) != nil {
		return ""
	}
	return command.Text
}

// git and ssh in a sandbox reach a server whose key the user knows, and no other; ssh prints
// why.
func TestGitOverSSHReachesAKnownServerAndNoOther(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	bare := filepath.Join(m.home, "upstream.git")
	m.git(m.repo("upstream", map[string]string{"hello.txt": "hello from upstream\n"}), "clone", "-q", "--bare", ".", bare)
	known, unknown, changed, unlisted := m.newSSHHost(bare, nil), m.newSSHHost(bare, nil), m.newSSHHost(bare, nil), m.newSSHHost(bare, nil)
	m.write(filepath.Join(m.home, ".ssh", "known_hosts"), known.known(known.Key)+changed.known(newSSHKey(t))+unlisted.known(unlisted.Key))
	repo := m.repo("p", map[string]string{"tools.sh": `
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
try() { name=$1; shift; out=$("$@" 2>&1 </dev/null); echo "$name: exit $?: $out" | tr '\n' ' '; echo; }
try clone git clone -q ssh://git@$KNOWN/repo /tmp/clone
try content cat /tmp/clone/hello.txt
try scp-like git clone -q git@$KNOWN:/repo /tmp/second
try commit git -C /tmp/clone commit -q --allow-empty -m "From the sandbox"
try push git -C /tmp/clone push -q origin HEAD:refs/heads/pushed
try unknown git clone -q ssh://git@$UNKNOWN/repo /tmp/unknown
try changed git clone -q ssh://git@$CHANGED/repo /tmp/changed
try careless ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o GlobalKnownHostsFile=/dev/null git@$CHANGED git-upload-pack "'/repo'"
try unlisted git clone -q ssh://git@$UNLISTED/repo /tmp/unlisted
try direct ssh -o ProxyCommand=none -o ConnectTimeout=5 git@$KNOWN git-upload-pack "'/repo'"
try http sh -c "printf 'GET / HTTP/1.1\r\nHost: $KNOWN\r\n\r\n' | /.aibox/init connect 10.200.200.1:3128 $KNOWN 22"
try wrong-port git clone -q ssh://git@$KNOWN:443/repo /tmp/port
`})
	o := m.aibox(0, "run", "shell", "--inference", m.script("[[step]]\nsay = \"hi\"\n"), "--repo", repo, "--network", "allowlist",
		"--allow", known.Name+":22,"+unknown.Name+":22,"+changed.Name+":22",
		"--env", "KNOWN="+known.Name, "--env", "UNKNOWN="+unknown.Name, "--env", "CHANGED="+changed.Name, "--env", "UNLISTED="+unlisted.Name,
		"--", "sh", "tools.sh")
	lines := map[string]string{}
	for line := range strings.Lines(o.stdout) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		lines[name] = rest
	}
	for _, name := range []string{"clone", "content", "scp-like", "commit", "push"} {
		if !strings.HasPrefix(lines[name], "exit 0") {
			t.Errorf("%s: %s", name, lines[name])
		}
	}
	if !strings.Contains(lines["content"], "hello from upstream") {
		t.Errorf("the clone has %s", lines["content"])
	}
	if subject := m.exec("git", "-C", bare, "log", "-1", "--format=%s", "pushed"); subject.stdout != "From the sandbox\n" {
		t.Errorf("the push did not arrive: %s", subject)
	}
	for name, want := range map[string]string{
		"unknown":    "aibox: the host key of " + unknown.Name + ":22 (ssh-ed25519 " + ssh.FingerprintSHA256(unknown.Key.PublicKey()) + ") is not in your known_hosts: connect to it yourself once, with: ssh " + unknown.Name,
		"changed":    "aibox: the host key of " + changed.Name + ":22 has changed",
		"careless":   "aibox: the host key of " + changed.Name + ":22 has changed",
		"unlisted":   "aibox refused " + unlisted.Name + ":22",
		"direct":     "",
		"wrong-port": "aibox refused " + known.Name + ":443",
	} {
		if strings.HasPrefix(lines[name], "exit 0") || lines[name] == "" || !strings.Contains(lines[name], want) {
			t.Errorf("%s: %s", name, lines[name])
		}
	}
	if users := known.users(); len(users) != 3 || slices.ContainsFunc(users, func(user string) bool { return user != "git" }) {
		t.Errorf("%q have logged in to the known server", users)
	}
	for name, host := range map[string]*sshHost{"unknown": unknown, "changed": changed, "unlisted": unlisted} {
		if users := host.users(); len(users) != 0 {
			t.Errorf("%q could authenticate to the %s server", users, name)
		}
	}
	stored := m.stored()
	log := m.aibox(0, "netguard", "log", string(stored[len(stored)-1].ID)).stdout
	for _, want := range []string{unlisted.Name + ":22", "is not in your known_hosts", "has changed", "SSH and nothing else"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	if t.Failed() {
		t.Log(o)
	}
}
