package cli

import (
	"context"
	"errors"
	"fmt"

	"aibox/session"
	"aibox/session/manager"

	"github.com/spf13/cobra"
)

func newStopCommand(a *cli) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "stop ID…",
		Short: "Stop running sessions and keep their work",
		Long: `Ask the agents of running sessions to exit, kill them after a few seconds, and wait
until their changes are computed. With --force, kill them at once with their
supervisors, even if a supervisor hangs or was stopped. The next command that needs
the changes computes them.`,
		Example:           "  aibox stop 0dq4f\n  aibox stop --force 0dq4f",
		Args:              someSessions,
		ValidArgsFunction: a.complete.allRunning,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd.Context(), args, func(ctx context.Context, service *manager.Manager, found session.Session) error {
				end := service.Stop
				if force {
					end = service.Kill
				}
				_, err := end(ctx, found.ID, "stopped by the user")
				return err
			})
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "kill the session and its supervisor at once")
	return cmd
}

func newRemoveCommand(a *cli) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "rm ID…",
		Short: "Remove ended sessions with their records and workspaces",
		Long: `Remove the record and the workspace of sessions that have ended. Without --force, a
session whose changes you have not accepted or discarded is refused.`,
		Example:           "  aibox rm 0dq4f\n  aibox rm --force 0dq4f",
		Args:              someSessions,
		ValidArgsFunction: a.complete.allEnded,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd.Context(), args, func(ctx context.Context, service *manager.Manager, found session.Session) error {
				return service.Remove(ctx, found.ID, force)
			})
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "remove it even if its changes are unreviewed; they can be recovered")
	return cmd
}

// each does one thing to every session named and prints the ids that it was done
// to.
func (a *cli) each(ctx context.Context, texts []string, do func(context.Context, *manager.Manager, session.Session) error) error {
	return a.forEach(texts, func(text string) (string, error) {
		service, found, err := a.find(ctx, text)
		if err == nil {
			err = do(ctx, service, found)
		}
		return string(found.ID), err
	})
}

// forEach does one thing to each of the things that texts name, and prints the names that do returns
// for those that it was done to. An error does not keep it from the others.
func (a *cli) forEach(texts []string, do func(text string) (name string, err error)) error {
	var errs []error
	for _, text := range texts {
		name, err := do(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintln(a.out, name)
	}
	return errors.Join(errs...)
}
