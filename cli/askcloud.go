package cli

import (
	"context"
	"fmt"

	"aibox/app/run"
	"aibox/internal/termtext"
)

// resolve validates a request. On a terminal, the user can accept that the agent talks to
// its vendor's servers; the answer is kept in the user's settings.
func (a *cli) resolve(ctx context.Context, runner *run.Runner, request run.Request) (run.Plan, error) {
	plan, err := runner.Resolve(request)
	unaccepted, ok := run.IsUnacceptedCloud(err)
	if !ok || !a.errTerm.interactive || !terminalOf(a.in).interactive {
		return plan, err
	}
	yes, asked := a.askHosts(ctx, unaccepted)
	if asked != nil {
		return plan, asked
	}
	if !yes {
		return plan, err
	}
	key, value := unaccepted.Accept()
	if err := a.app.SettingsEditor().Set(ctx, key, value); err != nil {
		return plan, err
	}
	return runner.Resolve(request)
}

// askHosts asks on the terminal whether an agent may talk to its vendor's servers.
func (a *cli) askHosts(ctx context.Context, unaccepted run.UnacceptedCloud) (bool, error) {
	a.nameHosts(unaccepted)
	return a.yes(ctx, "Allow these hosts, now and in the future? [y/N] ")
}

// nameHosts prints the vendor's servers that an agent needs and the user has not accepted.
func (a *cli) nameHosts(unaccepted run.UnacceptedCloud) {
	info := unaccepted.Agent
	what := "its vendor's servers"
	if unaccepted.More() {
		what = "more of its vendor's servers than you have accepted"
	}
	fmt.Fprintf(a.err, "%s %s talks to %s:\n", a.errTerm.warn("!"), termtext.Escape(info.Title), what)
	for _, host := range unaccepted.Hosts() {
		fmt.Fprintf(a.err, "    %s\n", termtext.Escape(host))
	}
	fmt.Fprint(a.err, "  The agent can send them anything in the workspace. aibox sees how much it sends, not what.\n")
}
