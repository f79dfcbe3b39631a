package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"aibox/runtime"
	"aibox/workspace"
)

// Random schedules of faults. The number and the seed determine a schedule; only the machine's
// timing differs between two runs of it.
var (
	faultCount  = flag.Int("faults", 100, "how many schedules of faults to run")
	faultLanes  = flag.Int("faults.lanes", 3, "how many of them run side by side")
	faultDaemon = flag.Int("faults.daemon", 8, "how many of them use a Docker of their own, which they may kill")
	faultDisk   = flag.Int("faults.disk", 0, "how many of them use a small disk, which they may fill")
	faultTime   = flag.Duration("faults.time", time.Hour, "start no more schedules after this time")
	faultSeed   = flag.Uint64("faults.seed", uint64(time.Now().UnixNano()), "which schedules")
	faultOnly   = flag.Int("faults.only", -1, "run only the schedule with this number")
	faultKind   = flag.String("faults.kind", "", "begin each schedule with one of the faults whose name matches this")
)

// lane is a machine that runs schedules one after the other.
type lane struct {
	m          *machine
	repo       string
	facts      string  // of the user's repository, which nothing may change
	daemon     *daemon // of its own, or nil
	daemonDied bool
	disk       *disk // small, with the records, or nil
	image      string
}

// schedule is one session with what goes wrong.
type schedule struct {
	lane       *lane
	n          int
	random     *rand.Rand
	args       []string
	blocker    record // a session for whose end this one waits in the queue; zero if it does not
	problems   []string
	client     *background
	clientGone bool
	id         string
	last       record   // the last one that could be read
	output     *os.File // the record of the output, which stays open if it is removed
	outputDone bool     // output was closed
	lastLine   int      // acknowledged before that
	struck     []disaster
	stopped    []runtime.Process
	journal    string // a torn one, or empty
	trace      []string
}

// moment is when a fault can happen. come reports whether it has come.
type moment struct {
	name string
	come func(*schedule, record) bool
}

// moments are all of them, in their order.
var moments = []moment{
	{"at once", func(*schedule, record) bool { return true }},
	{"the record exists", func(_ *schedule, r record) bool { return r.State.Supervisor.PID > 0 }},
	{queued, func(s *schedule, r record) bool { return s.blocker.ID == "" || r.State.Phase == "queued" }},
	{"the network is taken", func(_ *schedule, r record) bool { return r.State.Network.ID != "" }},
	{"the sandbox exists", func(_ *schedule, r record) bool { return r.State.Container != "" }},
	{"the agent runs", func(_ *schedule, r record) bool { return r.State.Phase == "running" }},
	{"the agent works", func(s *schedule, _ record) bool { return s.acknowledged() > 3 }},
	{"the agent has worked", func(s *schedule, _ record) bool { return s.acknowledged() > 20 }},
	{"the changes are computed", func(_ *schedule, r record) bool {
		return slices.Contains([]string{"computing", "verifying", "ended"}, r.State.Phase)
	}},
	{"the work is verified", func(_ *schedule, r record) bool { return r.State.Phase == "verifying" || r.State.Phase == "ended" }},
	{"the session has ended", func(_ *schedule, r record) bool { return r.State.Phase == "ended" }},
}

// queued is the moment after which the blocker may end.
const queued = "the session is queued"

func isAfterQueued(at int) bool {
	return !slices.ContainsFunc(moments[at:], func(m moment) bool { return m.name == queued })
}

func (l *lane) schedule(n int) *schedule {
	s := &schedule{lane: l, n: n, random: rand.New(rand.NewPCG(*faultSeed, uint64(n)))}
	s.args = []string{"run", "shell", "--network", "none", "--repo", l.repo, "--timeout", "2m"}
	if l.image != "" {
		s.args = append(s.args, "--image", l.image)
	}
	if s.random.IntN(6) == 0 {
		s.args = append(s.args, "--verify", "sleep 0.2")
	}
	if l.disk == nil && s.random.IntN(4) == 0 {
		s.block()
	}
	s.args = append(s.args, "--", "./worker", "lines")
	return s
}

func (s *schedule) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

