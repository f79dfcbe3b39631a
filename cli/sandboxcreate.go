package cli

import (
	"context"
	"fmt"
	"strings"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/internal/fault"
	"aibox/netguard/preset"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sandboxCreateOptions are the flags of `aibox sandbox create`.
type sandboxCreateOptions struct {
	*cli
	permissionFlags

	template, name, timeout, idle, onTimeout string
	network                                  string
	allow, deny, metadata, env               []string
	volumes, settings                        []string
	memory                                   int64
	cpus                                     float64
	processes                                int32
	key, snapshot                            string
	json                                     bool
}

func newSandboxCreateCommand(a *cli) *cobra.Command {
	o := sandboxCreateOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a sandbox, and print its id",
		Long: `Create a sandbox from a template, by default code, and print its id when processes can be
started in it. Build the template's image first: "aibox bake code".

Without --network and --allow, it reaches what its snapshot, its template or your default
("aibox token defaults local") permits, usually nothing. With --set model=NAME, it reaches
the model.

The permissions --root, --write, --hide, --no-children, --max-processes and --inbound set
what code in the sandbox can do. --write, --hide and --no-children cannot be enforced on
root: they are refused with --root, and with a template whose user is root.`,
		Example: `  aibox sandbox create
  aibox sandbox create --allow pip --timeout 30m
  aibox sandbox create --template code --memory 2GiB --metadata job=7
  aibox sandbox create --write /data --hide '/etc/ssl/*' --inbound 3000
  aibox sandbox create --snapshot snap-7d2k --allow api.example.com`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.Flags()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.template, "template", "", "make it from this `TEMPLATE`; default code")
	flags.StringVar(&o.name, "name", "", "give it this `NAME`")
	flags.StringVar(&o.timeout, "timeout", "", "end it after this `TIME`; 0 for no limit")
	flags.StringVar(&o.idle, "idle-timeout", "", "end it after this `TIME` without activity; 0 for no limit")
	flags.StringVar(&o.onTimeout, "on-timeout", "", "at its timeout, take this `ACTION`: destroy or pause")
	flags.StringVar(&o.network, "network", "", "set what it can reach by this `POLICY`: none, local, allowlist or public")
	flags.StringSliceVar(&o.allow, "allow", nil, "allow these `HOSTS` (comma-separated)")
	flags.StringSliceVar(&o.deny, "deny", nil, "deny these `HOSTS` (comma-separated)")
	flags.StringArrayVar(&o.metadata, "metadata", nil, "store `KEY=VALUE` with it (repeatable)")
	flags.StringArrayVarP(&o.env, "env", "e", nil, "set `NAME=VALUE`, or pass on NAME, in the environment of its processes (repeatable)")
	flags.StringArrayVar(&o.volumes, "volume", nil, "mount a volume as `NAME:PATH`, or NAME:PATH:ro (repeatable)")
	flags.StringArrayVar(&o.settings, "set", nil, "set a further setting as `KEY=VALUE` (repeatable)")
	sizeVar(flags, &o.memory, "memory", "limit its memory to this `SIZE`, such as 2GiB; 0 for no limit")
	flags.Float64Var(&o.cpus, "cpus", 0, "limit the processors that it can use to this `NUMBER`; 0 for no limit")
	flags.Int32Var(&o.processes, "pids", 0, "limit its processes to this `NUMBER`; 0 for no limit")
	o.permissionFlags.add(flags)
	flags.StringVar(&o.snapshot, "snapshot", "", "continue from the snapshot with this `ID`; settings that you leave out are those of its sandbox")
	flags.StringVar(&o.key, "idempotency-key", "", "create it only once, however often this `KEY` is used")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("template", a.complete.templates)
	_ = cmd.RegisterFlagCompletionFunc("allow", listOf(preset.Names()...))
	_ = cmd.RegisterFlagCompletionFunc("env", a.complete.environment)
	_ = cmd.RegisterFlagCompletionFunc("volume", a.complete.volumeMounts)
	_ = cmd.RegisterFlagCompletionFunc("snapshot", a.complete.snapshots)
	return cmd
}

func (o *sandboxCreateOptions) run(ctx context.Context, flags *pflag.FlagSet) error {
	request, err := o.request(flags)
	if err != nil {
		return err
	}
	return o.withAPI(ctx, func(c *client.Client) error {
		if o.snapshot != "" {
			var err error
			if request.SnapshotId, err = matchSnapshot(ctx, c, o.snapshot); err != nil {
				return err
			}
		}
		made, err := c.Create(ctx, request)
		if err != nil {
			return err
		}
		if o.json {
			return printMessage(o.out, made)
		}
		fmt.Fprintln(o.out, made.GetSandboxId())
		return nil
	})
}

