package cli

import (
	"fmt"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"

	"github.com/spf13/cobra"
)

func newVolumeCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "volume",
		Short: "Manage the volumes of sandboxes",
		Long: `Create, list and delete volumes: folders that outlive sandboxes. "aibox sandbox create
--volume NAME:PATH" mounts one. These commands make the same calls as programs do over the
API: to your server if one runs, otherwise in the same process.`,
		Example: `  aibox volume create cache
  aibox sandbox create --volume cache:/data
  aibox volume ls`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newVolumeCreateCommand(a), newVolumeListCommand(a), newVolumeRemoveCommand(a))
	return cmd
}

func newVolumeCreateCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "create NAME",
		Short: "Create an empty volume, and print its name",
		Long: `Create an empty volume, and print its name. A name has up to 63 lowercase letters, digits
and hyphens.`,
		Example:           "  aibox volume create cache",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: fixed(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAPI(cmd.Context(), func(c *client.Client) error {
				made, err := c.CreateVolume(cmd.Context(), args[0])
				if err == nil {
					fmt.Fprintln(a.out, made.GetName())
				}
				return err
			})
		},
	}
}

func newVolumeListCommand(a *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the volumes by name",
		Example: "  aibox volume ls",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withAPI(cmd.Context(), func(c *client.Client) error {
				all, err := c.Volumes(cmd.Context())
				if err != nil {
					return err
				}
				return printVolumes(a.console, all, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printVolumes prints a list of volumes.
func printVolumes(c *console, all []*aiboxv1.Volume, asJSON bool) error {
	if asJSON {
		return printMessages(c.out, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(c.err, "there are no volumes")
		return nil
	}
	var rows [][]string
	for _, v := range all {
		rows = append(rows, []string{safe(v.GetName()), minute(v.GetCreateTime().AsTime())})
	}
	return c.overview("NAME\tCREATED", rows)
}

func newVolumeRemoveCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME…",
		Short: "Delete volumes with their files",
		Long: `Delete volumes with their files, which cannot be restored. A volume that a sandbox has
mounted is not deleted.`,
		Example:           "  aibox volume rm cache",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.complete.volumes,
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.withAPI(cmd.Context(), func(c *client.Client) error {
				return a.forEach(names, func(name string) (string, error) {
					return safe(name), c.DeleteVolume(cmd.Context(), name)
				})
			})
		},
	}
}
