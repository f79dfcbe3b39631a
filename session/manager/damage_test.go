package manager

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"aibox/audit"
	"aibox/config"
	"aibox/runtime"
	"aibox/session"
	"aibox/workspace"
)

// torn are contents of a state or spec that a crash or a failing disk can leave.
var torn = map[string]func(whole []byte) []byte{
	"empty":       func([]byte) []byte { return nil },
	"cut":         func(whole []byte) []byte { return whole[:len(whole)*2/3] },
	"zeros":       func(whole []byte) []byte { return make([]byte, len(whole)) },
	"overwritten": func(whole []byte) []byte { return append([]byte("\n\n\n\x7f"), whole[4:]...) },
}

// worked is a session with an undamaged record whose agent wrote a file and whose
// supervisor was killed in the given phase.
func (d *fixture) worked(id session.ID, phase session.Phase) {
	d.t.Helper()
	ws := d.prepared(id)
	d.must(d.append(id, audit.SessionStarted, map[string]any{"agent": "shell", "repository": d.repo, "network": "none", "image": "aibox/base:0"}))
	state := session.State{Phase: session.Preparing, Workspace: ws, Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}
	d.must(d.store.WriteState(id, state))
	d.must(d.append(id, audit.AgentStarted, nil))
	d.write(filepath.Join(ws.Path, "made.txt"), "made\n")
	state.Phase, state.Started = session.Running, session.Now()
	d.must(d.store.WriteState(id, state))
	if phase == session.Running {
		return
	}
	d.must(d.append(id, audit.AgentEnded, map[string]any{"exit_code": 3}))
	state.Phase, state.Result = session.Computing, &session.Result{ExitCode: 3, Changes: session.Changes{Unknown: session.NotComputedYet}}
	d.must(d.store.WriteState(id, state))
	if phase == session.Ended {
		state.Phase, state.Ended = session.Ended, session.Now()
		d.must(d.store.WriteState(id, state))
	}
}

// cutLog removes the last event of a session's log, as a failing disk can.
func (d *fixture) cutLog(id session.ID) {
	d.t.Helper()
	path := d.store.AuditPath(id)
	data, err := os.ReadFile(path)
	d.must(err)
	lines := slices.Collect(strings.Lines(string(data)))
	d.must(os.WriteFile(path, []byte(strings.Join(lines[:len(lines)-1], "")), 0o600))
}

func (d *fixture) tear(id session.ID, file string, how func([]byte) []byte) {
	d.t.Helper()
	path := filepath.Join(d.store.Dir(id), file)
	data, err := os.ReadFile(path)
	d.must(err)
	d.must(os.WriteFile(path, how(data), 0o600))
}

func TestADamagedRecordIsRestoredAndItsWorkIsKept(t *testing.T) {
	for _, file := range []string{session.StateFile, session.SpecFile} {
		for _, phase := range []session.Phase{session.Running, session.Computing, session.Ended} {
			for name, how := range torn {
				t.Run(file+" "+string(phase)+" "+name, func(t *testing.T) {
					t.Parallel()
					d := newFixture(t)
					d.worked("00001-shell", phase)
					d.tear("00001-shell", file, how)
					repaired, err := d.Repair(t.Context())
					d.must(err)
					if len(repaired) != 1 || !repaired[0].Kept || len(repaired[0].Restored) != 1 || !strings.HasPrefix(repaired[0].Restored[0], file+" was damaged") {
						t.Fatalf("repaired is %+v", repaired)
					}
					record := d.loaded("00001-shell")
					if record.State.Phase != session.Ended || record.Agent != "shell" || record.Repository != d.repo || record.State.Result == nil {
						t.Errorf("it is %+v", record)
					}
					if phase != session.Running && record.State.Result.ExitCode != 3 {
						t.Errorf("the agent's exit code is lost: %+v", record.State.Result)
					}
					if got := d.files("00001-shell"); got != "made.txt" {
						t.Errorf("it changed %q", got)
					}
					if _, err := os.Lstat(filepath.Join(d.store.Dir("00001-shell"), file+".damaged")); err != nil {
						t.Errorf("the damaged file: %v", err)
					}
					if again, err := d.Repair(t.Context()); err != nil || len(again) > 0 {
						t.Errorf("it is repaired again: %+v, %v", again, err)
					}
				})
			}
		}
	}
}

