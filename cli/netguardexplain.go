package cli

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"aibox/app/run"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/netguard"
	"aibox/session"

	"github.com/spf13/cobra"
)

// explainOptions is one call of `aibox netguard explain` or `aibox netguard test`.
type explainOptions struct {
	*cli

	request run.Request
	resolve bool
	json    bool
}

// bindPolicy declares the flags that select a policy.
func (o *explainOptions) bindPolicy(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.request.Agent, "agent", "", "decide as for this `AGENT`")
	flags.StringVar(&o.request.Repository, "repo", "", "decide as for the repository at `PATH`")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("agent", fixed(o.app.Agents().Names()...))
	for _, field := range config.RunFields() {
		switch field.Key {
		case "network", "allow", "deny", "inspect", "inference":
			flags.VarPF(&settingFlag{field, &o.request.Settings}, field.Key, "", settingHelp(field))
			_ = cmd.RegisterFlagCompletionFunc(field.Key, o.complete.setting(field))
		}
	}
}

// explainCommand is `aibox netguard explain`.
func (o *netguardOptions) explainCommand() *cobra.Command {
	e := &explainOptions{cli: o.cli}
	cmd := &cobra.Command{
		Use:   "explain HOST[:PORT] [ID]",
		Short: "Show whether a policy allows a host, and why",
		Long: `Show whether a policy allows a host, which entry of which list decides, and what would
allow it. With the id of a running session, the session's current lists decide; without,
those of a run with these flags. The port is 443 unless you name another one.

No name is looked up, unless you pass --resolve: then each address of the host is checked
as the egress proxy checks it. The proxy connects only to those that are allowed, and
refuses a host that has none.

Exits with code 0 if the host is allowed, and with 4 if it is refused.`,
		Example: "  aibox netguard explain registry.example.org\n  aibox netguard explain git.example.org:22 --allow '*.example.org'\n  aibox netguard explain example.org 0dq4f",
		Args:    cobra.RangeArgs(1, 2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return o.complete.sessions(cmd, nil, prefix)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return e.explain(cmd.Context(), args) },
	}
	e.bindPolicy(cmd)
	cmd.Flags().BoolVar(&e.resolve, "resolve", false, "look up the host on this machine, and check each address")
	return cmd
}

func (o *explainOptions) explain(ctx context.Context, args []string) error {
	d, err := destinationOf(args[0])
	if err != nil {
		return err
	}
	launched, lists, id, err := o.policy(ctx, args[1:])
	if err != nil {
		return err
	}
	addresses, err := o.addresses(ctx, d)
	if err != nil {
		return err
	}
	e, err := run.Explain(&launched, lists, id, d, o.app.DecideAddresses, addresses...)
	if err != nil {
		return err
	}
	if o.json {
		err = printJSON(o.out, e)
	} else {
		o.printExplanation(e, &launched, lists)
	}
	if err == nil && !e.Allowed {
		return fault.New(fault.Refused, "%s is refused", e.Destination)
	}
	return err
}

// policy returns the settings of the session with the id in args, with its current lists,
// or those of a run with the flags.
func (o *explainOptions) policy(ctx context.Context, args []string) (session.Spec, *session.Lists, session.ID, error) {
	if len(args) == 0 {
		service, err := o.app.Sessions()
		if err != nil {
			return session.Spec{}, nil, "", err
		}
		launched, err := o.runner(service).ResolveNetwork(o.request)
		return launched, nil, "", err
	}
	if len(o.request.Settings.Keys()) > 0 || o.request.Agent != "" || o.request.Repository != "" {
		return session.Spec{}, nil, "", fault.New(fault.Usage, "a session has its own policy, so flags have no effect on it").
			Hint("drop the session id, or the flags")
	}
	_, found, err := o.find(ctx, args[0])
	if err != nil {
		return session.Spec{}, nil, "", err
	}
	id := found.ID
	if found.State.Phase == session.Ended {
		id = ""
	}
	return found.Spec, found.State.Lists, id, nil
}

// lookupTimeout bounds the look-up of one host.
const lookupTimeout = 5 * time.Second

func (o *explainOptions) addresses(ctx context.Context, d netguard.Destination) ([]netip.Addr, error) {
	if !o.resolve || d.Host.Name() == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", d.Host.Name()+".") // no search domains, as in the proxy
	if err != nil {
		return nil, fault.New(fault.Environment, "%s cannot be looked up: %w", d.Host, err)
	}
	return addresses, nil
}

// destinationOf parses HOST or HOST:PORT; without a port it is 443.
func destinationOf(text string) (netguard.Destination, error) {
	d, err := netguard.ParseDestination(text)
	switch {
	case err == nil:
		return d, nil
	case strings.Contains(text, "/"):
		return d, fault.New(fault.Usage, "%q is not a host", text).Hint("write HOST or HOST:PORT, without a scheme and a path")
	}
	host, hostErr := netguard.ParseHost(text)
	if hostErr != nil {
		if !strings.Contains(text, ":") {
			err = hostErr
		}
		return d, fault.New(fault.Usage, "%w", err).Hint("write HOST or HOST:PORT, without a scheme and a path")
	}
	return netguard.Destination{Host: host, Port: 443}, nil
}

