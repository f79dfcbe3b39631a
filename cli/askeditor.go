package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"aibox/internal/fault"
)

// edit opens a file of the user's in the editor that $VISUAL or $EDITOR names, and
// waits until it is closed. It needs a terminal.
func (c *console) edit(ctx context.Context, path string) error {
	if !c.term.interactive || !terminalOf(c.in).interactive {
		return fault.New(fault.Usage, "editing needs a terminal").Hint("the file is %s", path)
	}
	words := editorCommand()
	if len(words) == 0 {
		return fault.New(fault.Environment, "no editor was found").Hint("export EDITOR=…, or edit %s another way", path)
	}
	// The editor gets ctrl-c from the terminal itself, and most continue.
	defer c.ignoreInterrupts()()
	// The path is absolute, so that no editor takes it for an option.
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], path)...) //nolint:gosec // the user's own choice
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, os.Stdout, os.Stderr
	// It can still save the text, and has to restore the terminal.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endTimeout
	err := cmd.Run()
	switch ended, _ := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "interrupted")
	case ended != nil && ended.Sys().(syscall.WaitStatus).Signal() == syscall.SIGINT:
		return fault.New(fault.Interrupted, "the editor %s was interrupted", words[0])
	case err != nil:
		return fault.New(fault.Environment, "the editor %s failed: %w", words[0], err).Hint("export EDITOR=…   # another one")
	}
	return nil
}

// editorCommand returns the user's editor with its arguments, or else the first common one
// that is installed; nil if there is none.
func editorCommand() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if words := strings.Fields(os.Getenv(name)); len(words) > 0 {
			return words
		}
	}
	for _, program := range []string{"editor", "nano", "vi"} {
		if _, err := exec.LookPath(program); err == nil {
			return []string{program}
		}
	}
	return nil
}
