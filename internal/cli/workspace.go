package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session"

	"github.com/spf13/cobra"
)

func (a *app) workspaceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "workspace ID [-- COMMAND…]",
		Short: "Open your shell in a session's workspace",
		Long: `Start your shell, or a command, in a session's workspace. Git compares with what the
agent started from, wherever in that shell you call it, and never reads the .git in
the workspace, which is the agent's. Commits that you make there are forgotten.

What you start there runs outside the box, with your rights: looking is safe, running
what the agent wrote is not. "aibox verify" runs a command in a box.`,
		Example: `  aibox workspace 0dq4f
  aibox workspace 0dq4f -- git diff --stat`,
		Args:              sessionAndCommand,
		ValidArgsFunction: a.completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.workspace(cmd.Context(), args[0], args[1:]) },
	}
}

func sessionAndCommand(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); len(args) == 1 && dash < 0 || len(args) > 1 && dash == 1 {
		return nil
	}
	return fault.New(fault.Usage, "%s takes one session id, and a command behind --", cmd.CommandPath()).
		Hint("`aibox workspace 0dq4f -- git diff`")
}

func (a *app) workspace(ctx context.Context, text string, command []string) error {
	if len(command) == 0 && (!a.term.interactive || !terminalOf(a.in).interactive) {
		return fault.New(fault.Usage, "a shell needs a terminal").Hint("`aibox workspace %s -- git diff` runs a command", text)
	}
	service, found, err := a.find(ctx, text)
	if err != nil {
		return err
	}
	opened, err := service.Open(ctx, found.ID)
	if err != nil {
		return err
	}
	shell := len(command) == 0
	if shell {
		command = []string{cmp.Or(os.Getenv("SHELL"), "/bin/sh")}
		fmt.Fprintf(a.err, "%s\n%s\n%s\n", safe(paths.Short(opened.Folder)),
			a.errTerm.faint("git compares with what the agent started from, and its own .git is left alone"),
			a.errTerm.faint("what you run here runs with your rights, outside the box; exit comes back"))
	}
	// Not bound to ctx: ctrl-c is for the program, which decides what it means.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...) //nolint:gosec // the user's own choice
	cmd.Dir, cmd.Env = opened.Folder, openedEnv(os.Environ(), found.ID, opened)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, os.Stdout, os.Stderr
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil, shell && errors.As(err, &ended): // a shell ends with what its last command ended with
		return nil
	case errors.As(err, &ended):
		return fault.New(fault.AgentFailed, "%s ended with %s", safe(command[0]), ended.ProcessState)
	default:
		return fault.New(fault.Usage, "%s cannot be started: %w", safe(command[0]), err)
	}
}

// openedEnv is env for programs in an opened workspace. What says elsewhere which
// repository git is about goes.
func openedEnv(env []string, id session.ID, opened session.Opened) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(gitPlaces, name)
	})
	return append(append(env, "AIBOX_SESSION="+string(id)), opened.Env...)
}

// gitPlaces are the variables that say which repository git is about, as `git
// rev-parse --local-env-vars` lists them.
var gitPlaces = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_OBJECT_DIRECTORY",
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE",
}
