package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"aibox/internal/lifeline"
)

var proof = bytes.Repeat([]byte{7}, lifeline.ProofSize)

// freezable is the supervisor of an idle sandbox. Its listener stays open.
func freezable(t *testing.T) (*peer, net.Listener) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	p := peerOn(t, listener)
	if _, err := p.StartIdle(t.Context(), lifeline.Start{Env: []string{"KEY=old", "GONE=x"}}); err != nil {
		t.Fatal(err)
	}
	return p, listener
}

// printed collects the lines that a process prints.
type printed struct {
	flow *lifeline.Flow
	rest []byte
	all  []string
}

// run starts a shell script in the sandbox.
func (p *peer) run(script string, stdin bool) *printed {
	p.t.Helper()
	flow := p.NewFlow()
	if err := p.SendMessage(lifeline.TypeProcess, lifeline.Process{ID: flow.ID, Argv: []string{"sh", "-c", script}, Stdin: stdin}); err != nil {
		p.t.Fatal(err)
	}
	return &printed{flow: flow}
}

// await receives frames until done returns true, and returns the last one.
func (p *peer) await(done func(lifeline.Frame) bool, outputs ...*printed) lifeline.Frame {
	p.t.Helper()
	timer := time.AfterFunc(time.Minute, func() { _ = p.Close() })
	defer timer.Stop()
	for {
		f, err := p.Receive()
		if err != nil {
			p.t.Fatalf("the lifeline ended: %v", err)
		}
		if f.Type == lifeline.TypeData {
			data, err := lifeline.ParseData(f.Payload)
			if err != nil {
				p.t.Fatal(err)
			}
			for _, o := range outputs {
				if o.flow.ID == data.Flow {
					o.take(data.Bytes)
				}
			}
		}
		if done(f) {
			return f
		}
	}
}

func (l *printed) take(data []byte) {
	_ = l.flow.Acknowledge(len(data))
	l.rest = append(l.rest, data...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return
		}
		l.all, l.rest = append(l.all, string(line)), rest
	}
}

// has waits until a process has printed n more lines.
func (p *peer) has(n int, l *printed) {
	p.t.Helper()
	n += len(l.all)
	p.await(func(lifeline.Frame) bool { return len(l.all) >= n }, l)
}

func ofType(t lifeline.Type) func(lifeline.Frame) bool {
	return func(f lifeline.Frame) bool { return f.Type == t }
}

// freeze stops the processes.
func (p *peer) freeze(outputs ...*printed) lifeline.Frozen {
	p.t.Helper()
	if err := p.SendMessage(lifeline.TypeFreeze, lifeline.Freeze{Proof: proof}); err != nil {
		p.t.Fatal(err)
	}
	return decode[lifeline.Frozen](p.t, p.await(ofType(lifeline.TypeFrozen), outputs...))
}

func (p *peer) thaw() {
	p.t.Helper()
	if err := p.Send(lifeline.Frame{Type: lifeline.TypeThaw}); err != nil {
		p.t.Fatal(err)
	}
}

// reconnect ends the lifeline, as in a restored sandbox, and accepts the next one.
func (p *peer) reconnect(listener net.Listener) *peer {
	p.t.Helper()
	_ = p.Close()
	conn, err := listener.Accept()
	if err != nil {
		p.t.Fatal(err)
	}
	again := &peer{Conn: lifeline.NewConn(conn), t: p.t, init: p.init}
	p.t.Cleanup(func() { _ = again.Close() })
	hello, err := again.Hello(context.Background())
	if err != nil || !bytes.Equal(hello.Proof, proof) {
		p.t.Fatalf("%+v, %v", hello, err)
	}
	return again
}

const counter = `n=0; while :; do n=$((n+1)); echo $n; sleep 0.01; done`

// consecutive reports whether lines are consecutive numbers.
func consecutive(all []string) error {
	for i := 1; i < len(all); i++ {
		last, err := strconv.Atoi(all[i-1])
		now, nowErr := strconv.Atoi(all[i])
		if err := errors.Join(err, nowErr); err != nil || now != last+1 {
			return fmt.Errorf("%s follows %s: %w", all[i], all[i-1], err)
		}
	}
	return nil
}

