package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"aibox/runtime"
)

// disaster is something that goes wrong while a session runs.
type disaster struct {
	name string
	// strike makes it happen. It returns false if it had no target.
	strike func(*schedule) bool
	// causes are parts of the reasons that the session's result can give.
	causes []string
	// needs is what the lane must have: "daemon" or "disk" of its own; empty for nothing.
	needs string
}

// reasons of results for more than one disaster.
const (
	supervisorDied = "supervisor died"
	stoppedAtOnce  = "stopped at once"
	noReport       = "the sandbox ended without a report"
	noAnswer       = "first process stopped answering"
	dockerStopped  = "Docker stopped"
	noDaemon       = "no Docker daemon answers"
	watchdogKilled = "watchdog was killed"
)

// disasters are all of them.
var disasters = []disaster{
	{name: "kill the client", strike: func(s *schedule) bool { return s.signalClient(syscall.SIGKILL) }},
	{name: "stop the client", strike: func(s *schedule) bool { return s.signalClient(syscall.SIGSTOP) }},
	{name: "kill the supervisor", strike: func(s *schedule) bool { return kills(s.read().State.Supervisor) }, causes: []string{supervisorDied}},
	{name: "stop the supervisor", strike: func(s *schedule) bool { return s.stops(s.read().State.Supervisor) }, causes: []string{stoppedAtOnce, supervisorDied}},
	{name: "kill the watchdog", strike: func(s *schedule) bool { return kills(s.read().State.Watchdog) }, causes: []string{watchdogKilled}},
	{name: "stop the watchdog", strike: func(s *schedule) bool { return s.stops(s.read().State.Watchdog) }},
	{name: "kill the sandbox", strike: func(s *schedule) bool { return kills(s.read().State.Sandbox) }, causes: []string{noReport}},
	{name: "stop the sandbox", strike: func(s *schedule) bool { return s.stops(s.read().State.Sandbox) }, causes: []string{noAnswer}},
	{name: "kill the file server", strike: func(s *schedule) bool { return kills(s.hostProcess("gofer")) }, causes: []string{noReport, noAnswer, "worker", "shell ended", "shell was ended"}},
	{name: "stop the file server", strike: func(s *schedule) bool { return s.stops(s.hostProcess("gofer")) }, causes: []string{noAnswer, stoppedAtOnce}},
	{name: "kill the shim", strike: func(s *schedule) bool { return kills(s.hostProcess("shim")) }, causes: []string{noReport, dockerStopped}},
	{name: "kill PID 1", strike: func(s *schedule) bool { return s.tellWorker("kill-init") }, causes: []string{noReport}},
	{name: "stop PID 1", strike: func(s *schedule) bool { return s.tellWorker("stop-init") }, causes: []string{noAnswer}},
	{name: "tear the state", strike: func(s *schedule) bool { return s.tear("state.json") }, causes: []string{supervisorDied}},
	{name: "tear the spec", strike: func(s *schedule) bool { return s.tear("spec.json") }, causes: []string{supervisorDied}},
	{name: "tear the counters", strike: func(s *schedule) bool { return s.tear("live.json") }, causes: []string{supervisorDied}},
	{name: "tear the log", strike: func(s *schedule) bool { return s.tear("audit.jsonl") }, causes: []string{supervisorDied}},
	{name: "tear the index of the output", strike: func(s *schedule) bool { return s.tear("output.idx") }, causes: []string{supervisorDied}},
	{name: tearJournal, strike: (*schedule).tearJournal, causes: []string{supervisorDied}},
	{name: "kill the repair", strike: func(s *schedule) bool { return kills(s.read().State.Supervisor) && s.killRepair() }, causes: []string{supervisorDied}},
	{name: "fill the disk", needs: "disk", strike: func(s *schedule) bool { s.lane.disk.fill(); return true }, causes: []string{"full", "room", "no space left", supervisorDied}},
	{name: "kill dockerd", needs: "daemon", strike: (*schedule).killDocker, causes: []string{dockerStopped, noReport, noDaemon}},
	{name: "kill RootlessKit", needs: "daemon", strike: (*schedule).killRootlessKit, causes: []string{dockerStopped, noReport, noDaemon}},
}

// tearJournal is the name of the fault that check makes up for.
const tearJournal = "tear the journal"

