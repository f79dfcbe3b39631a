package cli

import (
	"errors"
	"fmt"

	"aibox/app"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/ui"
)

// crashed reports a bug that ended the UI, and stores its stack for a bug report. It
// returns other errors unchanged.
func crashed(err error) error {
	var crash *ui.Crash
	if !errors.As(err, &crash) {
		return err
	}
	f := fault.New(fault.Internal, "%w", err).Hint("running sessions are not affected: see `aibox ls`")
	file, failed := app.SaveCrash(fmt.Appendf(nil, "aibox %s\n%s\n\n%s", version(), crash.Value, crash.Stack))
	if failed != nil {
		return f.Hint("this is a bug; its details could not be saved: %v", failed)
	}
	return f.Hint("this is a bug: report it with %s", termtext.Escape(file))
}