// A zero would mean no limit, for verifications, too.
func TestARestoredSpecHasTheDefaultLimits(t *testing.T) {
	d := newFixture(t)
	ws := d.prepared("00001-shell")
	d.must(d.append("00001-shell", audit.SessionStarted, map[string]any{"agent": "shell", "tenant": "acme", "forks": "00000-shell", "network": "public"}))
	d.must(d.append("00001-shell", audit.AgentStarted, nil))
	d.must(d.store.WriteState("00001-shell", session.State{Phase: session.Running, Started: session.Now(), Workspace: ws, Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}))
	d.write(filepath.Join(d.store.Dir("00001-shell"), session.SpecFile), "{")
	_, err := d.Repair(t.Context())
	d.must(err)
	record := d.loaded("00001-shell")
	if record.Tenant != "acme" || record.Forks != "00000-shell" || record.Network != "public" || len(record.Hide) == 0 || !slices.Equal(record.Hide, ws.Hide) {
		t.Errorf("it is %+v", record.Spec)
	}
	for _, run := range []config.Run{record.Run, record.WithoutNetwork()} {
		if run.Memory <= 0 || run.CPUs <= 0 || run.Pids <= 0 || run.Disk <= 0 || run.StateSize <= 0 || run.MaxOutput <= 0 {
			t.Errorf("a limit is missing: %+v", run)
		}
	}
	if record.Timeout <= 0 || record.IdleTimeout <= 0 || record.MaxUpload <= 0 || record.EgressUpload <= 0 || record.EgressDownload <= 0 || record.ModelTimeout <= 0 {
		t.Errorf("a limit is missing: %+v", record.Run)
	}
}

func TestARestoredSpecHasTheSandboxesThatItsAgentCouldCreate(t *testing.T) {
	for name, c := range map[string]struct {
		started map[string]any
		want    int
	}{
		"logged":                 {map[string]any{"agent": "shell", "sandboxes": 4}, 4},
		"more than there can be": {map[string]any{"agent": "shell", "sandboxes": 1000}, 0},
		"less than none":         {map[string]any{"agent": "shell", "sandboxes": -1}, 0},
		"of an earlier version":  {map[string]any{"agent": "shell"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			ws := d.prepared("00001-shell")
			d.must(d.append("00001-shell", audit.SessionStarted, c.started))
			d.must(d.append("00001-shell", audit.AgentStarted, nil))
			d.must(d.store.WriteState("00001-shell", session.State{Phase: session.Running, Started: session.Now(), Workspace: ws, Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}))
			d.write(filepath.Join(d.store.Dir("00001-shell"), session.SpecFile), "{")
			_, err := d.Repair(t.Context())
			d.must(err)
			record := d.loaded("00001-shell")
			if record.OwnSandboxes() != c.want || !record.Inherits("sandboxes") {
				t.Errorf("it has %d sandboxes, inherited: %v", record.OwnSandboxes(), record.Inherits("sandboxes"))
			}
		})
	}
}