func (o *explainOptions) printExplanation(e run.Explanation, launched *session.Spec, lists *session.Lists) {
	verdict := o.term.bad("refused")
	if e.Allowed {
		verdict = o.term.good("allowed")
	}
	fmt.Fprintf(o.out, "%s  %s: %s\n", verdict, termtext.Escape(e.Destination), e.Explanation)
	rows := [][]string{{"policy", termtext.Escape(strings.TrimPrefix(launched.Reach(), "policy "))}}
	if lists != nil {
		rows = [][]string{{"policy", fmt.Sprintf("%s, the session's current lists", e.Policy)}}
	}
	if e.Rule != "" {
		rows = append(rows, []string{"entry", termtext.Escape(e.Rule)}, []string{"from", termtext.Escape(e.Source)})
	}
	if e.Restricted {
		rows = append(rows, []string{"note", "only some requests to it are allowed"})
	}
	if len(e.Presets) > 0 {
		rows = append(rows, []string{"note", fmt.Sprintf("the image names the hosts of %s; the first lines of a run show them", strings.Join(e.Presets, ", "))})
	}
	for _, address := range e.Addresses {
		text := address.Address + ": allowed"
		if !address.Allowed {
			text = address.Address + ": refused, " + address.Explanation
		}
		rows = append(rows, []string{"address", text})
	}
	if e.Command != "" {
		rows = append(rows, []string{"to allow it", termtext.Escape(e.Command)})
	}
	_ = table(o.out, "", rows)
}

// testCommand is `aibox netguard test`.
func (o *netguardOptions) testCommand() *cobra.Command {
	e := &explainOptions{cli: o.cli}
	var file string
	cmd := &cobra.Command{
		Use:   "test [EXPECTED HOST[:PORT]]…",
		Short: "Check a policy against a list of expected decisions",
		Long: `Check what a policy decides about hosts against what you expect. Each case is "allow" or
"refuse" and a host. --file reads cases from a file, one a line; # begins a comment, and
the file - is standard input. No name is looked up.

Exits with code 1 if a decision is not the expected one.`,
		Example: "  aibox netguard test allow example.org refuse example.net:22\n  aibox netguard test --agent codex --file policy.test",
		RunE:    func(cmd *cobra.Command, args []string) error { return e.test(cmd.Context(), args, file) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args)%2 == 0 {
				return []string{"allow", "refuse"}, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	e.bindPolicy(cmd)
	cmd.Flags().StringVar(&file, "file", "", "read cases from this `FILE`")
	return cmd
}

// policyCase is a case of `aibox netguard test`, and its result in JSON.
type policyCase struct {
	Expected    string          `json:"expected"` // allow or refuse
	Passed      bool            `json:"passed"`
	Explanation run.Explanation `json:"decision"`

	destination netguard.Destination
}

func (o *explainOptions) test(ctx context.Context, args []string, file string) error {
	cases, err := o.cases(ctx, args, file)
	if err != nil {
		return err
	}
	launched, _, _, err := o.policy(ctx, nil)
	if err != nil {
		return err
	}
	failed := 0
	for i := range cases {
		c := &cases[i]
		if c.Explanation, err = run.Explain(&launched, nil, "", c.destination, o.app.DecideAddresses); err != nil {
			return err
		}
		if c.Passed = c.Explanation.Allowed == (c.Expected == "allow"); !c.Passed {
			failed++
		}
	}
	if o.json {
		err = printJSON(o.out, cases)
	} else {
		o.printCases(cases)
	}
	if err == nil && failed > 0 {
		return fault.New(fault.AgentFailed, "%d of %d decisions failed the test", failed, len(cases))
	}
	return err
}

func (o *explainOptions) printCases(cases []policyCase) {
	rows := make([][]string, len(cases))
	for i, c := range cases {
		mark := o.term.good("✓")
		if !c.Passed {
			mark = o.term.bad("✗")
		}
		decided := "refused"
		if c.Explanation.Allowed {
			decided = "allowed"
		}
		why := c.Explanation.Explanation
		if c.Explanation.Rule != "" {
			why += " (" + c.Explanation.Rule + ", " + c.Explanation.Source + ")"
		}
		rows[i] = []string{mark, termtext.Escape(c.Explanation.Destination), decided, termtext.Escape(why)}
	}
	_ = table(o.out, "", rows)
}

// maxCases bounds the bytes of a file of cases.
const maxCases = 1 << 20

// cases reads the cases of the command line and of the file.
func (o *explainOptions) cases(ctx context.Context, args []string, file string) ([]policyCase, error) {
	var cases []policyCase
	if len(args)%2 != 0 {
		return nil, fault.New(fault.Usage, "each case is \"allow\" or \"refuse\" and a host").Hint("aibox netguard test allow example.org refuse example.net")
	}
	add := func(expected, host string) error {
		if expected != "allow" && expected != "refuse" {
			return fault.New(fault.Usage, "a decision is \"allow\" or \"refuse\", not %q", expected)
		}
		d, err := destinationOf(host)
		cases = append(cases, policyCase{Expected: expected, destination: d})
		return err
	}
	for i := 0; i < len(args); i += 2 {
		if err := add(args[i], args[i+1]); err != nil {
			return nil, err
		}
	}
	lines, err := o.caseLines(ctx, file)
	if err != nil {
		return nil, err
	}
	for i, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case len(words) != 2:
			return nil, fault.New(fault.Usage, "%s:%d: a line is \"allow HOST\" or \"refuse HOST\"", file, i+1)
		default:
			if err := add(words[0], words[1]); err != nil {
				return nil, fault.New(fault.Usage, "%s:%d: %w", file, i+1, err)
			}
		}
	}
	if len(cases) == 0 {
		return nil, fault.New(fault.Usage, "there are no cases to check").Hint("aibox netguard test allow example.org refuse example.net")
	}
	return cases, nil
}

func (o *explainOptions) caseLines(ctx context.Context, file string) ([]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := o.readNamed(ctx, file, maxCases)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fault.New(fault.Usage, "the cases in %s cannot be read: %w", file, err)
	case len(text) > maxCases:
		return nil, fault.New(fault.Usage, "%s has more than %d MiB of cases", file, maxCases>>20)
	}
	return strings.Split(string(text), "\n"), nil
}
