package cli

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"aibox/agents/spec"
	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/internal/fault"
	"aibox/internal/spelling"

	"github.com/spf13/cobra"
)

func newSandboxCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Create and use sandboxes without an agent",
		Long: `Create and use sandboxes: isolated machines without an agent and without a repository,
which live until their time is up or they are destroyed. These commands make the same calls
as programs do over the API: to your server if one runs, otherwise in the same process.`,
		Example: `  aibox sandbox create --allow pip
  aibox sandbox exec 0dq4f -- python3 -c 'print(6 * 7)'
  aibox sandbox rm 0dq4f`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSandboxCreateCommand(a), newSandboxListCommand(a), newSandboxGetCommand(a), newSandboxExecCommand(a), newSandboxShellCommand(a),
		newSandboxCopyCommand(a), newSandboxExtendCommand(a), newSandboxNetworkCommand(a), newSandboxPortsCommand(a), newSandboxOpenCommand(a), newSandboxPauseCommand(a), newSandboxResumeCommand(a), newSandboxSnapshotCommand(a), newSandboxSnapshotsCommand(a), newSandboxForkCommand(a), newSandboxRemoveCommand(a))
	return cmd
}

// withSandbox calls do with the API and the sandbox that text names by its id or a unique
// prefix of it.
func (a *cli) withSandbox(ctx context.Context, text string, do func(*client.Client, *aiboxv1.Sandbox) error) error {
	return a.withAPI(ctx, func(c *client.Client) error {
		if found, err := c.Get(ctx, text); err == nil {
			return do(c, found)
		}
		found, err := findSandbox(ctx, c, text)
		if err != nil {
			return err
		}
		return do(c, found)
	})
}

// withSandboxID is withSandbox for calls that need only the id. A complete id is not looked up
// first. do must have done nothing if it returns a fault of the kind NotFound or Usage; then it
// is called again if text is a prefix.
func (a *cli) withSandboxID(ctx context.Context, text string, do func(c *client.Client, id string) error) error {
	return a.withAPI(ctx, func(c *client.Client) error {
		err := do(c, text)
		if kind := fault.KindOf(err); err == nil || kind != fault.NotFound && kind != fault.Usage {
			return err
		}
		found, findErr := findSandbox(ctx, c, text)
		switch {
		case findErr != nil:
			return findErr
		case found.GetSandboxId() == text:
			return err
		}
		return do(c, found.GetSandboxId())
	})
}

// findSandbox returns the sandbox that text names by its id or a unique prefix of it.
func findSandbox(ctx context.Context, c *client.Client, text string) (*aiboxv1.Sandbox, error) {
	all, err := c.List(ctx, &aiboxv1.ListSandboxesRequest{States: everyState(), PageSize: 1000})
	if err != nil {
		return nil, err
	}
	return matchSandbox(all, text)
}

// withAPI calls do with the API.
func (a *cli) withAPI(ctx context.Context, do func(*client.Client) error) error {
	c, end, err := a.api(ctx)
	if err != nil {
		return err
	}
	defer end()
	return do(c)
}

// everyState returns all states of sandboxes.
func everyState() []aiboxv1.SandboxState {
	var all []aiboxv1.SandboxState
	for number := range aiboxv1.SandboxState_name {
		if number != 0 {
			all = append(all, aiboxv1.SandboxState(number))
		}
	}
	return all
}

// matchSandbox returns the sandbox with that id or unique prefix of it.
func matchSandbox(all []*aiboxv1.Sandbox, text string) (*aiboxv1.Sandbox, error) {
	var found []*aiboxv1.Sandbox
	var ids []string
	for _, s := range all {
		if s.GetSandboxId() == text {
			return s, nil
		}
		if text != "" && strings.HasPrefix(s.GetSandboxId(), text) {
			found = append(found, s)
		}
		ids = append(ids, s.GetSandboxId())
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		missing := fault.New(fault.NotFound, "there is no sandbox %q", text)
		if near := spelling.Nearest(text, ids); near != "" {
			missing = missing.Hint("did you mean %s?", near)
		}
		return nil, missing.Hint("`aibox sandbox ls --all` lists them")
	default:
		return nil, fault.New(fault.Usage, "%q matches %d sandboxes", text, len(found)).Hint("type more of the id")
	}
}

// printMessage prints a message of the API as JSON.
func printMessage(out io.Writer, message client.Message) error {
	data, err := client.JSON(message)
	if err != nil {
		return err
	}
	return printJSON(out, json.RawMessage(data))
}

// printMessages prints messages of the API as a JSON array.
func printMessages[M client.Message](out io.Writer, messages []M) error {
	all := []json.RawMessage{}
	for _, message := range messages {
		data, err := client.JSON(message)
		if err != nil {
			return err
		}
		all = append(all, data)
	}
	return printJSON(out, all)
}

// stateName returns a state as users read it.
func stateName(s aiboxv1.SandboxState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "SANDBOX_STATE_"))
}

// parseLength parses a length of time of a flag; nil if it was not given.
func parseLength(flag, text string) (*client.Duration, error) {
	if text == "" {
		return nil, nil
	}
	d, err := spec.ParseDuration(text)
	if err != nil || d < 0 {
		return nil, fault.New(fault.Usage, "--%s takes a duration, not %q", flag, text).Hint("use one such as 90s, 30m or 2h; 0 means no limit")
	}
	return client.DurationOf(d), nil
}

// sandboxArgs refuses a command without exactly one sandbox.
func sandboxArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return fault.New(fault.Usage, "%s takes the id of a sandbox", cmd.CommandPath()).Hint("`aibox sandbox ls` lists them")
}

// leftOf returns the time until a sandbox ends.
func leftOf(s *aiboxv1.Sandbox) string {
	switch {
	case s.GetExpireTime() != nil:
		return time.Until(s.GetExpireTime().AsTime()).Round(time.Second).String()
	case s.GetEndTime() != nil:
		return "-"
	default:
		return "no limit"
	}
}