// A sandbox without its spec was taken for a session with an agent, which its tenant cannot see.
func TestASandboxWhoseSpecIsDamagedStaysTheSandboxOfItsTenant(t *testing.T) {
	for name, c := range map[string]struct {
		started session.SandboxSpec
		claim   map[string]any
	}{
		"created": {session.SandboxSpec{Tenant: "acme", Template: "python", User: "user", Labels: session.Labels{Name: "mine"}}, nil},
		"claimed": {
			session.SandboxSpec{Template: "python", User: "user", Warm: &session.WarmStart{}},
			map[string]any{"tenant": "acme", "template": "python", "name": "mine"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			id := session.ID("00001-" + session.SandboxAgent)
			d.must(os.MkdirAll(d.store.Dir(id), 0o700))
			d.must(d.append(id, audit.SessionStarted, map[string]any{"agent": session.SandboxAgent, "network": "none", "image": "i", "sandbox": c.started}))
			d.must(d.append(id, audit.AgentStarted, nil))
			if c.claim != nil {
				d.must(d.append(id, audit.SandboxClaimed, c.claim))
			}
			state := session.State{Phase: session.Running, Started: session.Now(), Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}
			d.must(d.store.WriteState(id, state))
			d.must(os.WriteFile(filepath.Join(d.store.Dir(id), session.SpecFile), []byte("{"), 0o600))
			repaired, err := d.Repair(t.Context())
			d.must(err)
			record := d.loaded(id)
			if len(repaired) != 1 || !record.IsSandbox() || record.Sandbox.Tenant != "acme" || record.Sandbox.User != "user" || record.Labels().Name != "mine" || record.Sandbox.Warm != nil {
				t.Fatalf("repaired is %+v, the sandbox %+v", repaired, record.Sandbox)
			}
			if end := record.State.Result; end == nil || end.Changes.Unknown != "" || record.Sandbox.Claimed != (c.claim != nil) {
				t.Errorf("it ended with %+v: %+v", end, record.Sandbox)
			}
		})
	}
}

// Without the state before the last step, the log still proves that there is work.
func TestALostStateNeverRemovesWork(t *testing.T) {
	for name, lose := range map[string]func(*fixture, string){
		"both damaged": func(d *fixture, dir string) {
			d.write(filepath.Join(dir, session.StateFile), "")
			d.write(filepath.Join(dir, "state.previous.json"), "")
		},
		"both missing": func(d *fixture, dir string) {
			d.must(os.Remove(filepath.Join(dir, session.StateFile)))
			d.must(os.Remove(filepath.Join(dir, "state.previous.json")))
		},
		"state and log damaged": func(d *fixture, dir string) {
			for _, file := range []string{session.StateFile, "state.previous.json", "audit.jsonl"} {
				d.write(filepath.Join(dir, file), "\x00\x00")
			}
			d.must(os.Remove(audit.LastPath(filepath.Join(dir, "audit.jsonl"))))
		},
		"all missing but the log": func(d *fixture, dir string) {
			for _, file := range []string{session.StateFile, "state.previous.json", session.SpecFile} {
				d.must(os.Remove(filepath.Join(dir, file)))
			}
			old := session.Now().Add(-time.Hour)
			d.must(os.Chtimes(dir, old, old))
		},
		"state damaged and log cut": func(d *fixture, dir string) { // the state before the last step has no start
			d.write(filepath.Join(dir, session.StateFile), "")
			d.cutLog("00001-shell")
		},
		"state damaged and log lost": func(d *fixture, dir string) {
			d.write(filepath.Join(dir, session.StateFile), "")
			d.must(os.Remove(filepath.Join(dir, "audit.jsonl")))
			d.must(os.Remove(audit.LastPath(filepath.Join(dir, "audit.jsonl"))))
		},
		"spec and log lost": func(d *fixture, dir string) {
			for _, file := range []string{session.SpecFile, "audit.jsonl"} {
				d.must(os.Remove(filepath.Join(dir, file)))
			}
			d.must(os.Remove(audit.LastPath(filepath.Join(dir, "audit.jsonl"))))
			d.write(d.store.SupervisorLog("00001-shell"), "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.worked("00001-shell", session.Running)
			ws := d.loaded("00001-shell").State.Workspace
			lose(d, d.store.Dir("00001-shell"))
			repaired, err := d.Repair(t.Context())
			if name != "state damaged and log cut" { // which nothing can be added to
				d.must(err)
			}
			if len(repaired) != 1 || !repaired[0].Kept || len(repaired[0].Restored) == 0 {
				t.Errorf("repaired is %+v", repaired)
			}
			if gone, _ := ws.Gone(); gone {
				t.Error("the workspace is gone")
			}
			if record := d.loaded("00001-shell"); record.State.Phase != session.Ended {
				t.Errorf("it is %+v", record.State)
			}
		})
	}
}