// tearJournal kills the supervisor and leaves the torn journal of a delivery onto the working
// tree, as a failing disk does. Nothing can tell what it was about, so aibox names it to the
// user at each command until it is gone.
func (s *schedule) tearJournal() bool {
	heads := glob(s.lane.m.t, filepath.Join(s.lane.m.home, ".local/share/aibox/repos/*/HEAD"))
	if len(heads) == 0 || os.MkdirAll(filepath.Join(filepath.Dir(heads[0]), "aibox"), 0o700) != nil || !kills(s.read().State.Supervisor) {
		return false
	}
	s.journal = filepath.Join(filepath.Dir(heads[0]), "aibox/worktree.json")
	return os.WriteFile(s.journal, []byte(`{"session":"`+s.id), 0o600) == nil
}

// kills kills a process and reports whether there was one.
func kills(p runtime.Process) bool { return p.Alive() && runtime.KillProcess(p) == nil }

// stops stops a process until the end of the schedule.
func (s *schedule) stops(p runtime.Process) bool {
	if !p.Alive() || syscall.Kill(p.PID, syscall.SIGSTOP) != nil {
		return false
	}
	s.stopped = append(s.stopped, p)
	return true
}

func (s *schedule) signalClient(signal syscall.Signal) bool {
	select {
	case <-s.client.done:
		return false
	default:
		s.clientGone = true
		return s.client.Process.Signal(signal) == nil
	}
}

// hostProcess finds a process on the host that belongs to the sandbox.
func (s *schedule) hostProcess(kind string) runtime.Process {
	container := s.read().State.Container
	if container == "" {
		return runtime.Process{}
	}
	all, _ := runtime.Belonging(container)
	for _, p := range all {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		if args := strings.Split(string(line), "\x00"); strings.Contains(args[0], kind) || slices.Contains(args, kind) {
			return p
		}
	}
	return runtime.Process{}
}

// tellWorker makes a file that the worker looks for.
func (s *schedule) tellWorker(name string) bool {
	r := s.read()
	if r.State.Phase != "running" {
		return false
	}
	return os.WriteFile(filepath.Join(r.State.Workspace.Path, name), nil, 0o600) == nil
}

// tear damages a file of the record as a failing disk does, after its supervisor died.
func (s *schedule) tear(name string) bool {
	supervisor := s.read().State.Supervisor
	if s.id == "" || !kills(supervisor) {
		return false
	}
	_ = supervisor.AwaitEnd(hung)
	file := filepath.Join(s.lane.m.sessions(), s.id, name)
	data, err := os.ReadFile(file)
	if err != nil {
		data = []byte(`{"torn`)
	}
	switch s.random.IntN(3) {
	case 0:
		data = data[:s.random.IntN(len(data)+1)]
	case 1:
		clear(data)
	default:
		data = nil
	}
	if err := os.WriteFile(file, data, 0o600); err != nil { // the disk can be full
		s.note("tearing %s: %v", name, err)
	}
	return true
}

// killRepair starts the command that repairs the session, and kills it at a random moment.
func (s *schedule) killRepair() bool {
	b := s.lane.m.start("ls")
	s.pause(s.random.IntN(300))
	_ = b.Process.Kill()
	<-b.done
	return true
}

func (s *schedule) killDocker() bool {
	s.lane.daemonDied = true
	s.lane.daemon.kill()
	return true
}

func (s *schedule) killRootlessKit() bool {
	s.lane.daemonDied = true
	for _, pid := range mentioning(s.lane.daemon.dir) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(strings.Split(string(line), "\x00")[0], "rootlesskit") {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}

// pickDisasters chooses one to three disasters that the lane allows.
func (l *lane) pickDisasters(random *rand.Rand) []disaster {
	var possible, special []disaster
	for _, d := range disasters {
		switch {
		case l.disk != nil && strings.HasPrefix(d.name, "stop "): // what uses the disk must end
		case d.needs == "":
			possible = append(possible, d)
		case d.needs == "disk" && l.disk != nil, d.needs == "daemon" && l.daemon != nil:
			special = append(special, d)
		}
	}
	if *faultKind != "" {
		kind := regexp.MustCompile(*faultKind)
		special = slices.DeleteFunc(slices.Clone(disasters), func(d disaster) bool { return d.needs != "" || !kind.MatchString(d.name) })
	}
	var picked []disaster
	if len(special) > 0 { // this is what the lane is for
		picked = append(picked, special[random.IntN(len(special))])
	}
	for range random.IntN(3) + 1 - len(picked) {
		picked = append(picked, possible[random.IntN(len(possible))])
	}
	random.Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
	return picked
}
