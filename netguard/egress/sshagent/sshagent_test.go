package sshagent

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"aibox/netguard"
)

func newSigner(t testing.TB) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer, key
}

// event is what an agent records.
type event struct {
	to            netguard.Destination
	what, refusal string
}

// world is an Agent between a sandbox and a user's ssh-agent with one key.
type world struct {
	t       testing.TB
	agent   *Agent
	key     ssh.Signer // of the user
	keyring agent.Agent
	git     ssh.Signer // the host key of git.example.org
	other   ssh.Signer // the host key of a known server without a listed login

	unreachable map[string]string // why the session may not reach a server

	mu     sync.Mutex
	events []event
}

// secretComment is the comment of the user's key.
const secretComment = "alice@laptop.internal"

func newWorld(t testing.TB, logins ...string) *world {
	t.Helper()
	w := &world{t: t, keyring: agent.NewKeyring()}
	var private ed25519.PrivateKey
	w.key, private = newSigner(t)
	w.git, _ = newSigner(t)
	w.other, _ = newSigner(t)
	if err := w.keyring.Add(agent.AddedKey{PrivateKey: private, Comment: secretComment}); err != nil {
		t.Fatal(err)
	}
	var parsed []netguard.SSHLogin
	for _, text := range logins {
		login, err := netguard.ParseSSHLogin(text)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, login)
	}
	known := map[string][]byte{"git.example.org:22": w.git.PublicKey().Marshal(), "other.example.org:22": w.other.PublicKey().Marshal()}
	w.agent = New(parsed, func(d netguard.Destination, key ssh.PublicKey) error {
		if !bytes.Equal(known[d.String()], key.Marshal()) {
			return errors.New("not known")
		}
		return nil
	}, func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() { _ = agent.ServeAgent(w.keyring, theirs) }()
		return ours, nil
	})
	return w
}

// connect returns a connection of the sandbox.
func (w *world) connect() net.Conn {
	w.t.Helper()
	inside, outside := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.agent.Serve(context.Background(), outside, func(d netguard.Destination) string { return w.unreachable[d.String()] }, func(to netguard.Destination, what, refusal string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, event{to, what, refusal})
		})
	}()
	w.t.Cleanup(func() { _ = inside.Close(); <-done })
	_ = inside.SetDeadline(time.Now().Add(time.Minute))
	return inside
}

// last returns the last event.
func (w *world) last() event {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == 0 {
		return event{}
	}
	return w.events[len(w.events)-1]
}

// request sends a message and returns the response.
func (w *world) request(conn net.Conn, message []byte) []byte {
	w.t.Helper()
	if err := writeMessage(conn, message); err != nil {
		w.t.Fatal(err)
	}
	response, err := readMessage(conn)
	if err != nil {
		w.t.Fatal(err)
	}
	return response
}