// Otherwise two sessions would have the same workspace.
func TestADamagedLogDoesNotHideThatASessionWasContinued(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-shell", "one.txt")
	d.resumed("00001-shell", "00002-shell", "two.txt")
	d.must(d.store.WriteState("00001-shell", d.loaded("00001-shell").State)) // now the previous one has the successor, too
	d.write(filepath.Join(d.store.Dir("00001-shell"), session.StateFile), "")
	d.cutLog("00001-shell")
	_, _ = d.Repair(t.Context()) // reports that the log cannot be continued
	if by := d.loaded("00001-shell").State.ContinuedBy; by != "00002-shell" {
		t.Errorf("it was continued by %q", by)
	}
}

// The supervisor can die after the agent's start and before that is stored in the state.
// The agent may already have worked.
func TestWorkOfAnAgentWhoseStartWasNotStoredIsKept(t *testing.T) {
	d := newFixture(t)
	ws := d.prepared("00001-shell")
	d.must(d.append("00001-shell", audit.AgentStarted, nil))
	d.write(filepath.Join(ws.Path, "made.txt"), "made\n")
	repaired, err := d.Repair(t.Context())
	d.must(err)
	if len(repaired) != 1 || !repaired[0].Kept {
		t.Fatalf("repaired is %+v", repaired)
	}
	if got := d.files("00001-shell"); got != "made.txt" {
		t.Errorf("it changed %q", got)
	}
}

func TestTheAgentsEndIsTakenFromTheLog(t *testing.T) {
	d := newFixture(t)
	d.worked("00001-shell", session.Running)
	d.must(d.append("00001-shell", audit.AgentEnded, map[string]any{"exit_code": 0, "signal": 0}))
	_, err := d.Repair(t.Context())
	d.must(err)
	if result := d.loaded("00001-shell").State.Result; result.ExitCode != 0 || result.Fault != nil || result.Changes.Unknown == "" {
		t.Errorf("the result is %+v", result)
	}
}

// The next command can come days after a crash.
func TestARepairedSessionEndedWhenItLastRan(t *testing.T) {
	d := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		want := map[session.ID]time.Duration{"00001-shell": 5 * time.Minute, "00002-shell": 7 * time.Minute, "00003-shell": 0, "00004-shell": 5 * time.Minute, "00005-shell": 48 * time.Hour, "00006-shell": 5 * time.Minute}
		for id := range want {
			d.worked(id, session.Running)
		}
		begun := session.Now()
		time.Sleep(5 * time.Minute)
		d.must(d.append("00001-shell", audit.AgentEnded, map[string]any{"exit_code": 0})) // its supervisor died before it stored that
		d.must(d.append("00004-shell", audit.NoticeGiven, nil))
		verifying := d.loaded("00006-shell").State
		verifying.Phase, verifying.Result = session.Verifying, &session.Result{Seconds: (5 * time.Minute).Seconds()}
		d.must(d.append("00006-shell", audit.AgentEnded, map[string]any{"exit_code": 0}))
		d.must(d.store.WriteState("00006-shell", verifying))
		live := filepath.Join(d.store.Dir("00002-shell"), "live.json")
		d.write(live, "{}")
		d.must(os.Chtimes(live, begun, begun.Add(7*time.Minute)))
		time.Sleep(begun.Add(48 * time.Hour).Sub(session.Now()))
		_, err := d.Kill(t.Context(), "00005-shell", "by the user")
		d.must(err)
		time.Sleep(time.Hour)
		_, err = d.Repair(t.Context())
		d.must(err)
		for id, ran := range want {
			state := d.loaded(id).State
			if ended := state.Ended.Sub(begun).Round(time.Second); ended != ran || time.Duration(state.Result.Seconds*float64(time.Second)).Round(time.Second) != ran {
				t.Errorf("%s: it ended after %v, took %v s", id, ended, state.Result.Seconds)
			}
		}
	})
}

