package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// How many runs, and how: few in the ordinary test, many by hand.
var (
	runsInARow  = flag.Int("runs", 2, "how many runs there are one after the other")
	runsLanes   = flag.Int("runs.lanes", 2, "how many runs there are at a time, after that")
	runsPerLane = flag.Int("runs.each", 1, "how many runs each lane has")
	runsTime    = flag.Duration("runs.time", 4*time.Hour, "start no more runs of the lanes after this time")
	runsPlain   = flag.Bool("runs.plain", false, "only runs that change nothing, to count failures of starts")
)

// task is a kind of run: what it is given, and how its work ends.
type task struct {
	name string
	run  func(m *machine, repo string) []string
	then func(id string) []string // nil where the run itself delivers
	ref  bool                     // a branch of the user's repository is to be left
}

// tasks end in every way that work can: nothing, accepted, discarded, made by a model.
var tasks = []task{
	{name: "nothing", run: func(_ *machine, repo string) []string {
		return []string{"shell", "--network", "none", "--repo", repo, "--", "true"}
	}},
	{name: "accepted", ref: true, run: func(_ *machine, repo string) []string {
		return []string{"shell", "--network", "none", "--repo", repo, "--accept", "branch", "--", "sh", "-c", "seq 100 > work.txt"}
	}},
	{name: "discarded", run: func(_ *machine, repo string) []string {
		return []string{"shell", "--network", "none", "--repo", repo, "--", "sh", "-c", "seq 100 > work.txt; rm README"}
	}, then: func(id string) []string { return []string{"discard", id} }},
	{name: "scripted", ref: true, run: func(m *machine, repo string) []string {
		return []string{"codex", "--repo", repo, "--prompt", "go", "--accept", "branch", "--inference", m.script("[[step]]\nrun = \"echo work > work.txt\"\n")}
	}},
}

// tallied counts what went wrong with the runs of one task.
type tallied struct {
	runs, failed int
	longest      time.Duration
}

// soak is a row of runs with what came of them. It is safe for concurrent use.
type soak struct {
	m      *machine
	mu     sync.Mutex
	counts map[string]*tallied
	errors []string
	refs   int // branches that are to be there in the end
}

// once runs one session in its own repository, from start to removal.
func (s *soak) once(n int, repo string) {
	e := tasks[n%len(tasks)]
	if *runsPlain {
		e = tasks[0]
	}
	o := s.m.exec(aibox, append([]string{"run", "--json"}, e.run(s.m, repo)...)...)
	var r report
	problem := ""
	switch err := json.Unmarshal([]byte(o.stdout), &r); {
	case o.code != 0 || err != nil:
		problem = fmt.Sprintf("%s: %v\n%s", e.name, err, o)
	case e.then != nil:
		if o := s.m.exec(aibox, e.then(r.ID)...); o.code != 0 {
			problem = fmt.Sprintf("%s: %s", e.name, o)
		}
	}
	if problem == "" {
		if o := s.m.exec(aibox, "rm", r.ID); o.code != 0 {
			problem = fmt.Sprintf("removing %s: %s", e.name, o)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.counts[e.name]
	t.runs, t.longest = t.runs+1, max(t.longest, o.took)
	if problem != "" {
		t.failed++
		s.errors = append(s.errors, problem)
	} else if e.ref {
		s.refs++
	}
}

// leases returns the bridges that processes of this home still hold. Session ids do not
// help, because two homes can use the same ids.
func (m *machine) leases() []string {
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		m.t.Fatal(err)
	}
	var held []string
	for _, file := range glob(m.t, filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "aibox/networks/*.lease")) {
		var st syscall.Stat_t
		if syscall.Stat(file, &st) != nil {
			continue
		}
		for line := range strings.Lines(string(locks)) { // "1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF"
			fields := strings.Fields(line)
			if len(fields) < 6 || !strings.HasSuffix(fields[5], fmt.Sprintf(":%d", st.Ino)) {
				continue
			}
			if environment, _ := os.ReadFile("/proc/" + fields[4] + "/environ"); slices.Contains(strings.Split(string(environment), "\x00"), "HOME="+m.home) {
				held = append(held, filepath.Base(file))
			}
		}
	}
	return held
}

// emptied ends, decides on and removes every session.
func (s *soak) emptied() {
	for _, r := range s.m.stored() {
		_ = s.m.exec(aibox, "stop", r.ID)
		s.m.exec(aibox, "ls")
		if o := s.m.exec(aibox, "rm", "--force", r.ID); o.code != 0 && !strings.Contains(o.stderr, "no session") {
			s.errors = append(s.errors, fmt.Sprintf("removing %s: %s", r.ID, o))
		}
	}
}

// counter is how netguard counts the packets of a rule.
var counter = regexp.MustCompile(` -c \d+ \d+`)

// locks are the rules around the sandboxes without their counters, which are those of all
// sessions, and those of the routes that are there more than once.
func (m *machine) locks() (firewall, twice []string) {
	var status struct {
		Firewall, Firewall6, Routing struct{ Rules []string }
	}
	if err := json.Unmarshal([]byte(m.aibox(0, "netguard", "status", "--json").stdout), &status); err != nil {
		m.t.Fatal(err)
	}
	for _, rule := range slices.Concat(status.Firewall.Rules, status.Firewall6.Rules) {
		firewall = append(firewall, counter.ReplaceAllString(rule, ""))
	}
	seen := map[string]bool{}
	for _, rule := range status.Routing.Rules {
		if seen[rule] {
			twice = append(twice, rule)
		}
		seen[rule] = true
	}
	return firewall, twice
}

