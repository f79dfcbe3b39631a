package page

import (
	"strings"

	"aibox/app/doctor"
	"aibox/session"
)

// Command runs one of aibox's own commands on the whole terminal. A failure stays on the screen
// until the user presses a key. The functions below make every command that screens run, except the
// commands that fix findings.
type Command struct {
	Args []string // without the program's name
	// Wait keeps the command's output on the screen until the user presses a key. The
	// output of a failed command always stays.
	Wait bool
}

// ShowExitCode is the name of a hidden flag of the commands that run a program in a sandbox, which may fail and
// print nothing.
const ShowExitCode = "show-exit-code"

// Attach shows the terminal of a session's agent.
func Attach(id session.ID) Command { return Command{Args: []string{"attach", string(id)}} }

// Shell opens a shell in a session's sandbox.
func Shell(id session.ID) Command {
	return Command{Args: []string{"shell", "--" + ShowExitCode, string(id)}}
}

// RunInside runs a command line in a session's sandbox, on a terminal of its own.
func RunInside(id session.ID, line string) Command {
	return Command{Args: []string{"exec", "-it", "--" + ShowExitCode, string(id), "--", "sh", "-c", line}, Wait: true}
}

// CopyOut copies a path of a session's sandbox to one of this machine.
func CopyOut(id session.ID, source, dest string) Command {
	return Command{Args: []string{"cp", string(id) + ":" + source, onThisMachine(dest)}, Wait: true}
}

// CopyInto copies a path of this machine to one of a session's sandbox.
func CopyInto(id session.ID, source, dest string) Command {
	return Command{Args: []string{"cp", onThisMachine(source), string(id) + ":" + dest}, Wait: true}
}

// onThisMachine returns the path in a form that `aibox cp` cannot take for an option, for "-" or
// for a path in a sandbox.
func onThisMachine(path string) string {
	if strings.HasPrefix(path, "/") || strings.HasPrefix(path, ".") {
		return path
	}
	return "./" + path
}

// Workspace opens a shell in a session's workspace.
func Workspace(id session.ID) Command { return Command{Args: []string{"workspace", string(id)}} }

// Diff shows what a session has changed.
func Diff(id session.ID) Command { return Command{Args: []string{"diff", string(id)}, Wait: true} }

// Accept accepts all changes of a session but the risky ones.
func Accept(id session.ID) Command { return Command{Args: []string{"accept", string(id)}, Wait: true} }

// DiffBetween shows how the results of two sessions differ.
func DiffBetween(base, other session.ID) Command {
	return Command{Args: []string{"compare", "--diff", string(base), string(other)}, Wait: true}
}

// CloseNetwork brings the network locks up.
func CloseNetwork() Command { return Command{Args: []string{"netguard", "up"}} }

// EditSettings opens the settings file in the user's editor.
func EditSettings() Command { return Command{Args: []string{"config", "edit"}} }

// SetUp sets this machine up, after asking.
func SetUp() Command {
	return Command{Args: strings.Fields(doctor.SetupCommand)[1:], Wait: true}
}