func TestARepairedRecordHasNoTemporaryFiles(t *testing.T) {
	for _, phase := range []session.Phase{session.Running, session.Computing} {
		d := newFixture(t)
		d.worked("00001-shell", phase)
		dir := d.store.Dir("00001-shell")
		for _, name := range []string{".state.json.123456", ".changes.json.99", "control.sock", "live.json", "live.json.next", "live.stale.json", "reserve", "reserve.result"} {
			d.write(filepath.Join(dir, name), "{")
		}
		d.write(filepath.Join(dir, "output.raw"), "kept")
		pack := filepath.Join(d.loaded("00001-shell").State.Workspace.GitDir, "objects/pack/tmp_pack_abc")
		d.write(pack, "PACK")
		_, err := d.Repair(t.Context())
		d.must(err)
		if _, err := os.Lstat(pack); err == nil {
			t.Error("an unfinished pack is left")
		}
		var names []string
		for name := range d.content("00001-shell") {
			names = append(names, name)
		}
		slices.Sort(names)
		if want := []string{"audit.jsonl", "audit.last", "output.raw", session.SpecFile, "state.previous.json", session.StateFile}; !slices.Equal(names, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: it holds %q", phase, names)
		}
	}
}

// sleeper returns a process that runs until it is killed.
func sleeper(t *testing.T) runtime.Process {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() { _ = cmd.Wait() }()
	p, err := runtime.FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A watchdog that was stopped by a signal does not notice the end of its supervisor.
func TestRepairEndsAStoppedWatchdog(t *testing.T) {
	d := newFixture(t)
	d.worked("00001-shell", session.Running)
	watchdog := sleeper(t)
	d.must(unix.Kill(watchdog.PID, unix.SIGSTOP))
	state := d.loaded("00001-shell").State
	state.Watchdog = watchdog
	d.must(d.store.WriteState("00001-shell", state))
	_, err := d.Repair(t.Context())
	d.must(err)
	d.must(watchdog.AwaitEnd(time.Minute))
}

// The time in a synctest bubble begins in the year 2000, so all files have times in the
// future, as after a clock was set back.
func TestRepairEndsSoonWhenTheClockWasSetBack(t *testing.T) {
	d := newFixture(t)
	d.worked("00001-shell", session.Running)
	network, err := d.pool.Acquire(t.Context(), "00001-shell")
	d.must(err)
	ws := d.prepared("00002-shell")
	d.must(d.store.WriteState("00002-shell", session.State{Phase: session.Preparing, Workspace: ws, Network: &network})) // its container may still appear
	d.must(os.Mkdir(d.store.Dir("00003-shell"), 0o700))
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		repaired, err := d.Repair(t.Context())
		if took := time.Since(begin); err != nil || took > 2*containerAppearTimeout {
			t.Errorf("it takes %v, %v", took, err)
		}
		if len(repaired) != 3 {
			t.Errorf("repaired is %+v", repaired)
		}
	})
	if result := d.loaded("00001-shell").State.Result; result.Seconds < 0 {
		t.Errorf("it ran %v seconds", result.Seconds)
	}
}

// A start that was killed before it recorded its workspace used to leave the empty folder.
func TestAStartThatDiedBeforeItsWorkspaceWasRecordedLeavesNoFolder(t *testing.T) {
	d := newFixture(t)
	reserved := filepath.Join(d.dirs.Workspace, ".aibox-new-00001-shell")
	d.must(os.MkdirAll(reserved, 0o700))
	d.must(os.Mkdir(d.store.Dir("00001-shell"), 0o700))
	d.must(d.store.Write("00001-shell", session.SpecFile, session.Spec{ID: "00001-shell", Created: session.Now(), Repository: d.repo}))
	d.must(d.store.Write("00001-shell", session.StateFile, session.State{Phase: session.Preparing, Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}))
	_, err := d.Repair(t.Context())
	d.must(err)
	if _, err := os.Lstat(reserved); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", reserved, err)
	}
}

