package cli

import (
	"os"
	"testing"
)

// TestMain ends immediately where a command starts this program as the supervisor of a run, which
// happens before the command knows whether the run can start. A supervisor without a run ends, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == newSuperviseCommand(nil).Name() {
		os.Exit(0)
	}
	os.Exit(m.Run())
}
