package supervisor

import "testing"

func TestANearlyFullRootIsWarnedOfOnceUntilThereIsRoomAgain(t *testing.T) {
	w := rootWarning{limit: 1000}
	for i, c := range []struct {
		used int64
		due  bool
	}{{0, false}, {799, false}, {800, true}, {1000, false}, {700, false}, {900, false}, {400, false}, {900, true}} {
		if got := w.due(c.used); got != c.due {
			t.Errorf("%d: with %d bytes used, a warning is due: %v", i, c.used, got)
		}
	}
	if (&rootWarning{}).due(1 << 40) {
		t.Error("a root without a limit is near it")
	}
}