// On a busy machine the daemon creates the container of a dead supervisor after the session
// was repaired. It used to stay until another session started.
func TestAContainerThatAppearsLateIsRemovedByALaterRepair(t *testing.T) {
	d := newFixture(t)
	network, err := d.pool.Acquire(t.Context(), "00001-shell")
	d.must(err)
	d.must(d.store.WriteState("00001-shell", session.State{Phase: session.Preparing, Workspace: d.prepared("00001-shell"), Network: &network}))
	before := time.Now().Add(-2 * containerAppearTimeout)
	d.must(os.Chtimes(filepath.Join(d.store.Dir("00001-shell"), session.StateFile), before, before)) // so that the repair does not wait
	_, err = d.Repair(t.Context())
	d.must(err)
	if !d.ExpectsContainer() {
		t.Fatal("no container is expected")
	}
	late, err := d.daemon.Create(t.Context(), runtime.Spec{Session: d.store.SandboxName("00001-shell"), Image: d.daemon.Images["fake:latest"], Init: "/init", Network: network})
	d.must(err)
	_, err = d.Repair(t.Context())
	d.must(err)
	if state, err := late.State(t.Context()); err != nil || state.Status != runtime.Gone {
		t.Errorf("the container is %v, %v", state.Status, err)
	}
	long := time.Now().Add(-2 * lateContainerTimeout)
	d.must(os.Chtimes(lateContainer(d.store), long, long))
	_, err = d.Repair(t.Context())
	d.must(err)
	if d.ExpectsContainer() {
		t.Error("a container is expected for ever")
	}
}

// The state before the last step was stored before the daemon was asked for a container.
func TestAContainerThatADamagedStateDoesNotNameIsRemovedWhenItAppearsLate(t *testing.T) {
	d := newFixture(t)
	id := session.ID("00001-shell")
	ws := d.prepared(id)
	d.must(d.append(id, audit.SessionStarted, map[string]any{"agent": "shell", "repository": d.repo, "network": "none", "image": "aibox/base:0"}))
	state := session.State{Phase: session.Preparing, Workspace: ws, Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}
	d.must(d.store.WriteState(id, state))
	network, err := d.pool.Acquire(t.Context(), string(id))
	d.must(err)
	state.Network = &network
	d.must(d.store.WriteState(id, state))
	d.tear(id, session.StateFile, torn["cut"])
	repaired, err := d.Repair(t.Context())
	d.must(err)
	if len(repaired) != 1 || repaired[0].Kept || len(repaired[0].Restored) != 1 {
		t.Fatalf("repaired is %+v", repaired)
	}
	late, err := d.daemon.Create(t.Context(), runtime.Spec{Session: d.store.SandboxName(id), Image: d.daemon.Images["fake:latest"], Init: "/init", Network: network})
	d.must(err)
	_, err = d.Repair(t.Context())
	d.must(err)
	if state, err := late.State(t.Context()); err != nil || state.Status != runtime.Gone {
		t.Errorf("the container is %v, %v", state.Status, err)
	}
}

// NFS and FUSE keep an open file under another name when it is removed, so a folder with a
// lock that is held cannot be removed as a whole. A process that removes a workspace can be
// killed.
func TestTheRemainsOfRemovedRecordsAndWorkspacesAreRemovedByTheNextRepair(t *testing.T) {
	d := newFixture(t)
	for what, root := range map[string]string{"record": d.dirs.Sessions(), "workspace": d.dirs.Workspace} {
		rest := filepath.Join(root, ".aibox-removed-abc")
		d.write(filepath.Join(rest, ".fuse_hidden0001"), "")
		_, err := d.Repair(t.Context())
		d.must(err)
		if _, err := os.Lstat(rest); err != nil {
			t.Errorf("a %s that another process removes was removed", what)
		}
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(50 * 365 * 24 * time.Hour) // from the year 2000 on
			_, err = d.Repair(t.Context())
		})
		d.must(err)
		if _, err := os.Lstat(rest); err == nil {
			t.Errorf("the rest of a %s is left", what)
		}
	}
}

// A session that is just being created, or whose record is being removed, has no spec.
func TestAFolderWithoutASpecIsNoError(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-shell", "one.txt")
	d.must(os.Mkdir(d.store.Dir("00002-shell"), 0o700))
	all, err := d.List()
	if err != nil || len(all) != 1 {
		t.Errorf("listed are %d sessions, %v", len(all), err)
	}
}

