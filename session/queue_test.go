package session

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/flock"
)

const gib = 1 << 30

func TestASessionWaitsForAPlaceAndForMemory(t *testing.T) {
	running := func(id ID, memory int64) queueMember { return queueMember{id: id, memory: memory} }
	queued := func(id ID, what Resource) queueMember { return queueMember{id: id, queue: &Queue{For: what}} }
	sandbox := func(id ID, memory int64) queueMember { return queueMember{id: id, memory: memory, sandbox: true} }
	for name, c := range map[string]struct {
		limit  int
		memory int64
		short  bool // the available memory is 1 MiB below the minimum
		others []queueMember
		want   Resource // "" if the session starts
		behind string   // one of the sessions that it waits for
	}{
		"alone with a limit":            {limit: 1},
		"below the limit":               {limit: 2, others: []queueMember{running("00001-a", 0)}},
		"at the limit":                  {limit: 1, others: []queueMember{running("00001-a", 0)}, want: ForPlace, behind: "00001-a"},
		"no limit":                      {others: []queueMember{running("00001-a", 0), running("00002-a", 0)}},
		"behind a queued one":           {limit: 2, others: []queueMember{running("00001-a", 0), queued("00002-a", ForPlace)}, want: ForPlace, behind: "00002-a"},
		"behind the last queued one":    {limit: 1, others: []queueMember{running("00001-a", 0), queued("00002-a", ForPlace), queued("00003-a", ForPlace)}, want: ForPlace, behind: "00003-a"},
		"before a later one":            {limit: 2, others: []queueMember{running("00001-a", 0), queued("0000z-a", ForPlace)}},
		"memory that fits":              {memory: 4 * gib, others: []queueMember{running("00001-a", 4*gib)}},
		"memory that does not fit":      {memory: 5 * gib, others: []queueMember{running("00001-a", 4*gib)}, want: ForMemory, behind: "00001-a"},
		"behind one that waits for it":  {memory: 1 * gib, others: []queueMember{running("00001-a", 4*gib), queued("00002-a", ForMemory)}, want: ForMemory, behind: "00002-a"},
		"past one that needs a place":   {memory: 1 * gib, others: []queueMember{running("00001-a", 4*gib), queued("00002-a", ForPlace)}},
		"neither memory nor limit":      {others: []queueMember{queued("00002-a", ForMemory), queued("00003-a", ForPlace)}},
		"memory of a sandbox":           {memory: 5 * gib, others: []queueMember{running("00001-a", 0), sandbox("00002-sandbox", 4*gib)}, want: ForMemory, behind: "00002-sandbox"},
		"a sandbox takes no place":      {limit: 1, others: []queueMember{sandbox("00002-sandbox", 4*gib)}},
		"alone, and short":              {short: true},
		"beside a sandbox, and short":   {short: true, others: []queueMember{sandbox("00002-sandbox", 4*gib)}},
		"beside a session, and short":   {short: true, others: []queueMember{running("00001-a", 0)}, want: ForMemory, behind: "00001-a"},
		"behind a queued one, short":    {short: true, others: []queueMember{running("00001-a", 0), queued("00002-a", ForMemory)}, want: ForMemory, behind: "00002-a"},
		"behind a queued one that left": {short: true, others: []queueMember{queued("00002-a", ForMemory)}},
		"own limit, and short":          {short: true, memory: 1 * gib, others: []queueMember{running("00001-a", 0)}},
		"more than the limit are there": {limit: 1, others: []queueMember{running("00001-a", 0), running("00002-a", 0)}, want: ForPlace, behind: "00002-a"},
	} {
		machine := machineMemory{total: 8 * gib, available: memoryFloor}
		if c.short {
			machine.available -= 1 << 20
		}
		queue, err := decideTurn("00009-a", c.limit, c.memory, c.others, machine)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (queue == nil) != (c.want == "") {
			t.Errorf("%s: %+v, not %q", name, queue, c.want)
			continue
		}
		if queue == nil {
			continue
		}
		if _, ok := queue.behind[ID(c.behind)]; queue.For != c.want || !ok || queue.Text == "" {
			t.Errorf("%s: %+v, not %q behind %s", name, queue, c.want, c.behind)
		}
	}
}

