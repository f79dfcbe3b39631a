package cli

import (
	"context"
	"fmt"
	"strconv"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"

	"github.com/spf13/cobra"
)

// answerOptions are the flags of `aibox answer`.
type answerOptions struct {
	*cli

	json bool
}

func newAnswerCommand(a *cli) *cobra.Command {
	o := answerOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "answer [ID [NUMBER] ANSWER]",
		Short: "List or answer the questions of running sessions",
		Long: `List the open questions of running sessions, or answer one. NUMBER is needed if the
session asks more than one.

A session that was started with --ask asks whether its agent may reach a host:

  once     allow the connections that wait
  session  allow the host and port until the session ends
  always   the same, and add them to the allow list of your settings
  deny     refuse them until the session ends

Other questions, such as the one for more time, take yes or no. Only the first answer
counts. About hosts, tokens and cost, a session asks only while its questions are shown: by
aibox run, attach or logs -f on a terminal, or by the terminal UI.`,
		Example:           "  aibox answer\n  aibox answer 0dq4f once\n  aibox answer 0dq4f 3 deny",
		Args:              cobra.MaximumNArgs(3),
		ValidArgsFunction: a.complete.running,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print the open questions as JSON")
	return cmd
}

func (o *answerOptions) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return o.list()
	case o.json:
		return fault.New(fault.Usage, "--json lists the questions, and answers none").Hint("drop the arguments, or --json")
	case len(args) == 1:
		return fault.New(fault.Usage, "aibox answer needs an answer").Hint("`aibox answer %s once` allows what it asks for once", args[0])
	}
	service, found, err := o.find(ctx, args[0])
	if err != nil {
		return err
	}
	live, err := service.Live(found.ID)
	if err != nil {
		return err
	}
	r, err := chooseRequest(found.ID, live.Requests, args[1:len(args)-1])
	if err != nil {
		return err
	}
	done, err := o.answerRequest(ctx, service, r, session.Answer(args[len(args)-1]))
	if err != nil {
		return err
	}
	fmt.Fprintln(o.out, done)
	return nil
}

// chooseRequest returns the open question with the number, or the only one without a number.
func chooseRequest(id session.ID, open []session.Request, number []string) (*session.Request, error) {
	if len(number) == 0 {
		switch len(open) {
		case 0:
			return nil, fault.New(fault.Usage, "%s asks nothing", id).Hint("`aibox answer` lists the open questions")
		case 1:
			return &open[0], nil
		}
		return nil, fault.New(fault.Usage, "%s asks %d questions", id, len(open)).
			Hint("`aibox answer` lists them; name one: aibox answer %s %d once", id, open[0].ID)
	}
	n, err := strconv.Atoi(number[0])
	if err != nil {
		return nil, fault.New(fault.Usage, "%q is not the number of a question", number[0]).Hint("`aibox answer` lists the open questions")
	}
	for i := range open {
		if open[i].ID == n {
			return &open[i], nil
		}
	}
	return nil, fault.New(fault.Usage, "%s has no open question %d", id, n).Hint("`aibox answer` lists the open questions")
}

// list prints the open questions of all sessions.
func (o *answerOptions) list() error {
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	open, err := service.Requests()
	if err != nil {
		return err
	}
	if o.json {
		if open == nil {
			open = []session.Request{}
		}
		return printJSON(o.out, open)
	}
	if len(open) == 0 {
		fmt.Fprintln(o.err, "no session asks anything")
		return nil
	}
	rows := make([][]string, 0, len(open))
	for _, r := range open {
		text := termtext.Escape(r.Question)
		if r.Access != nil {
			text = accessQuestion(&r)
		}
		expires := amount.Span(remaining(&r))
		if r.Until.IsZero() {
			expires = "" // not known before
		}
		rows = append(rows, []string{string(r.Session), strconv.Itoa(r.ID), expires, text})
	}
	return o.overview("ID\tNUMBER\tEXPIRES IN\tQUESTION", rows)
}
