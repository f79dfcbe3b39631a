package supervisor

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/session/process"
	"aibox/session/snapshot"
)

// accepting is the result for a sandbox whose first connection sends the hello.
func accepting(t *testing.T, s *sandbox, hello lifeline.Hello) error {
	t.Helper()
	listener := lineListener(t)
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	inside := lifeline.NewConn(conn)
	defer inside.Close()
	hello.Version = lifeline.Version
	if err := inside.SendMessage(lifeline.TypeHello, hello); err != nil {
		t.Fatal(err)
	}
	line, _, err := s.acceptLine(t.Context(), listener)
	if line != nil {
		_ = line.Close()
	}
	return err
}

func TestOnlyPID1OfTheSnapshotIsAccepted(t *testing.T) {
	proof := bytes.Repeat([]byte{1}, lifeline.ProofSize)
	of := func(proof []byte) *sandbox {
		return &sandbox{restored: &snapshot.Opened{Snapshot: snapshot.Snapshot{Proof: proof}}}
	}
	if err := accepting(t, of(proof), lifeline.Hello{Proof: proof}); err != nil {
		t.Error(err)
	}
	if err := accepting(t, new(sandbox), lifeline.Hello{}); err != nil {
		t.Errorf("one that was started: %v", err)
	}
	for name, test := range map[string]struct {
		s     *sandbox
		proof []byte
	}{
		"one that was started in place of a restored one": {of(proof), nil},
		"another proof":                         {of(proof), bytes.Repeat([]byte{2}, lifeline.ProofSize)},
		"half a proof":                          {of(proof), proof[:lifeline.ProofSize/2]},
		"a snapshot without a proof":            {of(nil), nil},
		"a snapshot with an empty proof":        {of([]byte{}), []byte{}},
		"a restored one in place of a new one":  {new(sandbox), proof},
		"a snapshot with a proof that is short": {of(proof[:3]), proof[:3]},
	} {
		if err := accepting(t, test.s, lifeline.Hello{Proof: test.proof}); fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyProcessesThatRunInTheRestoredSandboxAreListed(t *testing.T) {
	a, b := net.Pipe()
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	line := lifeline.NewConn(a)
	ps := newProcesses(&sandbox{preparation: &preparation{modelWatch: &modelWatch{run: &run{dir: t.TempDir()}}}})
	stored := []snapshot.Process{
		{Flow: 3, Request: process.Request{Linger: time.Nanosecond, Keep: process.DefaultKeep}, Info: process.Info{ID: 2, PID: 7, Argv: []string{"a"}, Output: 100}},
		{Flow: 4, Request: process.Request{Keep: process.DefaultKeep}, Info: process.Info{ID: 9, PID: 8, Argv: []string{"b"}}},
	}
	if n := ps.adopt(line, stored, map[uint32]*lifeline.Flow{3: line.OpenFlow(3)}); n != 1 {
		t.Errorf("%d processes were adopted", n)
	}
	all := ps.List()
	if len(all) != 1 || all[0].ID != 2 || all[0].PID != 7 || all[0].Output != 0 || !all[0].Ended.IsZero() {
		t.Errorf("%+v", all)
	}
	ps.put(t, 3, "hello")
	reader, err := ps.Read(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if frame, err := reader.Next(context.Background()); err != nil || frame.Seq != 1 || string(frame.Data) != "hello" {
		t.Errorf("%+v, %v", frame, err)
	}
	if ps.last != 9 {
		t.Errorf("the next process has the number %d", ps.last+1)
	}
}

// put adds output of a process.
func (ps *processes) put(t *testing.T, flow uint32, text string) {
	t.Helper()
	p := ps.byFlow(flow)
	if p == nil {
		t.Fatal("the process is not known")
	}
	p.put(processOutput{bytes: []byte(text)})
}
