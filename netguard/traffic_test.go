package netguard

import (
	"math"
	"testing"
)

func TestTrafficIsCalculatedNumberByNumber(t *testing.T) {
	a, b := Traffic{10, 20, 30, 0}, Traffic{1, 30, 3, 4}
	for name, c := range map[string]struct{ got, want Traffic }{
		"Add":  {a.Add(b), Traffic{11, 50, 33, 4}},
		"Sub":  {a.Sub(b), Traffic{9, 0, 27, 0}},
		"Min":  {a.Min(b), Traffic{1, 20, 3, 0}},
		"Left": {a.Left(b), Traffic{9, 0, 27, math.MaxInt64}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
}