// pause waits for some milliseconds: the moment of a fault is random.
func (s *schedule) pause(milliseconds int) {
	<-time.After(time.Duration(milliseconds) * time.Millisecond)
}

// read reads the session's state, or returns the last one if it cannot be read.
func (s *schedule) read() record {
	if s.id == "" {
		entries, _ := os.ReadDir(s.lane.m.sessions())
		for _, entry := range entries {
			if name := entry.Name(); entry.IsDir() && strings.HasSuffix(name, "-shell") && name != s.blocker.ID {
				s.id = name
			}
		}
	}
	dir := filepath.Join(s.lane.m.sessions(), s.id)
	if s.output == nil && s.id != "" && !s.outputDone {
		s.output, _ = os.Open(filepath.Join(dir, "output.raw"))
	}
	if r, err := s.stored(s.id); s.id != "" && err == nil {
		s.last = r
	}
	return s.last
}

// stored reads the state of a session of the lane.
func (s *schedule) stored(id string) (record, error) {
	r := record{ID: id}
	data, err := os.ReadFile(filepath.Join(s.lane.m.sessions(), id, "state.json"))
	if err != nil {
		return record{}, err
	}
	return r, json.Unmarshal(data, &r.State)
}

// acknowledged is the number of the last line that the worker has synced, by what it printed.
func (s *schedule) acknowledged() int {
	if s.output == nil {
		return s.lastLine
	}
	data, _ := io.ReadAll(io.NewSectionReader(s.output, 0, 1<<20))
	last := 0
	for line := range strings.Lines(string(data)) {
		if n, err := strconv.Atoi(strings.TrimSuffix(line, "\n")); err == nil && strings.HasSuffix(line, "\n") {
			last = max(last, n)
		}
	}
	return last
}

// run runs the schedule and returns the resulting problems.
func (s *schedule) run() []string {
	s.client = s.lane.m.start(s.args...)
	picked := s.lane.pickDisasters(s.random)
	at := make([]int, len(picked))
	for i := range at {
		at[i] = s.random.IntN(len(moments))
	}
	slices.Sort(at)
	for i, d := range picked {
		if isAfterQueued(at[i]) {
			s.release()
		}
		s.await(at[i])
		s.pause(s.random.IntN(60))
		hit := d.strike(s)
		s.note("%s when %s: %v", d.name, moments[at[i]].name, hit)
		if hit {
			s.struck = append(s.struck, d)
		}
	}
	s.release()
	problems := append(s.problems, s.settle()...)
	problems = append(problems, s.removeBlocker()...)
	problems = append(problems, s.check()...)
	s.closeOutput()
	return problems
}

// block starts the blocker, so that the session of the schedule is queued.
func (s *schedule) block() {
	args := slices.Concat([]string{"run", "-d"}, s.args[1:], []string{"--", "sh", "-c", "until test -e go; do sleep 0.05; done"})
	o := s.lane.m.exec(aibox, args...)
	id := strings.TrimSpace(o.stdout)
	r, err := s.stored(id)
	if o.code != 0 || err != nil {
		s.problems = append(s.problems, fmt.Sprintf("starting the blocker: %s, %v", o, err))
		return
	}
	s.blocker = r
	s.args = append(s.args, "--max-parallel", "1")
}

// release lets the blocker end, and so the session start.
func (s *schedule) release() {
	if s.blocker.ID != "" {
		_ = os.WriteFile(filepath.Join(s.blocker.State.Workspace.Path, "go"), nil, 0o600)
	}
}

// removeBlocker removes the blocker, which a fault of the daemon may have ended.
func (s *schedule) removeBlocker() (problems []string) {
	if s.blocker.ID == "" {
		return nil
	}
	_ = s.blocker.State.Supervisor.AwaitEnd(hung)
	if o := s.lane.m.exec(aibox, "rm", "--force", s.blocker.ID); o.code != 0 {
		problems = append(problems, "removing the blocker: "+o.String())
	}
	return problems
}

// closeOutput closes the record of the output. What was acknowledged stays known.
func (s *schedule) closeOutput() {
	s.lastLine, s.outputDone = s.acknowledged(), true
	if s.output != nil {
		_ = s.output.Close()
		s.output = nil
	}
}