func TestASessionThatNeedsMoreMemoryThanTheMachineHasIsRefusedWithTheNumbers(t *testing.T) {
	_, err := decideTurn("00009-a", 0, 9*gib, nil, machineMemory{total: 8 * gib})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "9216 MiB, and this machine has 8192 MiB") || len(fault.Hints(err)) == 0 {
		t.Errorf("%v, %q", err, fault.Hints(err))
	}
}

// queuer is a session in a test of the queue: it does what a supervisor does with the
// session's records.
type queuer struct {
	*fixture
	id   ID
	spec Spec
	held *flock.Lock
}

// newQueuer creates a session that starts only while no other one runs.
func newQueuer(d *fixture, id ID) *queuer {
	d.t.Helper()
	q := &queuer{fixture: d, id: id, spec: Spec{ID: id, Agent: "a", Prompt: "the task", Run: config.Run{MaxParallel: 1}}}
	d.must(os.Mkdir(d.store.Dir(id), 0o700))
	held, err := lock(d.store.Dir(id))
	d.must(err)
	q.held = held
	d.t.Cleanup(func() { _ = held.Close() })
	return q
}

// join joins the queue, and reports whether the session may start.
func (q *queuer) join() bool {
	q.t.Helper()
	queue, err := q.store.JoinQueue(context.Background(), q.id, &q.spec, func(queue *Queue) error {
		state := State{Phase: Preparing}
		if queue != nil {
			queue.Detached = true
			state = State{Phase: Queued, Queue: queue}
		}
		if err := q.store.WriteSpec(q.id, q.spec); err != nil {
			return err
		}
		return q.store.WriteState(q.id, state)
	})
	q.must(err)
	if queue != nil && !q.store.MustWait(queue) {
		q.t.Errorf("%s need not wait for what it waits for: %+v", q.id, queue)
	}
	return queue == nil
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
		if s := summaries[i]; s.Position != want || want > 0 && (s.Status() != StatusQueued || s.Queue == "") {
			t.Errorf("%s has position %d, status %s and waits for %q", s.ID, s.Position, s.Status(), s.Queue)
		}
	}
	all, err := d.List()
	d.must(err)
	if all[2].Position != 2 {
		t.Errorf("the list has position %d", all[2].Position)
	}
	d.must(d.store.write(first.id, stateFile, State{Phase: Ended})) // its supervisor still cleans up
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
	d.must(d.store.write(first.id, stateFile, State{Phase: Ended}))
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
	if s := found.Summary(); s.Status() != StatusFailed || found.Prompt != "the task" || !strings.Contains(strings.Join(found.State.Result.Fault.Hints, " "), "aibox rerun") {
		t.Errorf("the dead one is %s: %+v", s.Status(), found.State.Result)
	}
}

func TestAQueuedSessionWhoseClientWaitedIsRemoved(t *testing.T) {
	d := newFixture(t)
	dead := newQueuer(d, "00002-a")
	d.must(d.store.WriteSpec(dead.id, dead.spec))
	d.must(d.store.WriteState(dead.id, State{Phase: Queued, Queue: &Queue{For: ForPlace, Text: "x"}}))
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
	d.died("00001-a", Running, nil)
	d.died("00002-a", Computing, &Result{Changes: Changes{Unknown: NotComputedYet}})
	queued := newQueuer(d, "00003-a")
	d.must(d.store.WriteSpec(queued.id, queued.spec))
	d.must(d.store.WriteState(queued.id, State{Phase: Queued, Queue: &Queue{Detached: true}}))
	d.must(queued.held.Close())
	d.died("00004-a", Running, nil)
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

func TestABatchIsFoundByAPrefixOfItsID(t *testing.T) {
	d := newFixture(t)
	for id, batch := range map[ID]BatchID{"00001-a": "b-0dq4f", "00002-a": "b-0dq4f", "00003-a": "b-0dq5f", "00004-a": ""} {
		d.must(os.Mkdir(d.store.Dir(id), 0o700))
		d.must(d.store.WriteSpec(id, Spec{ID: id, Batch: batch}))
		d.must(d.store.write(id, stateFile, State{Phase: Ended}))
	}
	id, members, err := d.Batch("b-0dq4")
	d.must(err)
	if id != "b-0dq4f" || len(members) != 2 || members[0].ID != "00001-a" {
		t.Errorf("found %s with %d sessions", id, len(members))
	}
	for text, want := range map[string]string{"b-0dq": "could be the batches", "b-9": "no batch", "0dq4": "not the id of a batch", "b-\x1b": "not the id of a batch"} {
		if _, _, err := d.Batch(text); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
