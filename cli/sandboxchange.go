package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/internal/browser"
	"aibox/internal/fault"
	"aibox/netguard/preset"

	"github.com/spf13/cobra"
)

// extendSandboxOptions is one call of `aibox sandbox extend`.
type extendSandboxOptions struct {
	*cli

	idle string
}

func newSandboxExtendCommand(a *cli) *cobra.Command {
	o := extendSandboxOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "extend ID [DURATION]",
		Short: "Give a sandbox more time",
		Long: `Give a sandbox more time until it ends, up to 30 days at once. With --idle-timeout, it can
be idle for so long from now on, for up to 30 days.`,
		Example:           "  aibox sandbox extend 0dq4f 30m\n  aibox sandbox extend 0dq4f --idle-timeout 2h",
		ValidArgsFunction: a.complete.sandboxes,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.idle != "" && len(args) == 1 {
				return nil
			}
			return sessionAndDuration(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&o.idle, "idle-timeout", "", "end the sandbox after this `TIME` without activity; 0 for no limit")
	return cmd
}

func (o *extendSandboxOptions) run(ctx context.Context, args []string) error {
	idle, err := parseLength("idle-timeout", o.idle)
	if err != nil {
		return err
	}
	var by *client.Duration
	if len(args) == 2 {
		if by, err = parseLength("by", args[1]); err != nil {
			return fault.New(fault.Usage, "%q is not a duration", args[1]).Hint("use one such as 90s, 30m, 1h30m or 2d")
		}
	}
	return o.withSandbox(ctx, args[0], func(c *client.Client, s *aiboxv1.Sandbox) error {
		if idle != nil {
			if s, err = c.Update(ctx, &aiboxv1.UpdateSandboxRequest{SandboxId: s.GetSandboxId(), IdleTimeout: idle}); err != nil {
				return err
			}
		}
		if len(args) == 1 {
			fmt.Fprintln(o.out, s.GetSandboxId())
			return nil
		}
		s, err := c.Extend(ctx, &aiboxv1.ExtendSandboxRequest{SandboxId: s.GetSandboxId(), By: by})
		if err != nil {
			return err
		}
		fmt.Fprintf(o.out, "%s has %s left\n", s.GetSandboxId(), leftOf(s))
		return nil
	})
}

// newSandboxChangeCommand is a command that changes a sandbox and prints its id.
func newSandboxChangeCommand(a *cli, use, short, example string, change func(context.Context, *client.Client, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: sandboxArgs, ValidArgsFunction: a.complete.sandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSandbox(cmd.Context(), args[0], func(c *client.Client, s *aiboxv1.Sandbox) error {
				if err := change(cmd.Context(), c, s.GetSandboxId()); err != nil {
					return err
				}
				fmt.Fprintln(a.out, s.GetSandboxId())
				return nil
			})
		},
	}
}

func newSandboxPauseCommand(a *cli) *cobra.Command {
	return newSandboxChangeCommand(a, "pause ID", "Stop all programs of a sandbox, and keep its memory", "  aibox sandbox pause 0dq4f",
		func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.Pause(ctx, id)
			return err
		})
}

func newSandboxResumeCommand(a *cli) *cobra.Command {
	return newSandboxChangeCommand(a, "resume ID", "Continue a paused sandbox", "  aibox sandbox resume 0dq4f",
		func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.Resume(ctx, id)
			return err
		})
}

func newSandboxRemoveCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "rm ID…",
		Aliases:           []string{"destroy"},
		Short:             "Destroy sandboxes with their files",
		Example:           "  aibox sandbox rm 0dq4f",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.complete.allSandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.forEach(args, func(text string) (id string, err error) {
				err = a.withSandbox(cmd.Context(), text, func(c *client.Client, s *aiboxv1.Sandbox) error {
					id = s.GetSandboxId()
					return c.Destroy(cmd.Context(), id)
				})
				return id, err
			})
		},
	}
	return cmd
}

