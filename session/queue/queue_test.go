package queue

import (
	"strings"
	"testing"

	"aibox/internal/fault"
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
