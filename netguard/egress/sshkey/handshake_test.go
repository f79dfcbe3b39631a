package sshkey

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"aibox/netguard/egress/egresstest"
)

// packet returns a packet of SSH with this payload.
func packet(payload ...byte) []byte {
	padding := 8 - (5+len(payload))%8
	if padding < 4 {
		padding += 8
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(1+len(payload)+padding))
	return append(append(append(out, byte(padding)), payload...), make([]byte, padding)...)
}

func sshString(text []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

func offer(methods string) []byte {
	return packet(append(append([]byte{msgKexInit}, make([]byte, 16)...), sshString([]byte(methods))...)...)
}

func reply(kind byte, key ssh.PublicKey) []byte {
	return packet(append([]byte{kind}, sshString(key.Marshal())...)...)
}

// Attacks by which a server could hide a false key.
func TestAServerCannotHideItsKey(t *testing.T) {
	good, bad := newKey(t, ssh.KeyAlgoED25519).PublicKey(), newKey(t, ssh.KeyAlgoED25519).PublicKey()
	const line = "SSH-2.0-x\r\n"
	newKeys := packet(msgNewKeys)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, c := range map[string]struct {
		client, server []byte
		pass           bool
	}{
		"good":                          {offer("curve25519-sha256"), join(offer("curve25519-sha256"), reply(31, good), newKeys), true},
		"good group exchange":           {offer("diffie-hellman-group-exchange-sha256"), join(offer("diffie-hellman-group-exchange-sha256"), reply(31, bad), reply(33, good), newKeys), true},
		"messages between":              {offer("curve25519-sha256"), join(packet(msgIgnore, 1), offer("curve25519-sha256"), packet(msgDebug, 1), reply(31, good), newKeys), true},
		"bad":                           {offer("curve25519-sha256"), join(offer("curve25519-sha256"), reply(31, bad), newKeys), false},
		"no reply":                      {offer("curve25519-sha256"), join(offer("curve25519-sha256"), newKeys), false},
		"two replies":                   {offer("curve25519-sha256"), join(offer("curve25519-sha256"), reply(31, good), reply(31, bad), newKeys), false},
		"the same reply twice":          {offer("curve25519-sha256"), join(offer("curve25519-sha256"), reply(31, good), reply(31, good), newKeys), false},
		"key as a group":                {offer("diffie-hellman-group-exchange-sha256"), join(offer("diffie-hellman-group-exchange-sha256"), reply(31, good), reply(33, bad), newKeys), false},
		"key as a group, no reply":      {offer("diffie-hellman-group-exchange-sha256"), join(offer("diffie-hellman-group-exchange-sha256"), reply(31, good), newKeys), false},
		"reply of another method":       {offer("curve25519-sha256"), join(offer("curve25519-sha256"), reply(33, good), reply(31, bad), newKeys), false},
		"before the offers":             {nil, join(reply(31, good), offer("curve25519-sha256"), newKeys), false},
		"before the client's offer":     {nil, join(offer("curve25519-sha256"), reply(31, good), newKeys), false},
		"two offers":                    {offer("curve25519-sha256,diffie-hellman-group-exchange-sha256"), join(offer("diffie-hellman-group-exchange-sha256"), offer("curve25519-sha256"), reply(31, good), newKeys), false},
		"the server's order of methods": {offer("curve25519-sha256,diffie-hellman-group-exchange-sha256"), join(offer("diffie-hellman-group-exchange-sha256,curve25519-sha256"), reply(33, good), newKeys), false},
		"unknown method":                {offer("gss-group14-sha256-x"), join(offer("gss-group14-sha256-x"), reply(31, good), newKeys), false},
		"nothing in common":             {offer("curve25519-sha256"), join(offer("ecdh-sha2-nistp256"), reply(31, good), newKeys), false},
		"authentication in clear":       {offer("curve25519-sha256"), join(offer("curve25519-sha256"), packet(6, 0, 0, 0, 0)), false},
		"a cut key":                     {offer("curve25519-sha256"), join(offer("curve25519-sha256"), packet(31, 0, 0, 1, 0, 1)), false},
		"a key with a rest":             {offer("curve25519-sha256"), join(offer("curve25519-sha256"), packet(append([]byte{31}, sshString(append(good.Marshal(), 0))...)...)), false},
		"no payload":                    {offer("curve25519-sha256"), []byte{0, 0, 0, 12, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, false},
		"a huge packet":                 {offer("curve25519-sha256"), []byte{0x7f, 0xff, 0xff, 0xfc, 4, 1}, false},
		"not in blocks":                 {offer("curve25519-sha256"), []byte{0, 0, 0, 6, 4, 2, 0, 0, 0, 0}, false},
		"much before the offer":         {offer("curve25519-sha256"), bytes.Repeat(packet(append([]byte{msgIgnore}, make([]byte, 30<<10)...)...), 10), false},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			h := handshake{verify: func(key ssh.PublicKey) error {
				if !bytes.Equal(key.Marshal(), good.Marshal()) {
					return errors.New("not known")
				}
				return nil
			}}
			if err := h.fromClient(append([]byte(line), c.client...)); err != nil {
				t.Fatal(err)
			}
			var passed []byte
			var err error
			stream := append([]byte("welcome\r\n"+line), c.server...)
			for at := 0; at < len(stream) && err == nil; at += size {
				var pass []byte
				pass, err = h.fromServer(stream[at:min(at+size, len(stream))])
				passed = append(passed, pass...)
			}
			if h.server.done != c.pass || c.pass && (err != nil || !bytes.Equal(passed, stream)) || !c.pass && err == nil {
				t.Errorf("%s, in pieces of %d: %v", name, size, err)
			}
			if bytes.Contains(passed, newKeys) && !c.pass {
				t.Errorf("%s: the client could go on", name)
			}
		}
	}
}

func TestOnlySSHPasses(t *testing.T) {
	d := egresstest.Destination(t, "git.example.org:22")
	for _, c := range []struct{ client, server string }{
		{"GET / HTTP/1.1\r\nHost: git.example.org\r\n\r\n", ""},
		{"SSH-1.5-x\r\n", ""},
		{"SSH-2.0-" + strings.Repeat("x", 300), ""},
		{"SSH-2.0-" + strings.Repeat("x", 300) + "\r\n", ""},
		{"\x16\x03\x01", ""},
		{"SSH-2.0-x\r\n" + string(packet(50, 0, 0)), ""},
		{strings.Repeat("x\n", 5000), ""},
		{"", "HTTP/1.1 400 Bad Request\r\n" + strings.Repeat("secret\n", 2000)},
		{"", "SSH-1.5-x\r\n"},
		{"", strings.Repeat("x", 10<<10)},
		{"", "SSH-" + strings.Repeat("x", 300)},
		{"SSH-2.0-x\r\n", "SSH-2.0-x\r\nGET / HTTP/1.1\r\n\r\n"},
	} {
		near, far := net.Pipe()
		var refused []error
		var err error
		guarded := New().Guard(d, near, func(err error) { refused = append(refused, err) })
		server := make(chan []byte)
		go func() {
			if c.server != "" {
				go func() { _, _ = io.WriteString(far, c.server) }()
			}
			all, _ := io.ReadAll(far)
			server <- all
		}()
		if c.client != "" {
			_, err = io.WriteString(guarded, c.client)
			if c.server == "" && err == nil { // an incomplete line is held until it is too long
				_, err = io.WriteString(guarded, strings.Repeat("x", maxPreamble))
			}
		}
		received := ""
		if c.server != "" {
			var all []byte
			all, err = io.ReadAll(guarded)
			received = string(all)
		}
		_ = guarded.Close()
		sent := <-server
		if err == nil || len(refused) != 1 {
			t.Errorf("%.40q, %.40q: %v, %v", c.client, c.server, err, refused)
		}
		if strings.Contains(string(sent), "GET") || strings.Contains(string(sent), string(packet(50, 0, 0))) || strings.Contains(string(sent), strings.Repeat("x", 300)) || strings.Contains(received, "secret") || strings.Contains(received, "GET") {
			t.Errorf("%.40q passed as %.40q, %.40q as %.40q", c.client, sent, c.server, received)
		}
	}
}

// FuzzHandshake checks that nothing passes after the switch to new keys without a known
// host key, that bytes pass unchanged, and that the result does not depend on the pieces in
// which they arrive.
func FuzzHandshake(f *testing.F) {
	good := newKey(f, ssh.KeyAlgoED25519).PublicKey()
	client := append([]byte("SSH-2.0-c\r\n"), offer("curve25519-sha256,diffie-hellman-group-exchange-sha256")...)
	for _, server := range [][]byte{
		bytes.Join([][]byte{offer("curve25519-sha256"), reply(31, good), packet(msgNewKeys)}, nil),
		bytes.Join([][]byte{offer("diffie-hellman-group-exchange-sha256"), packet(31, 0, 0, 0, 1, 2, 0, 0, 0, 1, 2), reply(33, good), packet(msgNewKeys)}, nil),
		{},
		packet(msgIgnore),
		{0, 0, 0, 0, 0, 0},
	} {
		f.Add(client, append([]byte("hello\nSSH-2.0-s\r\n"), server...), 3)
	}
	f.Add([]byte("GET / HTTP/1.1\r\n"), []byte("HTTP/1.1 200 OK\r\n"), 1)
	f.Fuzz(func(t *testing.T, client, server []byte, size int) {
		size = max(1, size&0xfff)
		run := func(size int) (passed []byte, h *handshake, err error) {
			h = &handshake{verify: func(key ssh.PublicKey) error {
				if _, err := ssh.ParsePublicKey(key.Marshal()); err != nil {
					t.Fatal(err)
				}
				return nil
			}}
			if err := h.fromClient(client); err == nil && !bytes.HasPrefix(client, h.client.take()) {
				t.Fatal("what passes to the server is not what the client sent")
			}
			for at := 0; at < len(server); at += size {
				var pass []byte
				if pass, err = h.fromServer(server[at:min(at+size, len(server))]); err != nil {
					break
				}
				passed = append(passed, pass...)
				if h.server.done {
					passed = append(passed, server[min(at+size, len(server)):]...)
					break
				}
			}
			return passed, h, err
		}
		passed, h, err := run(size)
		if !bytes.HasPrefix(server, passed) {
			t.Fatal("what passes to the client is not what the server sent")
		}
		if h.server.done && (!h.verified || h.client.kex == nil) {
			t.Fatal("the keys are in use, and none was checked")
		}
		again, h2, err2 := run(1 << 20)
		if (err == nil) != (err2 == nil) || h.server.done != h2.server.done || err == nil && !bytes.Equal(passed, again) {
			t.Fatalf("in pieces of %d: %v, %d bytes; at once: %v, %d bytes", size, err, len(passed), err2, len(again))
		}
	})
}