// await waits for a moment, or until it can no longer come.
func (s *schedule) await(at int) {
	deadline := time.Now().Add(30 * time.Second)
	for !moments[at].come(s, s.read()) && time.Now().Before(deadline) {
		select {
		case <-s.client.done:
			if r := s.read(); s.id == "" || !r.State.Supervisor.Alive() {
				return
			}
		default:
			if r := s.read(); s.clientGone && r.State.Supervisor.PID > 0 && !r.State.Supervisor.Alive() {
				return
			}
		}
		s.pause(2)
	}
}

// settle does what a user would do now, until the session has ended.
func (s *schedule) settle() (problems []string) {
	m := s.lane.m
	if s.lane.daemonDied {
		select {
		case <-s.lane.daemon.exited:
		case <-time.After(5 * time.Second):
		}
		m.exec(aibox, "ls")
		s.lane.daemon.start()
		s.lane.daemonDied = false
	}
	s.read()
	begin := time.Now()
	ended := func() bool {
		r := s.read()
		if s.id != "" {
			return !r.State.Supervisor.Alive() && r.State.Supervisor.PID > 0 || time.Since(begin) > 10*time.Second && r.State.Supervisor.PID == 0
		}
		select {
		case <-s.client.done:
			if !s.clientGone {
				return true // nothing will be started now
			}
		default:
		}
		return s.clientGone && time.Since(begin) > 5*time.Second // a supervisor may be about to make its record
	}
	patience := 60 * time.Second
	for _, p := range s.stopped {
		if p == s.last.State.Supervisor || s.named("stop the file server") {
			patience = 0 // it does not end by itself
		}
	}
	for deadline := time.Now().Add(patience); !ended() && time.Now().Before(deadline); s.pause(10) {
	}
	if !ended() {
		o := m.exec(aibox, "stop", "--force", s.id)
		s.note("stop --force: %s", o.stderr)
		// Without a supervisor and without work, its own repair has removed the session.
		if o.code != 0 && !strings.Contains(o.stderr, "cleaned up after "+s.id) {
			problems = append(problems, "stop --force: "+o.String())
		}
	}
	_ = s.last.State.Supervisor.AwaitEnd(hung)
	if s.clientGone {
		_ = s.client.Process.Kill()
	}
	s.client.wait()
	if s.lane.disk != nil {
		m.exec(aibox, "ls")
		s.closeOutput() // or the disk cannot be unmounted
		s.lane.disk.room()
	}
	return problems
}

func (s *schedule) named(name string) bool {
	return slices.ContainsFunc(s.struck, func(d disaster) bool { return d.name == name })
}

// awaitUnlaunched waits until the folder of a session without a spec is old enough for the
// repair, and repairs it. On FUSE a file that was open stays for another moment.
func (s *schedule) awaitUnlaunched() {
	dir := filepath.Join(s.lane.m.sessions(), s.id)
	for range 10 {
		_, err := os.Stat(filepath.Join(dir, "spec.json"))
		info, dirErr := os.Stat(dir)
		if s.id == "" || dirErr != nil || !errors.Is(err, os.ErrNotExist) {
			return
		}
		<-time.After(time.Until(info.ModTime().Add(11 * time.Second)))
		s.lane.m.exec(aibox, "ls")
	}
}

// workLine is a line of the work in a diff.
var workLine = regexp.MustCompile(`(?m)^\+line (\d+)$`)