// left returns everything that the runs should have removed, by kind.
func (s *soak) left(firewall []string) map[string][]string {
	left := s.leftButRules()
	now, twice := s.m.locks()
	left["rules"] = twice
	for _, rule := range now {
		if len(firewall) > 0 && !slices.Contains(firewall, rule) {
			left["rules"] = append(left["rules"], rule)
		}
	}
	if len(left["rules"]) == 0 {
		delete(left, "rules")
	}
	return left
}

// leftButRules is left without the guard's rules, which need a command.
func (s *soak) leftButRules() map[string][]string {
	m := s.m
	left := map[string][]string{"containers": m.leftContainers()}
	for _, pid := range m.leftWatchdogs() {
		left["processes"] = append(left["processes"], fmt.Sprint(pid))
	}
	for _, pid := range mentioning(m.home + "/") {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.HasPrefix(string(line), aibox+"\x00") {
			left["processes"] = append(left["processes"], fmt.Sprint(pid))
		}
	}
	left["networks"] = m.leases()
	sockets, _ := os.ReadFile("/proc/net/unix")
	for line := range strings.Lines(string(sockets)) {
		if strings.Contains(line, m.home+"/") {
			left["sockets"] = append(left["sockets"], strings.TrimSpace(line))
		}
	}
	left["workspaces"] = glob(m.t, filepath.Join(m.home, "agent_workspace/*"))
	left["records"] = slices.DeleteFunc(glob(m.t, filepath.Join(m.sessions(), "*")), func(name string) bool {
		info, err := os.Lstat(name)
		return err != nil || !info.IsDir()
	})
	left["temporary files"] = slices.Concat(glob(m.t, filepath.Join(m.sessions(), ".*.*")), glob(m.t, filepath.Join(m.home, ".local/share/aibox/repos/*/fast_import_crash_*")),
		glob(m.t, filepath.Join(m.home, ".local/share/aibox/repos/*/objects/pack/tmp_*")), glob(m.t, filepath.Join(m.home, "src/*/.git/objects/pack/tmp_*")))
	left["locks"] = slices.Concat(glob(m.t, filepath.Join(m.home, "src/*/.git/*.lock")), glob(m.t, filepath.Join(m.home, "src/*/.git/refs/heads/*/*.lock")),
		glob(m.t, filepath.Join(m.home, ".local/share/aibox/repos/*/refs/aibox/*/*.lock")))
	branches := slices.Concat(glob(m.t, filepath.Join(m.home, "src/*/.git/refs/heads/aibox/*")))
	if len(branches) != s.refs {
		left["branches"] = []string{fmt.Sprintf("%d where there are to be %d", len(branches), s.refs)}
	}
	maps.DeleteFunc(left, func(_ string, what []string) bool { return len(what) == 0 })
	return left
}

// table prints what was counted.
func (s *soak) table(left map[string][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nTASK\tRUNS\tFAILED\tLONGEST")
	for _, e := range tasks {
		t := s.counts[e.name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%v\n", e.name, t.runs, t.failed, t.longest.Round(100*time.Millisecond))
	}
	fmt.Fprintln(w, "\nLEFT\tCOUNT\tWHAT")
	for _, kind := range []string{"containers", "processes", "networks", "rules", "sockets", "workspaces", "records", "temporary files", "locks", "branches"} {
		fmt.Fprintf(w, "%s\t%d\t%.200s\n", kind, len(left[kind]), strings.Join(left[kind], " "))
	}
	_ = w.Flush()
	return b.String()
}

// Many runs, in a row and side by side, all end well and leave nothing: no container,
// process, lease, rule, socket, workspace, record, temporary file or lock, and of the
// user's repository the branches that were asked for.
func TestManyRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := &soak{m: m, counts: map[string]*tallied{}}
	for _, e := range tasks {
		s.counts[e.name] = &tallied{}
	}
	repos := make([]string, max(*runsLanes, 1))
	for i := range repos {
		repos[i] = m.repo(fmt.Sprintf("lane%d", i), nil)
	}
	firewall, _ := m.locks()
	for n := range *runsInARow {
		s.once(n, repos[0])
	}
	begin := time.Now()
	var lanes sync.WaitGroup
	for lane := range *runsLanes {
		lanes.Go(func() {
			for n := range *runsPerLane {
				if time.Since(begin) > *runsTime {
					break
				}
				s.once(lane+n+*runsInARow, repos[lane])
			}
		})
	}
	lanes.Wait()
	m.tidied()
	s.emptied()
	left := s.left(firewall)
	t.Log(s.table(left))
	ran := 0
	for _, kind := range s.counts {
		ran += kind.runs
	}
	if asked := *runsInARow + *runsLanes**runsPerLane; ran < asked {
		t.Errorf("%d of %d runs took place in %v (-runs.time)", ran, asked, *runsTime)
	}
	for _, problem := range s.errors {
		t.Errorf("a run failed: %s", problem)
	}
	for kind, what := range left {
		t.Errorf("%s are left: %q", kind, what)
	}
}
