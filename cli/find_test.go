package cli

import (
	"runtime/debug"
	"testing"

	"aibox/session"
)

func TestALargeChangeSetIsHandledWithASmallHeap(t *testing.T) {
	before := debug.SetGCPercent(400)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	result := func(files int) *session.Result { return &session.Result{Changes: session.Changes{Files: files}} }
	for _, c := range []struct {
		result *session.Result
		want   int
	}{{result(0), 400}, {result(manyFiles), 400}, {result(manyFiles + 1), 40}, {nil, 40}} {
		debug.SetGCPercent(400)
		spareMemory(&session.Session{State: session.State{Result: c.result}})
		if got := debug.SetGCPercent(400); got != c.want {
			t.Errorf("%+v: %d %%, want %d", c.result, got, c.want)
		}
	}
}
