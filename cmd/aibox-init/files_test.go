package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/files"
	"aibox/internal/lifeline"
)

// openFiles returns a client of the files of a started init.
func openFiles(t *testing.T, p *peer, listener net.Listener, user string) *files.Client {
	token := bytes.Repeat([]byte{7}, lifeline.TokenSize)
	return files.NewClient(func(context.Context) (io.ReadWriteCloser, error) {
		if err := p.SendMessage(lifeline.TypeOpenFiles, lifeline.OpenFiles{ID: 1, User: user, Token: token}); err != nil {
			return nil, err
		}
		conn, err := listener.Accept()
		if err != nil {
			return nil, err
		}
		sent := make([]byte, lifeline.TokenSize)
		if _, err := io.ReadFull(conn, sent); err != nil || !bytes.Equal(sent, token) {
			t.Errorf("the token %x: %v", sent, err)
		}
		return conn, nil
	}, user)
}

func TestFilesAreServedByAProcessOfTheirOwn(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := peerOn(t, listener)
	c := openFiles(t, p, listener, "")
	path := files.Path(t.TempDir() + "/file")
	if _, err := c.Write(t.Context(), path, strings.NewReader("text"), files.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	e, err := c.Stat(t.Context(), "/proc/self", false)
	if err != nil || e.Target == files.Path(strconv.Itoa(p.init.Process.Pid)) {
		t.Errorf("init itself serves files: %+v, %v", e, err)
	}
	// A process that was killed is replaced.
	server, _ := strconv.Atoi(string(e.Target))
	if err := unix.Kill(server, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for err = io.EOF; err != nil; {
		_, err = c.Stat(t.Context(), path, false) // the process may not have ended yet
	}
	p.start(shell("sleep 0.1; exit 3"))
	if o := p.finish(nil); o.exit.Code != 3 || o.exit.Left {
		t.Errorf("the agent's exit is %+v", o.exit)
	}
	if _, err := os.ReadFile(string(path)); err != nil {
		t.Error(err)
	}
}

func TestUnknownUserOfFilesIsRefused(t *testing.T) {
	p := newPeer(t)
	if err := p.SendMessage(lifeline.TypeOpenFiles, lifeline.OpenFiles{ID: 5, User: "no such user"}); err != nil {
		t.Fatal(err)
	}
	f, err := p.Receive()
	if err != nil || f.Type != lifeline.TypeDialFailed {
		t.Fatalf("%#x, %v", f.Type, err)
	}
	if failed := decode[lifeline.DialFailed](t, f); failed.ID != 5 || !failed.Refused || !strings.Contains(failed.Error, "no user") {
		t.Errorf("%+v", failed)
	}
}

// The agent can stop the process. Nothing then takes the connections, and init must neither wait
// for it nor keep from ending.
func TestAStoppedProcessForFilesIsReplaced(t *testing.T) {
	r := newReaper()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGCHLD)
	defer signal.Stop(signals)
	go r.run(signals)
	stopped, err := startHelper(r, unix.SOCK_SEQPACKET, nil, filesCommand, "", "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(stopped.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	raw, err := stopped.conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for full := error(nil); full == nil; {
		if err := raw.Control(func(fd uintptr) { full = unix.Sendmsg(int(fd), []byte{0}, nil, nil, unix.MSG_DONTWAIT) }); err != nil {
			t.Fatal(err)
		}
	}
	servers := newFileServers(r, nil)
	servers.all = []*fileServer{{helper: stopped}}
	defer servers.end()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := servers.pass(conn.(*net.TCPConn), nil); err != nil || len(servers.all) != 1 || servers.all[0].pid == stopped.pid {
		t.Errorf("%+v, %v", servers.all, err)
	}
}