func TestAFrozenSandboxStopsAndThenContinues(t *testing.T) {
	p, _ := freezable(t)
	counts := p.run(counter, false)
	p.has(3, counts)
	if f := p.freeze(counts); f.Error != "" {
		t.Fatal(f.Error)
	}
	if ids := stateOfDescendants(p.init.Process.Pid); strings.Contains(ids, "running") {
		t.Errorf("frozen: %s", ids)
	}
	p.run("echo first", false) // the ready launcher takes it, but is stopped
	mark := filepath.Join(t.TempDir(), "late")
	late := p.run("touch "+mark+"; echo late", false)
	if err := p.Send(lifeline.Frame{Type: lifeline.TypeListPorts}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); { // by then it would have run
		if f := p.freeze(counts, late); f.Error == "" {
			t.Fatal("a second freeze was done")
		}
	}
	if _, err := os.Stat(mark); err == nil || len(late.all) > 0 {
		t.Error("a process was started in a frozen sandbox")
	}
	p.thaw()
	p.await(func(lifeline.Frame) bool { return len(late.all) > 0 && len(counts.all) > 10 }, late, counts)
	if err := consecutive(counts.all); err != nil {
		t.Error(err)
	}
}

// A supervisor whose client has disconnected sends both at once.
func TestAThawThatFollowsAFreezeAtOnceEndsIt(t *testing.T) {
	p, _ := freezable(t)
	counts := p.run(counter, false)
	p.has(1, counts)
	for range 50 {
		if err := p.SendMessage(lifeline.TypeFreeze, lifeline.Freeze{Proof: proof}); err != nil {
			t.Fatal(err)
		}
		p.thaw()
		if f := decode[lifeline.Frozen](t, p.await(ofType(lifeline.TypeFrozen), counts)); f.Error != "" {
			t.Fatalf("the freeze before is not over: %s", f.Error)
		}
	}
	p.has(3, counts)
}

// stateOfDescendants describes the processes below pid.
func stateOfDescendants(pid int) string {
	var text strings.Builder
	for _, id := range descendants(pid) {
		state, alive := stateOf(id)
		switch {
		case !alive:
		case state != canRun:
			fmt.Fprintf(&text, "%d stopped ", id)
		default:
			fmt.Fprintf(&text, "%d running ", id)
		}
	}
	return text.String()
}

