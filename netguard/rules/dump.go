package rules

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
)

// dumpAttempts is how often a dump is repeated that a change has interrupted. Bridges and
// interfaces change whenever a sandbox starts or ends.
const dumpAttempts = 20

// readDump returns the result of dump, a netlink call that lists kernel objects. It repeats the
// call if a change has interrupted it, because the result may be incomplete.
func readDump[T any](what string, dump func() ([]T, error)) ([]T, error) {
	for range dumpAttempts {
		found, err := dump()
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			return found, err
		}
	}
	return nil, fmt.Errorf("the %s change faster than they can be read", what)
}
