package manager

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"aibox/audit"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/review"
	"aibox/review/accept"
	"aibox/session"
	"aibox/session/agentstate"
	"aibox/session/queue"
	"aibox/session/summary"
)

// queuer is a session in a test of the queue: it does what a supervisor does with the
// session's records.
type queuer struct {
	*fixture
	id   session.ID
	spec session.Spec
	held *flock.Lock
}

// newQueuer creates a session that starts only while no other one runs.
func newQueuer(d *fixture, id session.ID) *queuer {
	d.t.Helper()
	q := &queuer{fixture: d, id: id, spec: session.Spec{ID: id, Agent: "a", Prompt: "the task", Run: config.Run{MaxParallel: 1}}}
	d.must(os.Mkdir(d.store.Dir(id), 0o700))
	held, err := d.store.Lock(id)
	d.must(err)
	q.held = held
	d.t.Cleanup(func() { _ = held.Close() })
	return q
}

// join joins the queue, and reports whether the session may start.
func (q *queuer) join() bool {
	q.t.Helper()
	wait, err := queue.Join(context.Background(), q.store, q.id, &q.spec, func(queue *session.Queue) error {
		state := session.State{Phase: session.Preparing}
		if queue != nil {
			queue.Detached = true
			state = session.State{Phase: session.Queued, Queue: queue}
		}
		if err := q.store.WriteSpec(q.id, q.spec); err != nil {
			return err
		}
		return q.store.WriteState(q.id, state)
	})
	q.must(err)
	if wait != nil && !wait.Unchanged(q.store) {
		q.t.Errorf("%s need not wait for what it waits for: %+v", q.id, wait)
	}
	return wait == nil
}

func TestSessionsStartInTheOrderOfTheirCreation(t *testing.T) {
	d := newFixture(t)
	first, second, third := newQueuer(d, "00001-a"), newQueuer(d, "00002-a"), newQueuer(d, "00003-a")
	if !first.join() || second.join() || third.join() {
		t.Fatal("not only the first one starts")
	}
	summaries, err := d.Summaries()
	d.must(err)
	for i, want := range []int{0, 1, 2} {
		if s := summaries[i]; s.Position != want || want > 0 && (s.Status() != summary.StatusQueued || s.Queue == "") {
			t.Errorf("%s has position %d, status %s and waits for %q", s.ID, s.Position, s.Status(), s.Queue)
		}
	}
	all, err := d.List()
	d.must(err)
	if all[2].Position != 2 {
		t.Errorf("the list has position %d", all[2].Position)
	}
	d.must(d.store.Write(first.id, session.StateFile, session.State{Phase: session.Ended})) // its supervisor still cleans up
	if third.join() || !second.join() || third.join() {
		t.Error("the third starts before the second")
	}
	d.must(second.held.Close()) // the second one was killed
	if !third.join() {
		t.Error("a dead session keeps its place")
	}
}

func TestADeadSessionInTheQueueDoesNotBlockOthers(t *testing.T) {
	d := newFixture(t)
	first, second, third := newQueuer(d, "00001-a"), newQueuer(d, "00002-a"), newQueuer(d, "00003-a")
	if !first.join() || second.join() || third.join() {
		t.Fatal("not only the first one starts")
	}
	d.must(second.held.Close())
	d.must(d.store.Write(first.id, session.StateFile, session.State{Phase: session.Ended}))
	if !third.join() {
		t.Error("the third waits for a dead one")
	}
	repaired, err := d.Repair(t.Context())
	d.must(err)
	if len(repaired) != 1 || repaired[0].ID != second.id || !repaired[0].Queued {
		t.Fatalf("repaired %+v", repaired)
	}
	found, err := d.Find(string(second.id))
	d.must(err)
	if s := summary.Of(&found); s.Status() != summary.StatusFailed || found.Prompt != "the task" || !strings.Contains(strings.Join(found.State.Result.Fault.Hints, " "), "aibox rerun") {
		t.Errorf("the dead one is %s: %+v", s.Status(), found.State.Result)
	}
}

func TestADeadSessionInTheQueueThatShouldHaveResumedAnotherSaysHow(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "first.txt")
	queued := newQueuer(d, "00002-a")
	queued.spec.Resumes = "00001-a"
	d.must(d.store.WriteSpec(queued.id, queued.spec))
	d.must(d.store.WriteState(queued.id, session.State{Phase: session.Queued, Queue: &session.Queue{Detached: true}}))
	d.must(queued.held.Close())
	repaired, err := d.Repair(t.Context())
	d.must(err)
	found, err := d.Find("00002-a")
	d.must(err)
	want := "`aibox run --resume 00001-a`, with its task"
	if hints := strings.Join(found.State.Result.Fault.Hints, " "); len(repaired) != 1 || !strings.Contains(repaired[0].Again, want) || !strings.Contains(hints, want) {
		t.Errorf("repaired %+v; the hints are %s", repaired, hints)
	}
}

