package doctor

import (
	"bytes"
	"fmt"
	"os"

	"aibox/internal/lazyregexp"
	"aibox/internal/termtext"
	"aibox/runtime"
	"aibox/scripts"
)

// restorerProgram matches the program of the runtime that restores sandboxes, in the setup
// script.
var restorerProgram = lazyregexp.New(`(?s)\nrestorer_program\(\) \{\n\tcat <<'EOF'\n(.*?\n)EOF\n`)

// snapshotFinding checks the runtime that restores sandboxes from snapshots, and its
// program at path. The setup registers it only with rootless Docker.
func snapshotFinding(info runtime.Info, path string, system bool) Finding {
	fix := fixBySetup(system, runtime.RestorerNeedsRootless)
	f := Finding{Name: "snapshots of sandboxes", State: OK, Detail: "Docker has the runtime " + runtime.RestorerName}
	if err := info.CheckRestorer("runsc"); err != nil {
		f.State, f.Detail, f.Fix = Warning, err.Error(), fix
	} else if why := restorerProblem(path); why != "" {
		f.State, f.Detail, f.Fix = Warning, "the program that restores sandboxes "+why, fix
	}
	return f
}

// restorerProblem returns why the program at path is not the one that the setup installs; ""
// if it is. The setup makes the same checks (has_restorer_program in its script).
func restorerProblem(path string) string {
	if !isProgram(path) {
		return fmt.Sprintf("(%s) cannot be executed", termtext.Escape(path))
	}
	if why := writableByOthers(path); why != "" {
		return "cannot be trusted: " + why
	}
	program, err := os.ReadFile(path)
	want := restorerProgram.FindSubmatch(scripts.Setup)
	if err != nil || want == nil || !bytes.Equal(program, want[1]) {
		return fmt.Sprintf("(%s) is not the one of this version of aibox", termtext.Escape(path))
	}
	return ""
}
