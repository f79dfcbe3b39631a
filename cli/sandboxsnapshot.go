package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session/snapshot"

	"github.com/spf13/cobra"
)

func newSandboxSnapshotCommand(a *cli) *cobra.Command {
	var name string
	var ttl time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "snapshot ID",
		Short: "Store the state of a sandbox, and print the id of the snapshot",
		Long: `Store the files of a running sandbox and the memory of its processes, and print the id of
the snapshot. The sandbox is paused meanwhile, and then continues. Sandboxes that are created
from the snapshot continue from its state, without the connections to the outside. A snapshot
holds everything in the memory of the processes, including secrets.`,
		Example: `  aibox sandbox snapshot 0dq4f
  aibox sandbox create --snapshot snap-7d2k`,
		Args:              sandboxArgs,
		ValidArgsFunction: a.complete.sandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSandbox(cmd.Context(), args[0], func(c *client.Client, s *aiboxv1.Sandbox) error {
				taken, err := c.Snapshot(cmd.Context(), s.GetSandboxId(), name, ttl)
				switch {
				case err != nil:
					return err
				case asJSON:
					return printMessage(a.out, taken)
				}
				fmt.Fprintln(a.out, taken.GetSnapshotId())
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "give the snapshot this `NAME`")
	lengthVar(cmd.Flags(), &ttl, "ttl", 0, "delete the snapshot after this time; 0 to keep it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newSandboxSnapshotsCommand(a *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "snapshots",
		Short:   "List the snapshots of sandboxes, or delete some",
		Example: "  aibox sandbox snapshots\n  aibox sandbox snapshots rm snap-7d2k",
		Args:    knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withAPI(cmd.Context(), func(c *client.Client) error {
				all, err := c.Snapshots(cmd.Context())
				switch {
				case err != nil:
					return err
				case asJSON:
					return printMessages(a.out, all)
				case len(all) == 0:
					fmt.Fprintln(a.err, "there are no snapshots")
					return nil
				}
				var rows [][]string
				for _, s := range all {
					expires := ""
					if t := s.GetExpireTime(); t != nil {
						expires = minute(t.AsTime())
					}
					rows = append(rows, []string{
						s.GetSnapshotId(), safe(s.GetName()), safe(s.GetTemplate()), s.GetSandboxId(),
						minute(s.GetCreateTime().AsTime()), expires, amount.Bytes(s.GetSizeBytes()),
					})
				}
				return a.overview("ID\tNAME\tTEMPLATE\tSANDBOX\tTAKEN\tEXPIRES\tSIZE", rows)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(&cobra.Command{
		Use:               "rm ID…",
		Short:             "Delete snapshots",
		Long:              "Delete snapshots. Sandboxes that were created from them keep running.",
		Example:           "  aibox sandbox snapshots rm snap-7d2k",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.complete.snapshots,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAPI(cmd.Context(), func(c *client.Client) error {
				return a.forEach(args, func(text string) (string, error) {
					id, err := matchSnapshot(cmd.Context(), c, text)
					if err == nil {
						err = c.DeleteSnapshot(cmd.Context(), id)
					}
					return id, err
				})
			})
		},
	})
	return cmd
}

// matchSnapshot returns the id of the snapshot with that id or unique prefix of it, with or
// without "snap-". A whole id is returned also if no snapshot has it: lists omit damaged ones.
func matchSnapshot(ctx context.Context, c *client.Client, text string) (string, error) {
	all, err := c.Snapshots(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, s := range all {
		id := s.GetSnapshotId()
		if id == text {
			return id, nil
		}
		if text != "" && (strings.HasPrefix(id, text) || strings.HasPrefix(strings.TrimPrefix(id, "snap-"), text)) {
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case snapshot.IsID(text):
		return text, nil
	case len(found) == 0:
		return "", fault.New(fault.NotFound, "there is no snapshot %q", text).Hint("`aibox sandbox snapshots` lists them")
	default:
		return "", fault.New(fault.Usage, "%q matches %d snapshots", text, len(found)).Hint("type more of the id")
	}
}

// forkTime is how long the snapshot of a fork exists, if nothing deletes it because the command
// or the server was killed. To create a sandbox takes much less.
const forkTime = 10 * time.Minute

func newSandboxForkCommand(a *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Create a sandbox that continues from the state of another, and print its id",
		Long: `Create a sandbox with the files and the processes that another one has at this moment, and
print its id. Both keep running, independently of each other. To choose other settings for
the new one, take a snapshot and create a sandbox from it.`,
		Example:           "  aibox sandbox fork 0dq4f",
		Args:              sandboxArgs,
		ValidArgsFunction: a.complete.sandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.withSandbox(ctx, args[0], func(c *client.Client, s *aiboxv1.Sandbox) error {
				taken, err := c.Snapshot(ctx, s.GetSandboxId(), "", forkTime)
				if err != nil {
					return err
				}
				made, err := c.Create(ctx, &aiboxv1.CreateSandboxRequest{SnapshotId: taken.GetSnapshotId(), Name: s.GetName(), Metadata: s.GetMetadata(), OnTimeout: s.GetOnTimeout()})
				deleted := c.DeleteSnapshot(context.WithoutCancel(ctx), taken.GetSnapshotId())
				switch { // the new sandbox runs, even if its snapshot could not be deleted
				case err != nil:
				case asJSON:
					err = printMessage(a.out, made)
				default:
					fmt.Fprintln(a.out, made.GetSandboxId())
				}
				return errors.Join(err, deleted)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