// Its record has the task, but nothing of a conversation that no agent continues.
func TestAQueuedForkThatNeverStartedKeepsNoCopies(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "first.txt")
	talk, err := agentstate.MakeFolder(d.store.Dir("00001-a"), "shell", "~/.talk")
	d.must(err)
	d.write(filepath.Join(talk, "log"), "hello\n")
	_, err = d.Accept(t.Context(), "00001-a", accept.Options{Choice: review.Choice{All: true}, Message: "Work"})
	d.must(err)
	d.forked("00001-a", "00002-a")
	copies := append(agentstate.Roots(d.store.Dir("00002-a")), filepath.Join(d.store.Dir("00002-a"), decisionsFile))
	there := func() (n int) {
		for _, path := range copies {
			if _, err := os.Lstat(path); err == nil {
				n++
			}
		}
		return n
	}
	if there() != 2 {
		t.Fatalf("%d of %q were copied", there(), copies)
	}
	rest := filepath.Join(d.store.Dir("00002-a"), ".aibox-removed-x") // of an interrupted removal
	d.write(filepath.Join(rest, "log"), "hello\n")
	ws := d.loaded("00002-a").State.Workspace
	d.must(d.store.Write("00002-a", session.StateFile, session.State{Phase: session.Preparing, Workspace: ws, Queue: &session.Queue{Detached: true}}))
	repaired, err := d.Repair(t.Context())
	d.must(err)
	if len(repaired) != 1 || !repaired[0].Queued || there() != 0 {
		t.Errorf("repaired is %+v, and %d of %q are left", repaired, there(), copies)
	}
	if _, err := os.Lstat(rest); !os.IsNotExist(err) {
		t.Errorf("the rest of an interrupted removal is left: %v", err)
	}
	if gone, _ := ws.Gone(); !gone || !agentstate.FolderUsed(d.store.Dir("00001-a"), "shell", "~/.talk") {
		t.Errorf("the workspace is gone: %v", gone)
	}
}

func TestAQueuedSessionWhoseClientWaitedIsRemoved(t *testing.T) {
	d := newFixture(t)
	dead := newQueuer(d, "00002-a")
	d.must(d.store.WriteSpec(dead.id, dead.spec))
	d.must(d.store.WriteState(dead.id, session.State{Phase: session.Queued, Queue: &session.Queue{For: session.ForPlace, Text: "x"}}))
	d.must(dead.held.Close())
	repaired, err := d.Repair(t.Context())
	d.must(err)
	if _, found := d.Find(string(dead.id)); len(repaired) != 1 || found == nil {
		t.Errorf("repaired %+v; found: %v", repaired, found)
	}
}

// A session without a supervisor cannot notify its user, so the repair does, and only once.
func TestARepairNotifiesOfASessionWhoseSupervisorDied(t *testing.T) {
	d := newFixture(t)
	var mu sync.Mutex
	var notes []string
	received := filepath.Join(d.dirs.Home, "received")
	on := []string{string(NotifyFailed), string(NotifyEnded)}
	d.settings = Settings{Notifications: Notifications{On: on, Command: NewNotifyCommand("tee -a " + received), Desktop: func(_ context.Context, title, text string) error {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, title+": "+text)
		return nil
	}}}
	d.died("00001-a", session.Running, nil)
	d.died("00002-a", session.Computing, &session.Result{Changes: session.Changes{Unknown: session.NotComputedYet}})
	queued := newQueuer(d, "00003-a")
	d.must(d.store.WriteSpec(queued.id, queued.spec))
	d.must(d.store.WriteState(queued.id, session.State{Phase: session.Queued, Queue: &session.Queue{Detached: true}}))
	d.must(queued.held.Close())
	d.died("00004-a", session.Running, nil)
	_, err := d.Kill(t.Context(), "00004-a", "by the user")
	d.must(err)
	for range 2 {
		_, err := d.Repair(t.Context())
		d.must(err)
	}
	slices.Sort(notes)
	want := []string{
		"00001-a failed: the session's supervisor died, so its sandbox was ended", "00002-a has ended: what it changed is not known yet",
		"00003-a failed: the session's supervisor died before the agent started",
	}
	if !slices.Equal(notes, want) {
		t.Errorf("notified are %q", notes)
	}
	lines, err := os.ReadFile(received)
	if err != nil || strings.Count(string(lines), "\n") != 3 || !strings.Contains(string(lines), `"event":"failed","session":"00001-a"`) {
		t.Errorf("the command received %s, %v", lines, err)
	}
}

// Two processes that append to a log at once break its hash chain.
func TestAFailureOfTheNotifyCommandIsLoggedOnlyWithTheSessionsLock(t *testing.T) {
	for _, used := range []bool{false, true} {
		d := newFixture(t)
		d.died("00001-a", session.Running, nil)
		d.settings = Settings{Notifications: Notifications{On: []string{string(NotifyFailed)}, Command: NewNotifyCommand("false"), Desktop: func(context.Context, string, string) error {
			if used {
				held, err := d.store.Lock("00001-a")
				d.must(err)
				t.Cleanup(func() { _ = held.Close() })
			}
			return nil
		}}}
		_, err := d.Repair(t.Context())
		d.must(err)
		if types, _ := d.logged("00001-a"); slices.Contains(types, audit.NoticeGiven) == used {
			t.Errorf("another process uses it: %v; the log has %v", used, types)
		}
	}
}

// The supervisor could not undo the start, so it left the end of the session to the next repair.
func TestARepairOfAQueuedSessionKeepsTheReasonOfItsFailedStart(t *testing.T) {
	d := newFixture(t)
	queued := newQueuer(d, "00001-a")
	d.must(d.store.WriteSpec(queued.id, queued.spec))
	d.must(d.store.WriteState(queued.id, session.State{Phase: session.Preparing, Queue: &session.Queue{Detached: true}}))
	failed := session.FailedStart(fault.New(fault.Environment, "the image is gone"), &queued.spec)
	d.must(d.append(queued.id, audit.AgentEnded, session.AgentEnd{ExitCode: failed.ExitCode, Fault: failed.Fault}))
	d.must(queued.held.Close())
	_, err := d.Repair(t.Context())
	d.must(err)
	record, err := d.store.Load(queued.id)
	d.must(err)
	if end := record.State.Result; record.State.Phase != session.Ended || end == nil || end.Fault.Message != "the image is gone" {
		t.Errorf("stored is %s, %+v", record.State.Phase, end)
	}
}