// session is a session identifier, named by text.
func session(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// proof is a client's proof of a connection, signed by the server with this key.
func proof(t testing.TB, host, signer ssh.Signer, signed, id []byte, forwarding bool) []byte {
	t.Helper()
	signature, err := signer.Sign(rand.Reader, signed)
	if err != nil {
		t.Fatal(err)
	}
	return ssh.Marshal(struct {
		Name                      string `sshtype:"27"`
		Key, SessionID, Signature []byte
		Forwarding                bool
	}{extensionBinding, host.PublicKey().Marshal(), id, ssh.Marshal(signature), forwarding})
}

// bind proves a connection to the server with this key.
func (w *world) bind(conn net.Conn, server ssh.Signer, id []byte) bool {
	w.t.Helper()
	return w.request(conn, proof(w.t, server, server, id, id, false))[0] == msgSuccess
}

// login is the data that a client signs to log in.
type login struct {
	SessionID             []byte
	Message               byte
	User, Service, Method string
	Signed                bool
	Algorithm             string
	Key                   []byte
	Rest                  []byte `ssh:"rest"`
}

func (w *world) login(id []byte, change func(*login)) []byte {
	l := login{id, 50, "git", "ssh-connection", "publickey", true, ssh.KeyAlgoED25519, w.key.PublicKey().Marshal(), nil}
	if change != nil {
		change(&l)
	}
	return ssh.Marshal(l)
}

// sign requests a signature of data with the user's key.
func (w *world) sign(conn net.Conn, data []byte) []byte {
	w.t.Helper()
	return w.request(conn, ssh.Marshal(struct {
		Key   []byte `sshtype:"13"`
		Data  []byte
		Flags uint32
	}{w.key.PublicKey().Marshal(), data, 0}))
}

func TestALoginToAListedServerIsSigned(t *testing.T) {
	w := newWorld(t, "git@git.example.org")
	for _, method := range []string{"publickey", "publickey-hostbound-v00@openssh.com"} {
		conn, id := w.connect(), session(method)
		if !w.bind(conn, w.git, id) {
			t.Fatal(w.last())
		}
		data := w.login(id, func(l *login) {
			if l.Method = method; method != "publickey" {
				l.Rest = ssh.Marshal(struct{ Key []byte }{w.git.PublicKey().Marshal()})
			}
		})
		response := w.sign(conn, data)
		var signed struct {
			Signature []byte `sshtype:"14"`
		}
		var signature ssh.Signature
		if err := errors.Join(ssh.Unmarshal(response, &signed), ssh.Unmarshal(signed.Signature, &signature), w.key.PublicKey().Verify(data, &signature)); err != nil {
			t.Errorf("%s: %v, %v", method, err, w.last())
		}
		if e := w.last(); e.refusal != "" || e.what != "login as git" || e.to.String() != "git.example.org:22" {
			t.Errorf("%s: recorded %v", method, e)
		}
	}
}

// Whatever a program in the sandbox sends, it gets signatures only for listed logins.
func TestNothingElseIsSigned(t *testing.T) {
	id, other := session("one"), session("other")
	for name, c := range map[string]struct {
		bind func(w *world) []byte // the proof; nil for none
		data func(w *world) []byte // the data to sign; nil for the login
		want string
	}{
		"no proof":                    {nil, nil, "has not proved"},
		"a server that is not listed": {func(w *world) []byte { return proof(w.t, w.other, w.other, id, id, false) }, nil, "of no server in the setting"},
		"a server of the sandbox's own": {func(w *world) []byte {
			own, _ := newSigner(w.t)
			return proof(w.t, own, own, id, id, false)
		}, nil, "of no server in the setting"},
		"a proof that the server did not sign": {func(w *world) []byte { return proof(w.t, w.git, w.other, id, id, false) }, nil, "has not signed the session"},
		"a proof of another session":           {func(w *world) []byte { return proof(w.t, w.git, w.git, other, id, false) }, nil, "has not signed the session"},
		"a forwarded agent":                    {func(w *world) []byte { return proof(w.t, w.git, w.git, id, id, true) }, nil, "cannot be forwarded"},
		"a session that is no hash": {func(w *world) []byte {
			long := []byte(strings.Repeat("hostkeys-prove", 5))
			return proof(w.t, w.git, w.git, long, long, false)
		}, nil, "has not signed the session"},
		"a proof with more behind it": {func(w *world) []byte { return append(proof(w.t, w.git, w.git, id, id, false), 0) }, nil, "cannot be read"},
		"a login of another session":  {gitProof(id), func(w *world) []byte { return w.login(other, nil) }, "on another connection"},
		"another user":                {gitProof(id), func(w *world) []byte { return w.login(id, func(l *login) { l.User = "alice" }) }, `the user "alice", and the setting ssh-agent has git@`},
		"another service":             {gitProof(id), func(w *world) []byte { return w.login(id, func(l *login) { l.Service = "ssh-userauth" }) }, "nothing but logins"},
		"another message":             {gitProof(id), func(w *world) []byte { return w.login(id, func(l *login) { l.Message = 90 }) }, "nothing but logins"},
		"a login without a signature": {gitProof(id), func(w *world) []byte { return w.login(id, func(l *login) { l.Signed = false }) }, "nothing but logins"},
		"another method":              {gitProof(id), func(w *world) []byte { return w.login(id, func(l *login) { l.Method = "hostbased" }) }, "nothing but logins"},
		"another key in the login": {gitProof(id), func(w *world) []byte {
			return w.login(id, func(l *login) { l.Key = w.other.PublicKey().Marshal() })
		}, "another key"},
		"more behind the login": {gitProof(id), func(w *world) []byte { return append(w.login(id, nil), "more"...) }, "nothing but logins"},
		"bound to another host": {gitProof(id), func(w *world) []byte {
			return w.login(id, func(l *login) {
				l.Method, l.Rest = "publickey-hostbound-v00@openssh.com", ssh.Marshal(struct{ Key []byte }{w.other.PublicKey().Marshal()})
			})
		}, "nothing but logins"},
		"bound to no host": {gitProof(id), func(w *world) []byte {
			return w.login(id, func(l *login) { l.Method = "publickey-hostbound-v00@openssh.com" })
		}, "nothing but logins"},
		"a Git commit": {gitProof(id), func(*world) []byte { return []byte("SSHSIG\x00\x00\x00\x03git\x00\x00\x00\x00\x00\x00\x00\x06sha512") }, "nothing but logins"},
		"nothing":      {gitProof(id), func(*world) []byte { return nil }, "nothing but logins"},
		"any data":     {gitProof(id), func(*world) []byte { return []byte(strings.Repeat("x", 1000)) }, "nothing but logins"},
	} {
		w := newWorld(t, "git@git.example.org")
		conn := w.connect()
		if c.bind != nil {
			if bound := w.request(conn, c.bind(w))[0] == msgSuccess; bound != (c.data != nil) {
				t.Errorf("%s: bound %v", name, bound)
			}
			if reason := w.last().refusal; c.data == nil && !strings.Contains(reason, c.want) {
				t.Errorf("%s: the proof was refused because %q", name, reason)
			}
		}
		data := w.login(id, nil)
		if c.data != nil {
			data = c.data(w)
		}
		if response := w.sign(conn, data); !bytes.Equal(response, []byte{msgFailure}) {
			t.Errorf("%s: the response is %q", name, response)
		}
		if reason := w.last().refusal; (c.data != nil || c.bind == nil) && !strings.Contains(reason, c.want) {
			t.Errorf("%s: refused because %q", name, reason)
		}
	}
}

func gitProof(id []byte) func(*world) []byte {
	return func(w *world) []byte { return proof(w.t, w.git, w.git, id, id, false) }
}

func TestNoLoginIsSignedToAServerThatTheSessionMayNotReach(t *testing.T) {
	w := newWorld(t, "git@git.example.org")
	conn, id := w.connect(), session("git")
	w.bind(conn, w.git, id)
	for _, refusal := range []string{"", "an entry of the deny list names it", ""} { // the policy changes
		w.unreachable = map[string]string{"git.example.org:22": refusal}
		response := w.sign(conn, w.login(id, nil))
		if signed := response[0] == msgSignature; signed != (refusal == "") || !strings.HasSuffix(w.last().refusal, refusal) || w.last().to.String() != "git.example.org:22" {
			t.Errorf("unreachable because %q: %q, %v", refusal, response, w.last())
		}
	}
}

func TestAConnectionIsForOneServer(t *testing.T) {
	w := newWorld(t, "git@git.example.org", "alice@other.example.org")
	conn, first, second := w.connect(), session("first"), session("second")
	if !w.bind(conn, w.git, first) || w.bind(conn, w.other, second) || w.bind(conn, w.git, first) {
		t.Error(w.last())
	}
	if response := w.sign(conn, w.login(second, func(l *login) { l.User = "alice" })); response[0] != msgFailure {
		t.Error("a login to the second server is signed")
	}
	conn = w.connect()
	if w.request(conn, proof(t, w.git, w.other, first, first, false))[0] == msgSuccess || w.bind(conn, w.git, first) {
		t.Error("a second proof is accepted after a false one")
	}
	// A user of one server is not a user of another.
	conn = w.connect()
	if !w.bind(conn, w.other, first) || w.sign(conn, w.login(first, nil))[0] != msgFailure {
		t.Error("git can log in to the server of alice")
	}
}

func TestKeysAreListedOnlyForAListedServerAndWithoutComments(t *testing.T) {
	w := newWorld(t, "git@git.example.org")
	if keys, err := agent.NewClient(w.connect()).List(); err != nil || len(keys) != 0 {
		t.Errorf("without a proof: %v, %v", keys, err)
	}
	conn := w.connect()
	w.bind(conn, w.other, session("other"))
	if keys, err := agent.NewClient(conn).List(); err != nil || len(keys) != 0 {
		t.Errorf("for another server: %v, %v", keys, err)
	}
	conn = w.connect()
	w.bind(conn, w.git, session("git"))
	keys, err := agent.NewClient(conn).List()
	if err != nil || len(keys) != 1 || !bytes.Equal(keys[0].Blob, w.key.PublicKey().Marshal()) || keys[0].Comment != "" {
		t.Errorf("for the listed server: %v, %v", keys, err)
	}
}

// The keys of the user's agent cannot be changed, removed or locked.
func TestNoOtherMessageReachesTheUsersAgent(t *testing.T) {
	w := newWorld(t, "git@git.example.org")
	conn := w.connect()
	w.bind(conn, w.git, session("git"))
	_, private := newSigner(t)
	client := agent.NewClient(conn)
	for name, err := range map[string]error{
		"add": client.Add(agent.AddedKey{PrivateKey: private}), "remove": client.Remove(w.key.PublicKey()), "remove all": client.RemoveAll(),
		"lock": client.Lock([]byte("x")), "unlock": client.Unlock([]byte("x")),
	} {
		if err == nil {
			t.Errorf("%s passes", name)
		}
	}
	conn = w.connect() // the client reads ahead on the other one
	w.bind(conn, w.git, session("git"))
	for message := range 256 {
		if message != msgListKeys && message != msgSign && message != msgExtension {
			if response := w.request(conn, []byte{byte(message), 0, 0, 0, 0}); !bytes.Equal(response, []byte{msgFailure}) {
				t.Errorf("message %d: %q", message, response)
			}
		}
	}
	if response := w.request(conn, ssh.Marshal(struct {
		Name string `sshtype:"27"`
	}{"query"})); !bytes.Equal(response, []byte{msgFailure}) {
		t.Errorf("another extension: %q", response)
	}
	renamed := bytes.Replace(proof(t, w.git, w.git, session("git"), session("git"), false), []byte(extensionBinding), []byte("session-bind@openssh.org"), 1)
	if response := w.request(w.connect(), renamed); !bytes.Equal(response, []byte{msgFailure}) {
		t.Errorf("an extension of another name: %q", response)
	}
	if keys, err := w.keyring.List(); err != nil || len(keys) != 1 {
		t.Errorf("the user's agent has %v, %v", keys, err)
	}
}

func TestConnectionsToTheAgentAreLimited(t *testing.T) {
	w := newWorld(t, "git@git.example.org")
	for range maxConnections {
		w.request(w.connect(), []byte{msgListKeys}) // it is served now
	}
	if err := writeMessage(w.connect(), []byte{msgListKeys}); err == nil {
		t.Error("one more is served")
	}
	if !strings.Contains(w.last().refusal, "limit") {
		t.Error(w.last())
	}
}

func TestAnAgentThatCannotBeReachedIsReported(t *testing.T) {
	w := newWorld(t, "git@git.example.org")
	w.agent.connect = func(context.Context) (net.Conn, error) { return nil, errors.New("no such socket") }
	conn := w.connect()
	w.bind(conn, w.git, session("git"))
	if response := w.sign(conn, w.login(session("git"), nil)); response[0] != msgFailure {
		t.Errorf("%q", response)
	}
	if first := fmt.Sprint(w.events); !strings.Contains(first, "no such socket") {
		t.Error(first)
	}
}

func TestARefusalOfTheUsersAgentIsRecorded(t *testing.T) {
	w := newWorld(t, "git@git.example.org")
	if err := w.keyring.Lock([]byte("x")); err != nil {
		t.Fatal(err)
	}
	conn := w.connect()
	w.bind(conn, w.git, session("git"))
	if response := w.sign(conn, w.login(session("git"), nil)); response[0] != msgFailure || !strings.Contains(w.last().refusal, "has not signed") {
		t.Errorf("%q, %v", response, w.last())
	}
}

// Restrictions of the user's keys (ssh-add -h) apply, too: the user's agent receives the
// proof before anything else.
func TestTheUsersAgentReceivesTheProof(t *testing.T) {
	w := newWorld(t, "git@git.example.org")
	received := make(chan []byte, 10)
	w.agent.connect = func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			for {
				message, err := readMessage(theirs)
				if err != nil {
					return
				}
				received <- message
				_ = writeMessage(theirs, []byte{msgFailure})
			}
		}()
		return ours, nil
	}
	conn, id := w.connect(), session("git")
	unknown := ssh.Marshal(struct {
		Name string `sshtype:"27"`
	}{"query"})
	if response := w.request(conn, unknown); response[0] != msgFailure { // before the proof, which remains valid
		t.Errorf("%q", response)
	}
	sent := proof(t, w.git, w.git, id, id, false)
	if response := w.request(conn, sent); response[0] != msgSuccess {
		t.Errorf("%q, %v", response, w.last())
	}
	w.sign(conn, w.login(id, nil))
	if len(received) != 2 {
		t.Fatalf("%d messages have arrived", len(received))
	}
	if first := <-received; !bytes.Equal(first, sent) {
		t.Errorf("the first message is %q", first)
	}
	if second := <-received; second[0] != msgSign {
		t.Errorf("the second message is %q", second)
	}
}

func TestALongMessageEndsTheConnection(t *testing.T) {
	w := newWorld(t, "git@git.example.org")
	for _, length := range [][]byte{{0, 4, 0, 1}, {0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 0}} {
		conn := w.connect()
		if _, err := conn.Write(length); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%x: %d, %v", length, n, err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	w := newWorld(f, "git@git.example.org")
	id := session("one")
	f.Add(proof(f, w.git, w.git, id, id, false))
	f.Add(w.login(id, nil))
	f.Add([]byte{msgListKeys})
	f.Fuzz(func(t *testing.T, message []byte) {
		if len(message) == 0 || len(message) > maxMessage {
			return
		}
		w := newWorld(t, "git@git.example.org")
		conn := w.connect()
		if response := w.request(conn, message); response[0] == msgSignature || response[0] == msgSuccess {
			t.Errorf("%q: %q", message, response)
		}
		w.bind(conn, w.git, id)
		if response := w.sign(conn, message); response[0] == msgSignature {
			t.Errorf("%q is signed", message)
		}
	})
}
