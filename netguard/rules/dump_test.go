package rules

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
)

// Starts of other sandboxes change the addresses and interfaces while they are listed.
func TestAnInterruptedDumpIsRepeated(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		name        string
		interrupted int
		err         error
		want        bool
	}{
		{"at once", 0, nil, true},
		{"after changes", dumpAttempts - 1, nil, true},
		{"never", dumpAttempts, nil, false},
		{"another error", 1, failed, false},
	} {
		calls := 0
		found, err := readDump("addresses", func() ([]int, error) {
			if calls++; calls <= c.interrupted {
				return []int{1}, netlink.ErrDumpInterrupted // a part
			}
			return []int{1, 2}, c.err
		})
		if (err == nil) != c.want || c.want && len(found) != 2 || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", c.name, found, err)
		}
	}
}