// check runs the next command and returns the resulting problems.
func (s *schedule) check() (problems []string) {
	m := s.lane.m
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if s.lane.disk != nil {
		s.awaitUnlaunched()
	}
	o := m.exec(aibox, "ls", "--json")
	s.note("ls: %s", strings.TrimSpace(o.stderr))
	if o.code != 0 {
		wrong("ls: %s", o)
	}
	if s.journal != "" {
		if _, err := os.Stat(s.journal); err == nil && !strings.Contains(o.stderr, s.journal+" is damaged") {
			wrong("the torn journal is not named: %q", o.stderr)
		}
		_ = os.Remove(s.journal)
	}
	if again := m.exec(aibox, "ls", "--json"); again.stderr != "" {
		wrong("it is not repaired at once: %q, then %q", o.stderr, again.stderr)
	}
	acknowledged := s.acknowledged()
	_, err := os.Stat(filepath.Join(m.sessions(), s.id))
	switch {
	case s.id == "" || errors.Is(err, os.ErrNotExist):
		if acknowledged > 0 {
			wrong("the session is gone, and %d lines are lost", acknowledged)
		}
		if !s.clientGone && s.client.code == 0 {
			wrong("nothing was started, and the client exits with 0")
		} else if !s.clientGone && !strings.Contains(s.client.stderr.String(), "aibox: ") {
			wrong("the client names no cause: %q", s.client.stderr.String())
		}
	default:
		problems = append(problems, s.checkEnded(acknowledged)...)
	}
	if facts := m.facts(nil, s.lane.repo); facts != s.lane.facts {
		wrong("the user's repository changed from\n%s\nto\n%s", s.lane.facts, facts)
	}
	if s.id != "" && err == nil {
		if o := m.exec(aibox, "rm", "--force", s.id); o.code != 0 {
			wrong("rm: %s", o)
		}
	}
	left, late := s.awaitLate()
	problems = append(problems, late...)
	if s.named("tear the state") && err != nil { // the state alone named the workspace of a start; gc reports it
		for _, path := range left["workspaces"] {
			_ = os.RemoveAll(path)
		}
		delete(left, "workspaces")
	}
	for kind, what := range left {
		if kind != "branches" && len(what) > 0 {
			wrong("%s are left: %q", kind, what)
		}
	}
	return problems
}

// awaitLate has the containers of a late daemon removed, and what a process that was killed while it
// removed a record has left: another process may be removing it until it is old enough. On FUSE
// these remains hold files that are open, also in this test, and do not count. A verification that was starting when its
// session died removes its own workspace. awaitLate returns the leftovers that stay.
func (s *schedule) awaitLate() (left map[string][]string, problems []string) {
	m := s.lane.m
	for deadline := time.Now().Add(4 * hung); ; s.pause(1000) {
		left = (&soak{m: m}).leftButRules()
		if s.lane.disk != nil {
			left["records"] = slices.DeleteFunc(left["records"], func(path string) bool { return workspace.IsRemoved(filepath.Base(path)) })
		}
		remains := slices.ContainsFunc(left["records"], func(path string) bool { return workspace.IsRemoved(filepath.Base(path)) })
		verifying := slices.ContainsFunc(left["workspaces"], func(path string) bool { return strings.Contains(filepath.Base(path), "-verify-") })
		if len(left["containers"]) == 0 && !remains && !verifying || time.Now().After(deadline) {
			return left, problems
		}
		s.note("still there are %q", left)
		if o := m.exec(aibox, "ls"); o.code != 0 {
			problems = append(problems, "ls: "+o.String())
		}
	}
}

// checkEnded checks the session's result and its work.
func (s *schedule) checkEnded(acknowledged int) (problems []string) {
	m := s.lane.m
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	r := s.read()
	if r.State.Phase != "ended" || r.State.Result == nil {
		wrong("the session is %q", r.State.Phase)
		return problems
	}
	diff := m.exec(aibox, "diff", s.id)
	kept := map[string]bool{}
	for _, match := range workLine.FindAllStringSubmatch(diff.stdout, -1) {
		kept[match[1]] = true
	}
	lost := 0
	for n := 1; n <= acknowledged; n++ {
		if !kept[strconv.Itoa(n)] {
			lost += len(fmt.Sprintf("line %d\n", n))
		}
	}
	if lost > 0 {
		wrong("%d bytes of %d lines are lost:\n%s", lost, acknowledged, diff)
	}
	switch fault := r.State.Result.Fault; {
	case fault == nil && r.State.Result.ExitCode == 0 && len(kept) == 30: // it was done before
	case fault == nil && r.State.Result.ExitCode == 0:
		wrong("no fault is named, and %d of 30 lines are there", len(kept))
	case fault == nil:
		wrong("no fault is named: %+v", r.State.Result)
	default:
		s.note("cause: %s", fault.Message)
		if !slices.ContainsFunc(s.struck, func(d disaster) bool {
			return slices.ContainsFunc(d.causes, func(cause string) bool { return strings.Contains(fault.Message, cause) })
		}) {
			wrong("the cause is %q", fault.Message)
		}
	}
	return problems
}

