package supervisor

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"aibox/audit"
	"aibox/internal/lifeline"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/process"
	"aibox/session/snapshot"
)

func TestNoTimeOfAProcessPassesDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begin := newRunClock(), time.Now()
		var fired time.Time
		go c.after(t.Context(), time.Minute, func() { fired = time.Now() })
		go c.after(t.Context(), math.MaxInt64, func() { t.Error("the longest time is over") })
		time.Sleep(50 * time.Second) // of the synctest bubble, as below
		c.pause()
		time.Sleep(time.Hour)
		synctest.Wait()
		if now := c.now(); !fired.IsZero() || now != 50*time.Second {
			t.Errorf("after the pause the clock is at %v, and it fired at %v", now, fired)
		}
		c.resume()
		time.Sleep(5 * time.Second)
		c.pause()
		time.Sleep(time.Hour)
		c.resume()
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := begin.Add(2*time.Hour + time.Minute); !fired.Equal(want) {
			t.Errorf("it fired %v after %v", fired.Sub(want), want)
		}
		if resumed, err := c.awaitRunning(t.Context()); err != nil || !resumed.Equal(begin.Add(2*time.Hour+55*time.Second)) {
			t.Errorf("the last pause ended at %v, %v", resumed, err)
		}
	})
}

func TestAPausedSandboxKeepsTheTimeOfItsProcesses(t *testing.T) {
	_, s, _ := sandboxUnder(t, netguard.None, session.SandboxSpec{Tenant: "acme"}, nil)
	a, b := net.Pipe()
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	s.line = lifeline.NewConn(a)
	container := &pausedContainer{}
	watching, end := context.WithCancel(t.Context())
	defer end()
	p := newPauser()
	p.start(watching, s, container)
	isPaused := func() bool { return !s.processes.clock.paused.IsZero() }
	if container.err = errors.New("it cannot be paused"); p.pause(t.Context()) == nil || isPaused() {
		t.Error("the clock stands still without a pause")
	}
	container.err = nil
	if err := p.pause(t.Context()); err != nil || !isPaused() {
		t.Errorf("the clock goes on during a pause (%v)", err)
	}
	if err := p.resume(t.Context()); err != nil || isPaused() {
		t.Errorf("the clock stands still after a pause (%v)", err)
	}
}

func TestAProcessReportsTheTimeForWhichItHasRunWithoutPauses(t *testing.T) {
	ps, _ := connected(t)
	begin(t, ps, sh("exec sleep 1000"))
	ps.clock.mu.Lock()
	ps.clock.begin = ps.clock.begin.Add(-time.Hour)
	ps.clock.mu.Unlock()
	ps.clock.pause()
	first := ps.List()[0].Ran
	if again := ps.List()[0].Ran; first < time.Hour || first > time.Hour+time.Minute || again != first {
		t.Errorf("it has run for %v, and in the same pause for %v", first, again)
	}
	ps.clock.resume()
	if err := ps.Signal(1, 9); err != nil {
		t.Fatal(err)
	}
	read(t, ps, 1, io.Discard)
	if ran := ps.List()[0].Ran; ran != 0 {
		t.Errorf("it has ended, and still runs for %v", ran)
	}
}

// pausedContainer can be paused unless err is set.
type pausedContainer struct {
	runtime.Sandbox
	err error
}

func (c *pausedContainer) Pause(context.Context) error  { return c.err }
func (c *pausedContainer) Resume(context.Context) error { return nil }

func TestAStoredProcessHasOnlyTheRestOfItsTime(t *testing.T) {
	ps, _ := connected(t)
	request := sh("exec sleep 1000")
	request.Timeout = time.Hour
	begin(t, ps, request)
	begin(t, ps, sh("exec sleep 1000"))
	ps.clock.mu.Lock()
	ps.clock.begin = ps.clock.begin.Add(-50 * time.Minute)
	ps.clock.mu.Unlock()
	stored, err := ps.storable()
	if err != nil || len(stored) != 2 {
		t.Fatal(stored, err)
	}
	if left := stored[0].Request.Timeout; left < 9*time.Minute || left > 10*time.Minute {
		t.Errorf("the first has %v left", left)
	}
	if left := stored[1].Request.Timeout; left != 0 {
		t.Errorf("one without a limit has %v left", left)
	}
}

func TestTheTimeOfARestoredProcessContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		line := lifeline.NewConn(a)
		log, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		ps := newProcesses(&sandbox{preparation: &preparation{modelWatch: &modelWatch{run: &run{dir: t.TempDir(), log: log}}}})
		stored := []snapshot.Process{{
			Flow: 3, Request: process.Request{Timeout: time.Hour, Keep: process.DefaultKeep},
			Info: process.Info{ID: 2, PID: 7, Argv: []string{"a"}, Started: time.Now().Add(-1000 * time.Hour)},
		}}
		ps.adopt(line, stored, map[uint32]*lifeline.Flow{3: line.OpenFlow(3)})
		p := ps.all[0]
		isExpired := func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.expired
		}
		time.Sleep(59 * time.Minute) // of the synctest bubble, as below
		if isExpired() {
			t.Error("the time between the snapshot and the restore counts")
		}
		time.Sleep(2 * time.Minute)
		if !isExpired() {
			t.Error("it has no time limit")
		}
		_, _ = a.Close(), b.Close()
		p.put(processOutput{exit: &process.Exit{}})
		ps.pumps.Wait()
	})
}
