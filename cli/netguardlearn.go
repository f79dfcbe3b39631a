package cli

import (
	"context"
	"fmt"
	"io"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/auditlog"

	"github.com/spf13/cobra"
)

// learnCommand is `aibox netguard learn`.
func (o *netguardOptions) learnCommand() *cobra.Command {
	var asJSON, accept bool
	cmd := &cobra.Command{
		Use:   "learn ID",
		Short: "Propose an allow list from what a session reached",
		Long: `Propose the smallest allow list that would have allowed all that a session reached
through the egress proxy: exact hosts, and no wildcards.

Look at each entry: the agent chose these hosts. --accept adds them to the allow list of
your settings.`,
		Example:           "  aibox netguard learn 0dq4f\n  aibox netguard learn 0dq4f --accept",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.complete.sessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			service, found, err := o.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			learned, err := service.Learned(found.ID)
			if err != nil {
				return err
			}
			proposals := learned.Proposals
			o.warnIncomplete(learned)
			switch {
			case asJSON:
				err = printJSON(o.out, learnedJSON(proposals))
			case len(proposals) == 0:
				fmt.Fprintf(o.err, "%s reached no host that its allow list does not have\n", found.ID)
			default:
				err = printProposals(o.out, proposals)
			}
			if err != nil || !accept || len(proposals) == 0 {
				return err
			}
			return o.allowProposals(cmd.Context(), found.Agent, proposals)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&accept, "accept", false, "add the entries to the allow list of your settings")
	return cmd
}

// proposalJSON is an entry of `aibox netguard learn --json`.
type proposalJSON struct {
	Entry     string `json:"entry"`
	Requests  int    `json:"requests"`
	BytesUp   int64  `json:"bytes_up"`
	BytesDown int64  `json:"bytes_down"`
}

func learnedJSON(proposals []netguard.Proposal) []proposalJSON {
	all := make([]proposalJSON, len(proposals))
	for i, p := range proposals {
		all[i] = proposalJSON{Entry: p.Pattern.String(), Requests: p.Requests, BytesUp: p.Up, BytesDown: p.Down}
	}
	return all
}

// warnIncomplete says that the list may lack hosts.
func (a *cli) warnIncomplete(learned auditlog.Learned) {
	if learned.Incomplete {
		fmt.Fprintf(a.err, "%s the list may be incomplete: the session sent requests to more hosts than its log names\n", a.errTerm.warn("!"))
	}
}

func printProposals(out io.Writer, proposals []netguard.Proposal) error {
	rows := make([][]string, len(proposals))
	for i, p := range proposals {
		rows[i] = []string{p.Pattern.String(), amount.Of(p.Requests, "request"), "sent " + amount.Bytes(p.Up), "received " + amount.Bytes(p.Down)}
	}
	return table(out, "", rows)
}

// allowProposals adds the proposed entries to the user's allow list for the agent.
func (a *cli) allowProposals(ctx context.Context, agent string, proposals []netguard.Proposal) error {
	for _, p := range proposals {
		file, err := a.app.SettingsEditor().AllowHost(ctx, agent, p.Pattern.String())
		if err != nil {
			return err
		}
		fmt.Fprintf(a.err, "%s %s: allow %s\n", a.errTerm.good("✓"), file, p.Pattern)
	}
	a.warnOfUnusedList()
	return nil
}

// offerLearned shows, after a run with --learn, the allow list that would have done. On a
// terminal the user can accept it; elsewhere the command that does is printed.
func (i *invocation) offerLearned(ctx context.Context, ended session.Session) error {
	if !ended.Learn {
		return nil
	}
	learned, err := i.service.Learned(ended.ID)
	if err != nil {
		return err
	}
	proposals := learned.Proposals
	i.warnIncomplete(learned)
	if len(proposals) == 0 {
		fmt.Fprintln(i.err, "the agent reached no host that its allow list does not have")
		return nil
	}
	fmt.Fprintln(i.err, "\nan allow list that would have been enough; the agent chose these hosts, so look at each:")
	if err := printProposals(i.err, proposals); err != nil {
		return err
	}
	if i.errTerm.interactive && terminalOf(i.in).interactive {
		yes, err := i.yes(ctx, "Add them to the allow list of your settings? [y/N] ")
		if yes {
			return i.allowProposals(ctx, ended.Agent, proposals)
		}
		if err != nil && fault.KindOf(err) != fault.Interrupted { // ctrl-c means no: the run has succeeded
			return err
		}
	}
	fmt.Fprintf(i.err, "%s `aibox netguard learn %s --accept` adds them to your settings\n", i.errTerm.faint("→"), ended.ID)
	return nil
}
