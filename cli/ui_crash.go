package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/ui"
)

// crashFile holds where the terminal UI failed last, in the folder of states.
const crashFile = "crash.txt"

// crashed reports a bug that ended the UI, and stores its stack for a bug report. It
// returns other errors unchanged.
func crashed(err error) error {
	var crash *ui.Crash
	if !errors.As(err, &crash) {
		return err
	}
	f := fault.New(fault.Internal, "%w", err).Hint("running sessions are not affected: see `aibox ls`")
	dirs, failed := paths.Default()
	if failed == nil {
		failed = paths.MakePrivate(dirs.State)
	}
	if failed == nil {
		file := filepath.Join(dirs.State, crashFile)
		var report bytes.Buffer
		fmt.Fprintf(&report, "aibox %s\n%s\n\n%s", version(), crash.Value, crash.Stack)
		if failed = paths.WriteFile(file, report.Bytes()); failed == nil {
			return f.Hint("this is a bug: report it with %s", termtext.Escape(file))
		}
	}
	return f.Hint("this is a bug; its details could not be saved: %v", failed)
}