// request returns the request that the flags describe.
func (o *sandboxCreateOptions) request(flags *pflag.FlagSet) (*aiboxv1.CreateSandboxRequest, error) {
	r := &aiboxv1.CreateSandboxRequest{Template: o.template, Name: o.name, IdempotencyKey: o.key}
	var err error
	if r.Timeout, err = parseLength("timeout", o.timeout); err != nil {
		return nil, err
	}
	if r.IdleTimeout, err = parseLength("idle-timeout", o.idle); err != nil {
		return nil, err
	}
	if r.Metadata, err = entries("metadata", o.metadata); err != nil {
		return nil, err
	}
	if r.Settings, err = entries("set", o.settings); err != nil {
		return nil, err
	}
	env, err := processEnv(o.env)
	if err != nil {
		return nil, err
	}
	if r.Env, err = entries("env", env); err != nil {
		return nil, err
	}
	if r.Network, err = o.policy(flags); err != nil {
		return nil, err
	}
	if r.Permissions, err = o.permissions(flags); err != nil {
		return nil, err
	}
	switch o.onTimeout {
	case "", "destroy":
	case "pause":
		r.OnTimeout = aiboxv1.OnTimeout_ON_TIMEOUT_PAUSE
	default:
		return nil, fault.New(fault.Usage, "--on-timeout is destroy or pause, not %q", o.onTimeout).
			Hint("leave it out to destroy the sandbox at its timeout")
	}
	r.Limits = &aiboxv1.Limits{}
	if flags.Changed("memory") {
		r.Limits.MemoryMib = &o.memory
	}
	if flags.Changed("cpus") {
		r.Limits.Cpus = &o.cpus
	}
	if flags.Changed("pids") {
		r.Limits.Processes = &o.processes
	}
	for _, text := range o.volumes {
		name, rest, ok := strings.Cut(text, ":")
		path, mode, hasMode := strings.Cut(rest, ":")
		if !ok || hasMode && mode != "ro" {
			return nil, fault.New(fault.Usage, "--volume takes NAME:PATH or NAME:PATH:ro, not %q", text).
				Hint("such as --volume cache:/data; `aibox volume ls` lists the volumes")
		}
		r.Volumes = append(r.Volumes, &aiboxv1.VolumeMount{Volume: name, Path: path, ReadOnly: hasMode})
	}
	return r, nil
}

// policy returns the network policy that the flags give; nil for none. A list that is given
// empty allows nothing.
func (o *sandboxCreateOptions) policy(flags *pflag.FlagSet) (*aiboxv1.NetworkPolicy, error) {
	if !flags.Changed("network") && !flags.Changed("allow") && !flags.Changed("deny") {
		return nil, nil
	}
	policy := &aiboxv1.NetworkPolicy{}
	if flags.Changed("network") {
		mode, ok := aiboxv1.NetworkMode_value["NETWORK_MODE_"+strings.ToUpper(o.network)]
		if !ok || mode == 0 {
			return nil, fault.New(fault.Usage, "--network is none, local, allowlist or public, not %q", o.network).
				Hint("leave it out for your default, or for allowlist with --allow")
		}
		policy.Mode = aiboxv1.NetworkMode(mode)
	}
	if flags.Changed("allow") {
		policy.Allow = &aiboxv1.HostList{Hosts: o.allow}
	}
	if flags.Changed("deny") {
		policy.Deny = &aiboxv1.HostList{Hosts: o.deny}
	}
	return policy, nil
}

// entryExamples has a value of each flag that entries reads.
var entryExamples = map[string]string{"metadata": "job=7", "set": "disk=20GiB", "env": "CI=1"}

// entries returns KEY=VALUE words as a map.
func entries(flag string, words []string) (map[string]string, error) {
	all := map[string]string{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" {
			return nil, fault.New(fault.Usage, "--%s takes KEY=VALUE, not %q", flag, word).
				Hint("such as --%s %s", flag, entryExamples[flag])
		}
		if _, twice := all[key]; twice {
			return nil, fault.New(fault.Usage, "--%s gives %q twice", flag, key).Hint("keep one of them")
		}
		all[key] = value
	}
	return all, nil
}