// newLane makes a lane. Each has its own home, so that it can tell what its sessions left.
func newLane(t *testing.T, worker string, withDaemon, withDisk bool) *lane {
	t.Helper()
	l := &lane{m: newMachine(t)}
	if withDaemon {
		l.daemon = newDaemon(l.m)
		l.image = l.daemon.image()
	}
	if withDisk {
		l.disk = l.m.disk(filepath.Join(l.m.home, ".local/state/aibox"), 24)
	}
	l.repo = filepath.Join(l.m.home, "src/p")
	l.m.write(filepath.Join(l.repo, "worker"), worker)
	if err := os.Chmod(filepath.Join(l.repo, "worker"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	l.m.repo("p", nil)
	l.facts = l.m.facts(nil, l.repo)
	return l
}

// tally counts what the schedules did. It is safe for concurrent use.
type tally struct {
	mu        sync.Mutex
	schedules int
	queued    int // of them
	faults    map[string]int
	failed    int
}

func (c *tally) add(s *schedule, problems []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schedules++
	if s.blocker.ID != "" {
		c.queued++
	}
	for _, d := range s.struck {
		c.faults[d.name]++
	}
	if len(problems) > 0 {
		c.failed++
	}
}

func (c *tally) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nschedules\t%d\nqueued first\t%d\nfailed\t%d\n\nFAULT\tTIMES\n", c.schedules, c.queued, c.failed)
	total := 0
	for _, d := range disasters {
		fmt.Fprintf(w, "%s\t%d\n", d.name, c.faults[d.name])
		total += c.faults[d.name]
	}
	fmt.Fprintf(w, "all\t%d\n", total)
	_ = w.Flush()
	return b.String()
}

// Whatever processes die or stop at whatever moment, and whatever files are torn: what the
// agent has synced is kept, nothing is left, the user's repository is as it was, and the
// result names the cause.
func TestRandomFaultsLoseNothingAndLeaveNothing(t *testing.T) {
	t.Parallel()
	program, err := workerProgram()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	count := &tally{faults: map[string]int{}}
	plain := *faultCount - *faultDaemon - *faultDisk
	work := func(withDaemon, withDisk bool, take func() int) {
		var l *lane
		defer func() {
			if l == nil {
				return
			}
			if _, twice := l.m.locks(); len(twice) > 0 {
				t.Errorf("the guard has rules twice: %q", twice)
			}
		}()
		for n := take(); n >= 0; n = take() {
			if l == nil {
				l = newLane(t, string(data), withDaemon, withDisk)
			}
			s := l.schedule(n)
			problems := s.run()
			count.add(s, problems)
			for _, problem := range problems {
				t.Errorf("schedule %d (-faults.seed %d -faults.only %d):\n  %s\n%s\n%s", n, *faultSeed, n, strings.Join(s.trace, "\n  "), problem, s.client.stderr.String())
			}
			if len(problems) > 0 && !withDaemon {
				l = nil // leftovers must not count twice
			}
		}
	}
	// within returns the numbers from first on, below limit, one after the other.
	deadline := time.Now().Add(*faultTime)
	within := func(first, limit int, taken *atomic.Int64) func() int {
		return func() int {
			for time.Now().Before(deadline) {
				n := first + int(taken.Add(1)) - 1
				if n >= limit {
					return -1
				}
				if *faultOnly < 0 || *faultOnly == n {
					return n
				}
			}
			return -1
		}
	}
	var lanes sync.WaitGroup
	var taken, daemons, disks atomic.Int64
	for range *faultLanes {
		lanes.Go(func() { work(false, false, within(0, plain, &taken)) })
	}
	lanes.Go(func() { work(true, false, within(plain, plain+*faultDaemon, &daemons)) })
	lanes.Go(func() { work(false, true, within(plain+*faultDaemon, *faultCount, &disks)) })
	lanes.Wait()
	t.Log(count)
	if asked := *faultCount; *faultOnly < 0 && count.schedules < asked {
		t.Errorf("%d of %d schedules ran in %v (-faults.time)", count.schedules, asked, *faultTime)
	}
	t.Logf("again: -faults.seed %d", *faultSeed)
}
