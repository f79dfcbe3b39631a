package e2b

import (
	"strings"
	"testing"
)

func TestTheSnapshotOfAForkIsRecognizedAndOnlyThatOfADeadServerIsLeft(t *testing.T) {
	key := make([]byte, KeySize)
	dead, own := newForkNames(key), newForkNames(key)
	for name, c := range map[string]struct {
		sandbox, name  string
		isFork, isLeft bool
	}{
		"of this server":       {"s", own.name("s"), true, false},
		"of a dead server":     {"s", dead.name("s"), true, true},
		"of another sandbox":   {"t", dead.name("s"), false, false},
		"a name of a caller":   {"s", "fork-of-mine", false, false},
		"a changed name":       {"s", dead.name("s") + "0", false, false},
		"a name without code":  {"s", forkPrefix + dead.server + "-", false, false},
		"a name of another":    {"s", newForkNames([]byte{1}).name("s"), false, false},
		"the empty name":       {"s", "", false, false},
		"the end of a name":    {"s", strings.TrimPrefix(dead.name("s"), forkPrefix), false, false},
		"another kind of name": {"s", "mine", false, false},
	} {
		if isFork, isLeft := own.check(c.sandbox, c.name); isFork != c.isFork || isLeft != c.isLeft {
			t.Errorf("%s: %v %v", name, isFork, isLeft)
		}
	}
}