func newSandboxNetworkCommand(a *cli) *cobra.Command {
	var allow, deny []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "network ID",
		Short: "Show or replace what a sandbox can reach",
		Long: `Show what a sandbox can reach, or replace the lists that are given. Connections that are
no longer allowed are closed. --allow= with nothing after it allows no host.

A sandbox with the network policy none or local cannot get hosts later. Create it with
--allow= if it may need them.`,
		Example: `  aibox sandbox network 0dq4f
  aibox sandbox network 0dq4f --allow api.example.com`,
		Args:              sandboxArgs,
		ValidArgsFunction: a.complete.sandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSandbox(cmd.Context(), args[0], func(c *client.Client, s *aiboxv1.Sandbox) error {
				policy, set := &aiboxv1.NetworkPolicy{}, false
				if cmd.Flags().Changed("allow") {
					policy.Allow, set = &aiboxv1.HostList{Hosts: allow}, true
				}
				if cmd.Flags().Changed("deny") {
					policy.Deny, set = &aiboxv1.HostList{Hosts: deny}, true
				}
				var err error
				if set {
					policy, err = c.SetNetwork(cmd.Context(), s.GetSandboxId(), policy)
				} else {
					policy, err = c.Network(cmd.Context(), s.GetSandboxId())
				}
				switch {
				case err != nil:
					return err
				case asJSON:
					return printMessage(a.out, policy)
				}
				fmt.Fprintln(a.out, networkLine(policy))
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&allow, "allow", nil, "allow these `HOSTS`, and no others (comma-separated)")
	flags.StringSliceVar(&deny, "deny", nil, "deny these `HOSTS` (comma-separated)")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("allow", listOf(preset.Names()...))
	return cmd
}

// networkLine returns a network policy on one line.
func networkLine(p *aiboxv1.NetworkPolicy) string {
	line := strings.ToLower(strings.TrimPrefix(p.GetMode().String(), "NETWORK_MODE_"))
	if hosts := p.GetAllow().GetHosts(); len(hosts) > 0 {
		line += "; allows " + strings.Join(hosts, ", ")
	}
	if hosts := p.GetDeny().GetHosts(); len(hosts) > 0 {
		line += "; denies " + strings.Join(hosts, ", ")
	}
	return safe(line)
}

func newSandboxPortsCommand(a *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "ports ID",
		Short:             "List the ports that programs in a sandbox listen on",
		Example:           "  aibox sandbox ports 0dq4f",
		Args:              sandboxArgs,
		ValidArgsFunction: a.complete.sandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSandbox(cmd.Context(), args[0], func(c *client.Client, s *aiboxv1.Sandbox) error {
				ports, err := c.Ports(cmd.Context(), s.GetSandboxId())
				switch {
				case err != nil:
					return err
				case asJSON:
					return printMessages(a.out, ports)
				}
				if len(ports) == 0 {
					fmt.Fprintf(a.err, "no program in the sandbox %s listens on a port\n", s.GetSandboxId())
					return nil
				}
				var rows [][]string
				for _, port := range ports {
					rows = append(rows, []string{fmt.Sprint(port.GetPort()), safe(port.GetAddress()), safe(port.GetProgram())})
				}
				return a.overview("PORT\tADDRESS\tPROGRAM", rows)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// openSandboxPortOptions is one call of `aibox sandbox open`.
type openSandboxPortOptions struct {
	*cli

	ttl     time.Duration
	browser bool
	json    bool
}

func newSandboxOpenCommand(a *cli) *cobra.Command {
	o := openSandboxPortOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "open ID PORT",
		Short: "Print a URL with which a browser reaches a port of a sandbox",
		Long: `Print a signed URL for a port of a sandbox. Anyone who has it can use the port until
it expires. It needs a server that listens on TCP: aibox serve --listen 127.0.0.1:8800.`,
		Example:           "  aibox sandbox open 0dq4f 6080\n  aibox sandbox open 0dq4f 3000 --ttl 10m --browser",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.complete.sandboxes,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1]) },
	}
	lengthVar(cmd.Flags(), &o.ttl, "ttl", time.Hour, "how long the URL is valid")
	cmd.Flags().BoolVar(&o.browser, "browser", false, "open it in your browser")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (o *openSandboxPortOptions) run(ctx context.Context, id, text string) error {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return fault.New(fault.Usage, "%q is not a port: give a number from 1 to 65535", text)
	}
	return o.withSandbox(ctx, id, func(c *client.Client, s *aiboxv1.Sandbox) error {
		signed, err := c.SignPortFor(ctx, s.GetSandboxId(), uint32(port), o.ttl)
		switch {
		case err != nil:
			return err
		case o.json:
			if err := printMessage(o.out, signed); err != nil {
				return err
			}
		default:
			fmt.Fprintln(o.out, safe(signed.GetUrl()))
		}
		if o.browser {
			return browser.Open(ctx, signed.GetUrl())
		}
		return nil
	})
}
