package cli

import (
	"cmp"
	"fmt"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/internal/amount"
	"aibox/session"

	"github.com/spf13/cobra"
)

func newSandboxListCommand(a *cli) *cobra.Command {
	var asJSON, all bool
	var parent string
	request := &aiboxv1.ListSandboxesRequest{PageSize: 1000}
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list", "ps"},
		Short:   "List sandboxes, newest first",
		Long: `List sandboxes, newest first. The column PARENT shows the session whose agent created the
sandbox, if one did. Only that agent can use such a sandbox; you can show it and end it.`,
		Example: "  aibox sandbox ls\n  aibox sandbox ls --metadata job=7 --json\n  aibox sandbox ls --parent 0dq4f-claude",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				request.States = everyState()
			}
			if parent != "" {
				_, found, err := a.find(cmd.Context(), parent)
				switch {
				case err == nil:
					request.ParentId = string(found.ID)
				case session.IsID(parent) && session.ID(parent).Agent() != "": // its record can have been removed
					request.ParentId = parent
				default:
					return err
				}
			}
			return a.withAPI(cmd.Context(), func(c *client.Client) error {
				found, err := c.List(cmd.Context(), request)
				if err != nil {
					return err
				}
				return printSandboxes(a.console, found, asJSON)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&all, "all", "a", false, "include sandboxes that have ended")
	flags.StringArrayVar(&request.Metadata, "metadata", nil, "list only those with this `KEY=VALUE` (repeatable)")
	flags.StringVar(&request.Template, "template", "", "list only those of this `TEMPLATE`")
	flags.StringVar(&request.Name, "name", "", "list only those with this `NAME`")
	flags.StringVar(&parent, "parent", "", "list only those that the agent of the session `ID` created")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printSandboxes prints a list of sandboxes.
func printSandboxes(c *console, found []*aiboxv1.Sandbox, asJSON bool) error {
	if asJSON {
		return printMessages(c.out, found)
	}
	if len(found) == 0 {
		fmt.Fprintln(c.err, "there are no sandboxes")
		return nil
	}
	var rows [][]string
	for _, s := range found {
		rows = append(rows, []string{
			s.GetSandboxId(), stateName(s.GetState()), safe(s.GetTemplate()), amount.Age(time.Since(s.GetCreateTime().AsTime())), leftOf(s), cmp.Or(s.GetParentId(), "-"), safe(s.GetName()),
		})
	}
	return c.overview("ID\tSTATE\tTEMPLATE\tAGE\tLEFT\tPARENT\tNAME", rows)
}

func newSandboxGetCommand(a *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "get ID",
		Short:             "Show a sandbox",
		Example:           "  aibox sandbox get 0dq4f",
		Args:              sandboxArgs,
		ValidArgsFunction: a.complete.sandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSandbox(cmd.Context(), args[0], func(_ *client.Client, s *aiboxv1.Sandbox) error {
				if asJSON {
					return printMessage(a.out, s)
				}
				return printSandbox(a.console, s)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printSandbox prints what users want to know about a sandbox.
func printSandbox(c *console, s *aiboxv1.Sandbox) error {
	rows := [][]string{{"id", s.GetSandboxId()}}
	if s.GetName() != "" {
		rows = append(rows, []string{"name", safe(s.GetName())})
	}
	limits := s.GetLimits()
	memory := bound(limits.GetMemoryMib())
	if limits.GetMemoryMib() > 0 {
		memory = amount.Bytes(limits.GetMemoryMib() << 20)
	}
	rows = append(rows, [][]string{
		{"state", stateName(s.GetState())},
		{"template", safe(s.GetTemplate())},
		{"image", safe(s.GetImage())},
		{"user", safe(s.GetUser())},
		{"created", s.GetCreateTime().AsTime().Local().Format(time.DateTime)},
		{"time left", leftOf(s)},
		{"network", networkLine(s.GetNetwork())},
		{"memory", memory},
		{"processors", bound(limits.GetCpus())},
		{"processes", bound(int64(limits.GetProcesses()))},
	}...)
	rows = append(rows, permissionRows(s.GetPermissions())...)
	if s.GetParentId() != "" {
		rows = append(rows, []string{"parent", safe(s.GetParentId())})
	}
	for key, value := range s.GetMetadata() {
		rows = append(rows, []string{"metadata", safe(key + "=" + value)})
	}
	for _, mount := range s.GetVolumes() {
		rows = append(rows, []string{"volume", safe(mount.GetVolume() + " at " + mount.GetPath())})
	}
	for _, clause := range s.GetDegraded() {
		rows = append(rows, []string{"not enforced", safe(clause)})
	}
	if s.GetEndReason() != "" {
		rows = append(rows, []string{"ended", safe(s.GetEndReason())})
	}
	return c.explained(rows)
}
