package e2e

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"aibox/test/flood"
)

// floodOutput is the limit of the session whose agent prints without an end; 1024 shows that
// a gigabyte does not grow the supervisor.
var floodOutput = flag.Int("floods.output", 20, "MiB that the flood of output may print")

// exhaustion is a program that uses as much of a resource as it can, until a limit ends its
// session.
type exhaustion struct {
	flags   []string
	program []string
	reason  string // in the message about the session's end
}

// exhaustions are programs that a limit must end.
func exhaustions(t *testing.T) map[string]exhaustion {
	server, model := flood.Model()
	t.Cleanup(server.Close)
	return map[string]exhaustion{
		"large files in the workspace": {
			[]string{"--disk", "20"},
			flood.Perl(`$x = "x" x (1 << 20); for (1 .. 1e6) { open F, ">", "f$_"; print F $x }`),
			"the workspace has grown by more than its limit of 20 MiB",
		},
		// Its size is only known by the free space of the disk, so it must be larger than anything
		// that other tests delete meanwhile.
		"a file that another user of the sandbox hides": {
			[]string{"--disk", "20"},
			flood.Shell("mkdir d; chown 1000 d; chmod 700 d; head -c 5000000000 /dev/zero > d/x; sleep 1000"),
			"the workspace has grown by more than its limit of 20 MiB",
		},
		"empty files in the workspace": {
			[]string{"--disk", "20"},
			flood.Perl(`mkdir "d"; for (1 .. 21_000) { open F, ">", "d/$_"; close F } sleep 1000`),
			"the workspace has grown by more than its limit of 20000 files",
		},
		"output":            {[]string{"--max-output", fmt.Sprint(*floodOutput)}, flood.Shell("yes flood"), "the agent has printed more than"},
		"no activity":       {[]string{"--idle-timeout", "10s"}, flood.Shell("sleep 1000"), "idle for 10s"},
		"descriptors":       {[]string{"--timeout", "10s"}, flood.Python(flood.Descriptors), "time limit"},
		"names":             {[]string{"--timeout", "10s", "--network", "local", "--inference", "scripted"}, flood.Python(flood.Names), "time limit"},
		"proxy connections": {[]string{"--timeout", "10s", "--network", "allowlist", "--allow", "example.com", "--inference", "scripted"}, flood.Python(flood.Connections), "time limit"},
		"an endless stream of the model": {
			[]string{"--timeout", "10s", "--network", "local", "--inference", model},
			flood.Shell(flood.Answer + "; echo ended; sleep 1000"),
			"time limit",
		},
	}
}

// responsive measures how long a command and a session take.
func (m *machine) responsive(repo string) (list, session time.Duration) {
	m.t.Helper()
	list = m.aibox(0, "ls").took
	return list, m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--", "true").took
}

// Whatever resource a sandbox uses as much of as it can, a limit ends its session with exit code 5
// and keeps its work. Meanwhile other commands and sessions are not much slower, and the supervisor
// stays small. The factor is generous, since tests share the machine.
func TestALimitEndsEachFloodAndOtherSessionsContinue(t *testing.T) {
	t.Parallel()
	for name, f := range exhaustions(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			repo := m.repo("p", nil)
			quietList, quietSession := m.responsive(repo)
			flags := f.flags
			if !strings.Contains(strings.Join(flags, " "), "--network") {
				flags = append(flags, "--network", "none")
			}
			b := m.start(append(append([]string{"run", "shell", "--repo", repo}, flags...), append([]string{"--", "sh", "-c", `echo work > work.txt; "$@"`, "sh"}, f.program...)...)...)
			b.stdout.await(t, "begun")
			peaks := watchPeak(m.stored()[1].State.Supervisor.PID)
			list, session := m.responsive(repo)
			t.Logf("quiet: %v and %v; flooded: %v and %v", quietList, quietSession, list, session)
			if list > 10*quietList+5*time.Second || session > 10*quietSession+10*time.Second {
				t.Errorf("it hurts others: a list takes %v instead of %v, a session %v instead of %v", list, quietList, session, quietSession)
			}
			if code := b.wait(); code != 5 || !strings.Contains(b.stderr.String(), f.reason) || !strings.Contains(b.stderr.String(), "→") {
				t.Fatalf("it ends with %d:\n%.3000s", code, b.stderr.String())
			}
			peak := <-peaks
			t.Logf("the supervisor took %d MB", peak>>10)
			if peak > memoryBound {
				t.Error("that is too much")
			}
			m.tidied()
			id := m.stored()[1].ID
			if o := m.aibox(0, "diff", id, "--", "work.txt"); !strings.Contains(o.stdout, "+work") {
				t.Errorf("the work is lost:\n%s", o)
			}
			if text := m.read(m.sessions(), id, "audit.jsonl"); !strings.Contains(text, `"limit.reached"`) {
				t.Errorf("the log has\n%.3000s", text)
			}
			m.aibox(0, "rm", "--force", id)
		})
	}
}

// A limit is announced, and the user can raise it while the agent works.
func TestALimitThatIsRaisedDoesNotEndTheSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ flag, near, first, second string }{
		"disk":   {"--disk", "the workspace has grown by", "head -c 18000000 /dev/zero > x", "head -c 15000000 /dev/zero > y"},
		"output": {"--max-output", "the agent has printed", "yes near | head -c 18000000", "yes over | head -c 15000000"},
		"idle":   {"--idle-timeout", "the session is idle", "true", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			value := "20"
			if name == "idle" {
				value = "20s"
			}
			id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), c.flag, value, "--", "sh", "-c",
				c.first+"; until test -e go; do sleep 0.1; done; "+c.second+"; until test -e done; do sleep 0.1; done")
			eventually(t, limit, "the session asks", func() bool {
				return strings.Contains(m.aibox(0, "answer", "--json").stdout, fmt.Sprintf(`"what": %q`, name))
			})
			m.aibox(0, "answer", id, "yes")
			if text := m.read(m.sessions(), id, "audit.jsonl"); !strings.Contains(text, `"limit.extended"`) || !strings.Contains(text, c.near) && name != "idle" {
				t.Errorf("the log has\n%.3000s", text)
			}
			workspace := m.record(id).State.Workspace.Path
			m.write(workspace+"/go", "")
			m.write(workspace+"/done", "")
			m.aibox(0, "attach", id)
			if r := m.record(id).State.Result; r.Fault != nil {
				t.Errorf("it ends with %+v", r.Fault)
			}
		})
	}
}