// The folder of a supervisor that was killed before it had written a spec is removed at
// once; a folder that is about to be used is not.
func TestAFolderWithoutASpecIsRemovedOnceItsSupervisorHasDied(t *testing.T) {
	d := newFixture(t)
	for _, id := range []session.ID{"00001-shell", "00002-shell"} {
		d.must(os.Mkdir(d.store.Dir(id), 0o700))
	}
	d.write(d.store.SupervisorLog("00001-shell"), "")
	repaired, err := d.Repair(t.Context())
	d.must(err)
	if len(repaired) != 1 || repaired[0].ID != "00001-shell" {
		t.Errorf("repaired is %+v", repaired)
	}
	if _, err := os.Lstat(d.store.Dir("00002-shell")); err != nil {
		t.Error("a folder that is about to be used was removed")
	}
}

func TestASandboxThatOutlivesTheEndOfItsSessionIsReportedAndRemoved(t *testing.T) {
	d := newFixture(t)
	create := func(id session.ID, network string) runtime.Sandbox {
		t.Helper()
		d.worked(id, session.Ended)
		made, err := d.daemon.Create(t.Context(), runtime.Spec{Session: d.store.SandboxName(id), Image: d.daemon.Images["fake:latest"], Init: "/init", Network: runtime.Network{ID: network}})
		d.must(err)
		return made
	}
	is := func(sandbox runtime.Sandbox) runtime.Status {
		t.Helper()
		state, err := sandbox.State(t.Context())
		d.must(err)
		return state.Status
	}
	left, ending := create("00001-shell", "1"), create("00002-shell", "2")
	held, err := d.store.Lock("00002-shell") // held by its supervisor, which removes the sandbox last
	d.must(err)
	problems := d.Unrepaired(t.Context())
	if len(problems) != 1 || !strings.Contains(problems[0], left.ID()[:min(12, len(left.ID()))]) {
		t.Errorf("reported is %q", problems)
	}
	if _, err := d.Repair(t.Context()); err != nil || is(left) == runtime.Gone {
		t.Errorf("without a reason every command asks the daemon: %v, %v", is(left), err)
	}
	d.must(ExpectContainer(d.store)) // like a supervisor that could not remove it
	if _, err := d.Repair(t.Context()); err != nil || is(left) != runtime.Gone || is(ending) == runtime.Gone {
		t.Errorf("the one left is %v, the one that ends %v: %v", is(left), is(ending), err)
	}
	d.must(held.Close())
	if n, err := RemoveOrphans(t.Context(), d.store, d.daemon); n != 1 || err != nil || is(ending) != runtime.Gone {
		t.Errorf("removed are %d, %v", n, err)
	}
}

func TestProblemsThatCannotBeRepairedAreReported(t *testing.T) {
	d := newFixture(t)
	if problems := d.Unrepaired(t.Context()); len(problems) > 0 {
		t.Errorf("on a new machine: %q", problems)
	}
	d.worked("00001-shell", session.Running) // this one is repaired, not reported
	d.worked("00002-shell", session.Running)
	d.replaceIn("00002-shell", session.StateFile, `"format": 1`, `"format": 9`)
	made, err := d.daemon.Create(t.Context(), runtime.Spec{Session: d.store.SandboxName("00003-shell"), Image: d.daemon.Images["fake:latest"], Init: "/init", Network: runtime.Network{ID: "1"}})
	d.must(err)
	other, err := d.daemon.Create(t.Context(), runtime.Spec{Session: "00003-shell-000000", Image: d.daemon.Images["fake:latest"], Init: "/init", Network: runtime.Network{ID: "2"}})
	d.must(err)
	problems := d.Unrepaired(t.Context())
	if len(problems) != 2 || !strings.Contains(problems[0], "00002-shell") || !strings.Contains(problems[1], "belongs to no session that runs") {
		t.Errorf("reported is %q", problems)
	}
	if n, err := RemoveOrphans(t.Context(), d.store, d.daemon); n != 1 || err != nil {
		t.Errorf("removed are %d, %v", n, err)
	}
	gone, err := made.State(t.Context())
	d.must(err)
	kept, err := other.State(t.Context())
	d.must(err)
	if gone.Status != runtime.Gone || kept.Status == runtime.Gone {
		t.Errorf("the orphan is %v, and that of another folder is %v", gone.Status, kept.Status)
	}
	if problems := d.Unrepaired(t.Context()); len(problems) != 1 {
		t.Errorf("afterwards: %q", problems)
	}
}

