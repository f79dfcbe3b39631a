package queue

import (
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session"
)

const gib = 1 << 30

func TestASessionWaitsForAPlaceAndForMemory(t *testing.T) {
	running := func(id session.ID, memory int64) member { return member{id: id, memory: memory} }
	queued := func(id session.ID, what session.Resource) member {
		return member{id: id, queue: &session.Queue{For: what}}
	}
	sandbox := func(id session.ID, memory int64) member { return member{id: id, memory: memory, sandbox: true} }
	for name, c := range map[string]struct {
		limit  int
		memory int64
		short  bool // the available memory is 1 MiB below the minimum
		others []member
		want   session.Resource // "" if the session starts
		behind string           // one of the sessions that it waits for
	}{
		"alone with a limit":             {limit: 1},
		"below the limit":                {limit: 2, others: []member{running("00001-a", 0)}},
		"at the limit":                   {limit: 1, others: []member{running("00001-a", 0)}, want: session.ForPlace, behind: "00001-a"},
		"no limit":                       {others: []member{running("00001-a", 0), running("00002-a", 0)}},
		"behind a queued one":            {limit: 2, others: []member{running("00001-a", 0), queued("00002-a", session.ForPlace)}, want: session.ForPlace, behind: "00002-a"},
		"behind the last queued one":     {limit: 1, others: []member{running("00001-a", 0), queued("00002-a", session.ForPlace), queued("00003-a", session.ForPlace)}, want: session.ForPlace, behind: "00003-a"},
		"before a later one":             {limit: 2, others: []member{running("00001-a", 0), queued("0000z-a", session.ForPlace)}},
		"memory that fits":               {memory: 4 * gib, others: []member{running("00001-a", 4*gib)}},
		"memory that does not fit":       {memory: 5 * gib, others: []member{running("00001-a", 4*gib)}, want: session.ForMemory, behind: "00001-a"},
		"behind one that waits for it":   {memory: 1 * gib, others: []member{running("00001-a", 4*gib), queued("00002-a", session.ForMemory)}, want: session.ForMemory, behind: "00002-a"},
		"past one that needs a place":    {memory: 1 * gib, others: []member{running("00001-a", 4*gib), queued("00002-a", session.ForPlace)}},
		"neither memory nor limit":       {others: []member{queued("00002-a", session.ForMemory), queued("00003-a", session.ForPlace)}},
		"memory of a sandbox":            {memory: 5 * gib, others: []member{running("00001-a", 0), sandbox("00002-sandbox", 4*gib)}, want: session.ForMemory, behind: "00002-sandbox"},
		"a sandbox takes no place":       {limit: 1, others: []member{sandbox("00002-sandbox", 4*gib)}},
		"alone, and short":               {short: true},
		"beside a sandbox, and short":    {short: true, others: []member{sandbox("00002-sandbox", 4*gib)}},
		"beside a session, and short":    {short: true, others: []member{running("00001-a", 0)}, want: session.ForMemory, behind: "00001-a"},
		"behind a queued one, short":     {short: true, others: []member{running("00001-a", 0), queued("00002-a", session.ForMemory)}, want: session.ForMemory, behind: "00002-a"},
		"memory, and one for a place":    {memory: 5 * gib, others: []member{running("00001-a", 4*gib), queued("00002-a", session.ForPlace)}, want: session.ForMemory, behind: "00001-a"},
		"short, and one for a place":     {short: true, others: []member{running("00001-a", 0), queued("00002-a", session.ForPlace)}, want: session.ForMemory, behind: "00001-a"},
		"short, and one for its limit":   {short: true, others: []member{running("00001-a", 4*gib), {id: "00002-a", memory: 8 * gib, queue: &session.Queue{For: session.ForMemory}}}, want: session.ForMemory, behind: "00001-a"},
		"short, a limit, and an earlier": {limit: 2, short: true, others: []member{running("00001-a", 4*gib), {id: "00002-a", memory: 8 * gib, queue: &session.Queue{For: session.ForMemory}}}, want: session.ForPlace, behind: "00002-a"},
		"behind a queued one that left":  {short: true, others: []member{queued("00002-a", session.ForMemory)}},
		"own limit, and short":           {short: true, memory: 1 * gib, others: []member{running("00001-a", 0)}},
		"more than the limit are there":  {limit: 1, others: []member{running("00001-a", 0), running("00002-a", 0)}, want: session.ForPlace, behind: "00002-a"},
	} {
		machine := machineMemory{total: 8 * gib, available: memoryFloor}
		if c.short {
			machine.available -= 1 << 20
		}
		wait, err := decideTurn("00009-a", c.limit, c.memory, c.others, machine)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (wait == nil) != (c.want == "") {
			t.Errorf("%s: %+v, not %q", name, wait, c.want)
			continue
		}
		if wait == nil {
			continue
		}
		if _, ok := wait.behind[session.ID(c.behind)]; wait.For != c.want || !ok || wait.Text == "" {
			t.Errorf("%s: %+v, not %q behind %s", name, wait, c.want, c.behind)
		}
	}
}

func TestASessionThatNeedsMoreMemoryThanTheMachineHasIsRefusedWithTheNumbers(t *testing.T) {
	_, err := decideTurn("00009-a", 0, 9*gib, nil, machineMemory{total: 8 * gib})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "9216 MiB, and this machine has 8192 MiB") || len(fault.Hints(err)) == 0 {
		t.Errorf("%v, %q", err, fault.Hints(err))
	}
}

// The later session starts now, and not only when the earlier one starts.
func TestASessionNoticesThatTheEarlierOneWaitsForSomethingElse(t *testing.T) {
	store := session.NewStore(paths.Dirs{State: t.TempDir()})
	const earlier session.ID = "00001-a"
	if err := os.MkdirAll(store.Dir(earlier), 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := store.Lock(earlier)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	waitFor := func(what session.Resource) *session.Queue {
		queue := &session.Queue{For: what, Text: "x"}
		if err := store.WriteState(earlier, session.State{Phase: session.Queued, Queue: queue}); err != nil {
			t.Fatal(err)
		}
		return queue
	}
	others := []member{{id: earlier, memory: gib, queue: waitFor(session.ForMemory)}}
	wait, err := decideTurn("00002-a", 0, gib, others, machineMemory{total: 8 * gib, available: 8 * gib})
	if err != nil || wait == nil {
		t.Fatalf("it does not wait: %v", err)
	}
	if !wait.Unchanged(store) {
		t.Error("it decides again although nothing has changed")
	}
	waitFor(session.ForPlace)
	if wait.Unchanged(store) {
		t.Error("it still waits for a session that it may pass")
	}
}
