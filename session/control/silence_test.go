package control

import (
	"bufio"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"aibox/session/process"
)

// A caller can wait for a pager or a terminal that takes no output. That is no silence of the
// supervisor, which sends frames all the time.
func TestATimeInWhichTheCallerDoesNotReadIsNoSilence(t *testing.T) {
	for name, open := range map[string]func(conn net.Conn) (next func() error){
		"process": func(conn net.Conn) func() error {
			r := Client{timeout: AnswerTimeout}.newProcessReader(conn, 1)
			return func() error { _, err := r.Next(); return err }
		},
		"terminal": func(conn net.Conn) func() error {
			a := &Attachment{conn: conn, in: FrameReader{bufio.NewReader(conn), maxFrame}}
			a.startTimeout(Heartbeat + Attempts*AnswerTimeout)
			return func() error { _, err := a.Next(); return err }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, supervisor := net.Pipe()
				defer client.Close()
				defer supervisor.Close()
				send := func(seq uint64) { // an error also fails the read
					if name == "terminal" {
						_ = WriteFrame(supervisor, FrameNotice, []byte("notice"))
						return
					}
					_, _ = supervisor.Write(process.Frame{Kind: process.Stdout, Seq: seq, Data: []byte("output")}.Append(nil))
				}
				next := open(client)
				for seq := range uint64(3) {
					time.Sleep(time.Hour) // of a bubble's clock
					go send(seq + 1)
					if err := next(); err != nil {
						t.Fatalf("after frame %d: %v", seq, err)
					}
				}
				begin := time.Now()
				if err := next(); !errors.Is(err, ErrTimeout) || time.Since(begin) != Heartbeat+Attempts*AnswerTimeout {
					t.Errorf("a silent supervisor: %v after %v", err, time.Since(begin))
				}
			})
		})
	}
}