func TestARestoredSandboxContinuesForItsNewSupervisor(t *testing.T) {
	p, listener := freezable(t)
	counts, echo := p.run(counter, false), p.run(`while read line; do echo "got $line"; done`, true)
	p.has(3, counts)
	if f := p.freeze(counts); f.Error != "" {
		t.Fatal(f.Error)
	}
	ended := p.NewFlow().ID // a process that has ended
	p = p.reconnect(listener)
	if ids := stateOfDescendants(p.init.Process.Pid); strings.Contains(ids, "running") {
		t.Errorf("before it has its identity: %s", ids)
	}
	restore := lifeline.Restore{Env: []string{"KEY=new"}, Unset: []string{"GONE"}}
	restored, flows, err := p.Restore(t.Context(), restore, []uint32{counts.flow.ID, echo.flow.ID, ended})
	if err != nil || len(flows) != 2 || flows[ended] != nil || restored.Last < echo.flow.ID {
		t.Fatalf("%+v, %v, %v", restored, flows, err)
	}
	counts, echo = &printed{flow: flows[counts.flow.ID]}, &printed{flow: flows[echo.flow.ID]}
	if err := echo.flow.Send(t.Context(), lifeline.StreamStdin, []byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	p.await(func(lifeline.Frame) bool { return len(echo.all) > 0 && len(counts.all) > 10 }, echo, counts)
	if err := consecutive(counts.all[1:]); err != nil || echo.all[0] != "got hello" {
		t.Errorf("%v; %q", err, echo.all)
	}
	env := p.run(`echo "$KEY,$GONE"`, false)
	if env.flow.ID <= echo.flow.ID || env.flow.ID <= ended {
		t.Errorf("the id of a flow is used again: %d", env.flow.ID)
	}
	p.has(1, env)
	if env.all[0] != "new," {
		t.Errorf("the environment of a later process: %q", env.all)
	}
	if f := p.freeze(counts); f.Error != "" { // a restored sandbox can be stored again
		t.Error(f.Error)
	}
	p.thaw()
	p.has(3, counts)
}

func TestAProcessThatWasStoppedBeforeStaysSo(t *testing.T) {
	p, _ := freezable(t)
	stops, counts := p.run("echo a; kill -STOP $$; echo b", false), p.run(counter, false)
	p.await(func(lifeline.Frame) bool { return len(stops.all) > 0 && len(counts.all) > 20 }, stops, counts)
	p.freeze(counts)
	p.thaw()
	n := len(counts.all) + 20
	p.await(func(lifeline.Frame) bool { return len(counts.all) > n }, stops, counts)
	if len(stops.all) != 1 {
		t.Errorf("it printed %q", stops.all)
	}
}

func TestProcessesThatContinueEachOtherAreStopped(t *testing.T) {
	p, _ := freezable(t)
	pair := p.run(`me=$$; (while :; do kill -CONT $me; done) & while :; do kill -CONT $!; done & echo begun; while :; do kill -CONT $! 2>/dev/null; done`, false)
	p.has(1, pair)
	for range 5 {
		if f := p.freeze(); f.Error != "" {
			t.Fatal(f.Error)
		}
		first := stateOfDescendants(p.init.Process.Pid)
		if again := stateOfDescendants(p.init.Process.Pid); strings.Contains(first+again, "running") {
			t.Errorf("%s, then %s", first, again)
		}
		p.thaw()
	}
}

func TestALifelineThatIsLostInAFrozenSandboxIsNotReplacedByOneWithoutAnswer(t *testing.T) {
	p, listener := freezable(t)
	p.freeze()
	_ = listener.Close()
	_ = p.Close()
	if err := p.init.Wait(); p.init.ProcessState.ExitCode() != exitLost {
		t.Errorf("init ended: %v", err)
	}
}

func TestFramesOfAFreezeOutOfOrderEndTheSandbox(t *testing.T) {
	for name, act := range map[string]func(*peer, net.Listener) *peer{
		"a freeze with a short proof": func(p *peer, _ net.Listener) *peer {
			_ = p.SendMessage(lifeline.TypeFreeze, lifeline.Freeze{Proof: []byte("x")})
			return p
		},
		"a restore of a sandbox that was started": func(p *peer, _ net.Listener) *peer {
			_ = p.SendMessage(lifeline.TypeRestore, lifeline.Restore{})
			return p
		},
		"a restore of a frozen one": func(p *peer, _ net.Listener) *peer {
			p.freeze()
			_ = p.SendMessage(lifeline.TypeRestore, lifeline.Restore{})
			return p
		},
		"a thaw of a restored one": func(p *peer, l net.Listener) *peer {
			p.freeze()
			again := p.reconnect(l)
			_ = again.Send(lifeline.Frame{Type: lifeline.TypeThaw})
			return again
		},
		"a second restore": func(p *peer, l net.Listener) *peer {
			p.freeze()
			again := p.reconnect(l)
			_ = again.SendMessage(lifeline.TypeRestore, lifeline.Restore{})
			_ = again.SendMessage(lifeline.TypeRestore, lifeline.Restore{})
			return again
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, listener := freezable(t)
			p.run("sleep 1000", false)
			p = act(p, listener)
			_ = listener.Close()
			_ = p.init.Wait()
			if code := p.init.ProcessState.ExitCode(); code != exitLost {
				t.Errorf("init ended with %d", code)
			}
		})
	}
}
