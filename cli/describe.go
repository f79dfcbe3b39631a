package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/decision"
	"aibox/review/printer"
	"aibox/review/risk/secrets"
	"aibox/session"
	"aibox/session/description"
	"aibox/session/manager"

	"github.com/spf13/cobra"
)

// describeOptions are the flags of `aibox describe`.
type describeOptions struct {
	*cli

	request, json bool
}

func newDescribeCommand(a *cli) *cobra.Command {
	o := describeOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "describe ID [PATH…]",
		Short: "Propose a commit message or a pull request text",
		Long: `Propose a commit message for what the agent changed, or with --pr a pull request text
in Markdown: the title on the first line, an empty line, the body. The text is built
from the session's record: the task, the changes, the verification, the model and the
agent, and what the network refused. Text from the agent appears only as quoted data.`,
		Example: `  aibox describe 0dq4f
  aibox describe 0dq4f --pr src
  aibox describe 0dq4f --json | jq -r .body | gh pr create --title "Fix the login" --body-file -`,
		Args:              sessionAndPaths,
		ValidArgsFunction: a.complete.sessionAndPaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], args[1:])
		},
	}
	cmd.Flags().BoolVar(&o.request, "pr", false, "print a pull request text")
	cmd.Flags().BoolVar(&o.json, "json", false, "print title, message and body as JSON")
	return cmd
}

func (o *describeOptions) run(ctx context.Context, text string, paths []string) error {
	if o.request && o.json {
		return fault.New(fault.Usage, "--pr and --json cannot be used together").Hint("--json includes the pull request text")
	}
	service, found, set, err := o.findChanges(ctx, text)
	if err != nil {
		return err
	}
	scope, err := decision.NewScope(ctx, set, paths, nil)
	if err != nil {
		return err
	}
	described, err := describeSet(service, found, scope.Set())
	o.printRedacted(described.Secrets)
	switch {
	case err != nil:
		return err
	case o.json:
		return printJSON(o.out, described)
	case o.request:
		_, err = io.WriteString(o.out, described.Title+"\n\n"+described.Body)
	default:
		_, err = io.WriteString(o.out, described.Message)
	}
	return quietly(err)
}

// describeSet describes a part of a session's work.
func describeSet(service *manager.Manager, found session.Session, set *review.ChangeSet) (description.Text, error) {
	verified, err := service.Verifications(found.ID)
	if err != nil {
		return description.Text{}, err
	}
	return description.Of(found, set, verified), nil
}

// proposedMessage returns the commit message for the chosen changes, or for all changes if
// the choice cannot be applied.
func (a *cli) proposedMessage(ctx context.Context, service *manager.Manager, found session.Session, set *review.ChangeSet, choice review.Choice) string {
	if plan, err := decision.NewPlan(ctx, set, choice, nil); err == nil {
		set = plan.Part
	}
	described, err := describeSet(service, found, set)
	if err != nil {
		described = description.Of(found, set, nil)
	}
	a.printRedacted(described.Secrets)
	return described.Message
}

// printRedacted reports the secrets that were left out of a text.
func (c *console) printRedacted(count int) {
	if count > 0 {
		fmt.Fprintf(c.err, "%s %s in the message replaced by %s\n", c.errTerm.warn("!"), amount.Of(count, "secret"), secrets.Removed)
	}
}

// scissors is the line below which nothing counts, as in git.
const scissors = "# ------------------------ >8 ------------------------"

// editMessage lets the user edit a commit message. An empty one cancels.
func (c *console) editMessage(ctx context.Context, message string, part *review.ChangeSet) (string, error) {
	dir, err := os.MkdirTemp("", "aibox-message-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	var text strings.Builder
	text.WriteString(message + "\n" + scissors + "\n# Everything below is left out. An empty message cancels.\n#\n")
	var table strings.Builder
	if err := printer.Stat(part, &table, 72); err != nil {
		return "", err
	}
	for line := range strings.Lines(table.String()) {
		text.WriteString("#" + line)
	}
	file := filepath.Join(dir, "COMMIT_EDITMSG") // the name that editors know
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return "", err
	}
	if err := c.edit(ctx, file); err != nil {
		return "", err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the message again: %w", err)
	}
	edited, _, _ := strings.Cut("\n"+string(data), "\n"+scissors)
	if edited = strings.TrimSpace(edited); edited == "" {
		return "", fault.New(fault.Interrupted, "the message is empty, so nothing was accepted")
	}
	return edited + "\n", nil
}
