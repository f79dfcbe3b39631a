package e2e

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// sshAgent starts an ssh-agent of the user with one key, and returns that.
func (m *machine) sshAgent() ssh.Signer {
	m.t.Helper()
	key, keyring, socket := newPrivateKey(m.t), agent.NewKeyring(), filepath.Join(m.home, "agent.sock")
	signer, err := ssh.NewSignerFromKey(key)
	if err == nil {
		err = keyring.Add(agent.AddedKey{PrivateKey: key, Comment: "canary-a7c3f1@laptop"})
	}
	if err != nil {
		m.t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(keyring, conn); _ = conn.Close() }()
		}
	}()
	m.env = append(m.env, "SSH_AUTH_SOCK="+socket)
	return signer
}

// rawSign asks the ssh-agent to sign data, like a program that does not follow OpenSSH.
const rawSign = `
import os, socket, struct, sys
def text(b): return struct.pack(">I", len(b)) + b
key = __import__("base64").b64decode(open("/tmp/key.pub").read().split()[1])
data = text(b"s" * 32) + b"\x32" + text(b"git") + text(b"ssh-connection") + text(b"publickey") + b"\x01" + text(b"ssh-ed25519") + text(key)
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["SSH_AUTH_SOCK"])
s.sendall(text(b"\x0d" + text(key) + text(data) + struct.pack(">I", 0)))
print("answer", s.recv(4096)[4:5].hex())
`

// A program in a sandbox logs in with the user's ssh-agent as the listed user to the listed
// server, and gets nothing else of it.
func TestTheSSHAgentSignsOnlyTheListedLogin(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	key := m.sshAgent()
	bare := filepath.Join(m.home, "upstream.git")
	m.git(m.repo("upstream", map[string]string{"hello.txt": "hello from upstream\n"}), "clone", "-q", "--bare", ".", bare)
	listed, other := m.newSSHHost(bare, key.PublicKey()), m.newSSHHost(bare, key.PublicKey())
	m.write(filepath.Join(m.home, ".ssh", "known_hosts"), listed.known(listed.Key)+other.known(other.Key))
	repo := m.repo("p", map[string]string{"raw.py": rawSign, "key.pub": string(ssh.MarshalAuthorizedKey(key.PublicKey())), "tools.sh": `
cp key.pub /tmp/key.pub
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
try() { name=$1; shift; out=$("$@" 2>&1 </dev/null); echo "$name: exit $?: $out" | tr '\n' ' '; echo; }
try clone git clone -q ssh://git@$LISTED/repo /tmp/clone
try commit git -C /tmp/clone commit -q --allow-empty -m "From the sandbox"
try push git -C /tmp/clone push -q origin HEAD:refs/heads/pushed
try forwarding git -c core.sshCommand="ssh -A" -C /tmp/clone fetch -q
try user git clone -q ssh://alice@$LISTED/repo /tmp/alice
try server git clone -q ssh://git@$OTHER/repo /tmp/other
try list ssh-add -l
try add sh -c "ssh-keygen -q -t ed25519 -N '' -f /tmp/own && ssh-add /tmp/own"
try remove ssh-add -D
try sign sh -c "echo commit | ssh-keygen -Y sign -n git -f /tmp/key.pub"
try raw python3 raw.py
`})
	o := m.aibox(0, "run", "shell", "--inference", m.script("[[step]]\nsay = \"hi\"\n"), "--repo", repo, "--network", "allowlist",
		"--allow", listed.Name+":22,"+other.Name+":22", "--ssh-agent", "git@"+listed.Name, "--env", "LISTED="+listed.Name, "--env", "OTHER="+other.Name, "--", "sh", "tools.sh")
	lines := map[string]string{}
	for line := range strings.Lines(o.stdout) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		lines[name] = rest
	}
	for _, name := range []string{"clone", "commit", "push", "forwarding"} {
		if !strings.HasPrefix(lines[name], "exit 0") {
			t.Errorf("%s: %s", name, lines[name])
		}
	}
	if subject := m.exec("git", "-C", bare, "log", "-1", "--format=%s", "pushed"); subject.stdout != "From the sandbox\n" {
		t.Errorf("the push did not arrive: %s", subject)
	}
	for name, want := range map[string]string{
		"user": "Permission denied", "server": "Permission denied", "list": "no identities", "add": "", "remove": "", "sign": "",
	} {
		if strings.HasPrefix(lines[name], "exit 0") || lines[name] == "" || !strings.Contains(lines[name], want) {
			t.Errorf("%s: %s", name, lines[name])
		}
	}
	if !strings.Contains(lines["raw"], "answer 05") {
		t.Errorf("a request without a proof: %s", lines["raw"])
	}
	if users := listed.users(); len(users) != 3 || slices.Contains(users, "alice") {
		t.Errorf("%q have logged in to the listed server", users)
	}
	if users := other.users(); len(users) != 0 {
		t.Errorf("%q have logged in to the other server", users)
	}
	if strings.Contains(o.stdout, "canary-a7c3f1") {
		t.Error("the comment of the user's key is in the sandbox")
	}
	stored := m.stored()
	log := m.aibox(0, "audit", string(stored[len(stored)-1].ID)).stdout
	for _, want := range []string{"login as git", `the user "alice"`, "that of no server in the setting ssh-agent", "has not proved which SSH server"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	if t.Failed() {
		t.Log(o)
	}
}

func TestAnSSHAgentThatIsMissingIsReportedAtTheStart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	run := func(args ...string) string {
		return m.aibox(2, append([]string{"run", "shell", "--inference", m.script("[[step]]\nsay = \"hi\"\n"), "--repo", repo}, append(args, "--", "true")...)...).stderr
	}
	if text := run("--allow", "git.example.org:22", "--ssh-agent", "git@git.example.org"); !strings.Contains(text, "SSH_AUTH_SOCK is not set") {
		t.Error(text)
	}
	m.env = append(m.env, "SSH_AUTH_SOCK="+filepath.Join(m.home, "nobody"))
	if text := run("--allow", "git.example.org:22", "--ssh-agent", "git@git.example.org"); !strings.Contains(text, "does not answer") {
		t.Error(text)
	}
	m.sshAgent()
	if text := run("--allow", "git.example.org", "--ssh-agent", "git@git.example.org"); !strings.Contains(text, "--allow git.example.org:22") {
		t.Error(text)
	}
	if text := run("--allow", "git.example.org:22", "--ssh-agent", "git.example.org"); !strings.Contains(text, "is not USER@HOST") {
		t.Error(text)
	}
}