func BenchmarkRepairOf1000EndedSessions(b *testing.B) {
	d := newFixture(b)
	d.ended("00000-shell", "one.txt")
	state, err := os.ReadFile(filepath.Join(d.store.Dir("00000-shell"), session.StateFile))
	d.must(err)
	for n := range 1000 {
		id := session.ID(fmt.Sprintf("1%04d-shell", n))
		d.write(filepath.Join(d.store.Dir(id), session.StateFile), string(state))
		d.must(d.store.WriteSpec(id, session.Spec{ID: id}))
	}
	for b.Loop() {
		_, err := d.Repair(b.Context())
		d.must(err)
	}
}

// Under a sudo that keeps HOME, root finds the sessions of the user, who could not read what root
// would write there.
func TestTheSessionsOfAnotherUserAreNotRepaired(t *testing.T) {
	d := newFixture(t)
	root := d.store.Root()
	if os.Getuid() == 0 {
		d.must(os.Chown(root, 1, -1))
	} else {
		d.must(os.RemoveAll(root))
		d.must(os.Symlink("/", root)) // root's
	}
	if repaired, err := d.Repair(t.Context()); len(repaired) > 0 || err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("%v, %v", repaired, err)
	}
}

// TakeOver logs the successor before it stores it, and a return does the same. If one of the two is
// lost, the log names a successor that was removed.
func TestASessionIsNotContinuedByOneThatNeverStarted(t *testing.T) {
	d := newFixture(t)
	d.worked("00001-shell", session.Ended)
	d.must(d.append("00001-shell", audit.SessionContinued, map[string]session.ID{"by": "00002-shell"}))
	d.must(os.Mkdir(d.store.Dir("00002-shell"), 0o700))
	d.must(d.ReturnWorkspace(t.Context(), "00001-shell", "00002-shell"))
	d.must(d.store.Remove(t.Context(), "00002-shell"))
	d.write(filepath.Join(d.store.Dir("00001-shell"), session.StateFile), "")
	if _, err := d.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if by := d.loaded("00001-shell").State.ContinuedBy; by != "" {
		t.Errorf("it was continued by %q", by)
	}
}

// The workspace of a session that resumes another is that of the other one, with all of its saved
// states.
func TestAStartThatResumesASessionAndLostItsSpecReturnsTheWorkspace(t *testing.T) {
	for name, c := range map[string]struct {
		started map[string]any
		stored  bool // that the other session is continued
	}{
		"the log names the session":            {map[string]any{"agent": "shell", "resumes": "00001-shell"}, true},
		"only the other session names this":    {map[string]any{"agent": "shell"}, true},
		"killed before the other named this":   {map[string]any{"agent": "shell", "resumes": "00001-shell"}, false},
		"neither says that they belong to one": {map[string]any{"agent": "shell"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.ended("00001-shell", "one.txt")
			d.must(os.Mkdir(d.store.Dir("00002-shell"), 0o700))
			d.must(d.append("00002-shell", audit.SessionStarted, c.started))
			killed := errors.New("killed")
			_, err := d.TakeOver(t.Context(), "00001-shell", "00002-shell", func(ws *workspace.Workspace) error {
				d.must(d.store.WriteState("00002-shell", session.State{Phase: session.Preparing, Workspace: ws, Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}))
				if !c.stored {
					return killed
				}
				return nil
			})
			if c.stored == (err != nil) || err != nil && !errors.Is(err, killed) {
				t.Fatal(err)
			}
			saved := d.saved("00001-shell")
			d.write(filepath.Join(d.store.Dir("00002-shell"), session.SpecFile), "{")
			repaired, err := d.Repair(t.Context())
			d.must(err)
			if len(repaired) != 1 || repaired[0].Kept {
				t.Errorf("repaired is %+v", repaired)
			}
			if got := d.files("00001-shell"); got != "one.txt" {
				t.Errorf("it changed %q", got)
			}
			if got := d.saved("00001-shell"); got != saved || got == "" {
				t.Errorf("saved is %q, and was %q", got, saved)
			}
			if by := d.loaded("00001-shell").State.ContinuedBy; by != "" {
				t.Errorf("it is continued by %q", by)
			}
		})
	}
}
