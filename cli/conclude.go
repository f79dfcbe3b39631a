package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"aibox/app/run"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/printer"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/ui/traffic"
)

// runResult is the JSON of `aibox run`.
type runResult struct {
	session.Session
	Files    []review.Change  `json:"files"`
	Rules    string           `json:"rules,omitempty"` // by which the files' risks were found
	Refused  []review.Refusal `json:"refused_files,omitempty"`
	Accepted *accept.Result   `json:"accepted,omitempty"`
}

// finish is conclude for a session that a signal may have ended, and with ctx. Only a later signal ends it:
// verifying the changes can take long.
func (i *invocation) finish(ctx context.Context, plan run.Plan, ended session.Session) error {
	return untilNextSignal(ctx, func(ctx context.Context) error { return i.conclude(ctx, plan, ended) })
}

// conclude accepts the changes if asked to, prints the result and returns the error that
// determines the exit code.
func (i *invocation) conclude(ctx context.Context, plan run.Plan, ended session.Session) error {
	result := ended.State.Result
	out := runResult{Session: ended, Files: []review.Change{}}
	failure := result.Fault.Err()
	target := plan.Accept
	set, err := i.service.FinalChanges(ended.ID)
	if unknown := ended.UnknownChanges(); unknown != nil { // computing them has just failed
		if target != nil {
			unknown = fault.New(fault.Environment, "nothing was accepted: %w", unknown).
				Hint("`aibox accept %s` accepts them once they are known", ended.ID)
		}
		set, err, target = nil, unknown, nil
	} else if err != nil || target != nil && !set.Assessed() {
		set, err = i.service.Changes(ctx, ended.ID)
	}
	if err == nil {
		out.Files, out.Refused, out.Rules = append(out.Files, set.Changes...), set.Refused, set.Rules
	} else {
		failure = errors.Join(failure, err)
	}
	if target != nil && result.Changed && failure == nil {
		verifier := i.verifierAtEnd(plan.Launch.Env, ended)
		all := review.Choice{All: true}
		out.Accepted, failure = i.service.AcceptSet(ctx, ended.ID, set, accept.Options{
			Choice: all, Target: *target, Message: i.proposedMessage(ctx, i.service, ended, set, all), Verify: verifier,
		})
	}
	if failure == nil && plan.Launch.Spec.RequireChanges && !result.Changed && set != nil {
		failure = fault.New(fault.AgentFailed, "%s succeeded but changed nothing", plan.Launch.Spec.Agent).
			Hint("`aibox logs %s` shows its output", ended.ID)
	}
	if i.show.json {
		return errors.Join(printJSON(i.out, out), failure)
	}
	i.summarize(out, set)
	return errors.Join(failure, i.offerLearned(ctx, ended))
}

// summarize prints the end of a run on standard error.
func (i *invocation) summarize(out runResult, set *review.ChangeSet) {
	result, t := out.State.Result, i.errTerm
	fmt.Fprintln(i.err)
	switch {
	case set == nil:
		fmt.Fprintf(i.err, "%s the changes are unknown\n", t.warn("!"))
	case !set.Empty():
		printRisks(i.err, t, set)
		_ = printer.Stat(set, i.err, t.width)
		printNotes(i.err, set)
	default:
		fmt.Fprintln(i.err, "nothing was changed")
	}
	if open := out.OpenTools(); open != "" {
		fmt.Fprintf(i.err, "%s %s was open: the agent had a way out of its sandbox through the model's server\n", t.warn("!"), open)
	}
	for _, text := range out.ReachNotices() {
		fmt.Fprintf(i.err, "%s %s\n", t.warn("!"), termtext.Escape(text))
	}
	for _, note := range result.Notes {
		fmt.Fprintf(i.err, "note: %s\n", notice(note))
	}
	if failed := result.ModelFailures; failed != nil {
		fmt.Fprintf(i.err, "%s the model failed %s, most recently: %s\n", t.warn("!"), amount.Of(failed.Count, "time"), notice(failed.Message))
	}
	for _, refused := range result.Refused {
		fmt.Fprintf(i.err, "%s refused %s\n", t.warn("⊘"), traffic.Say(auditlog.RefusedAccess(refused)))
	}
	if len(result.Refused) > 0 {
		fmt.Fprintf(i.err, "%s aibox netguard log %s  why, and what allows it in a later session\n", t.faint("→"), out.ID)
	}
	if result.Egress.Allowed > 0 {
		fmt.Fprintf(i.err, "%s %s\n", t.good("✓"), result.Egress)
	}
	took := amount.Took(time.Duration(result.Seconds * float64(time.Second)))
	if result.Verification != nil {
		fmt.Fprintln(i.err, i.verificationLine(*result.Verification))
	}
	fmt.Fprintf(i.err, "%s  %s, %s\n", t.bold(string(out.ID)), took, result.Tokens)
	if out.Accepted != nil && out.Accepted.Files == 0 {
		i.printLeftOut(out.ID, out.Accepted.Left)
		fmt.Fprintf(i.err, "%s nothing was accepted\n", t.warn("!"))
		out.Accepted = nil // what comes next is the same as without --accept
	}
	switch {
	case out.Accepted != nil && out.Accepted.Target == accept.ToWorktree:
		i.printPlaced(out.Accepted)
	case out.Accepted != nil:
		fmt.Fprintf(i.err, "%s branch %s in %s\n", t.good("✓"), termtext.Escape(out.Accepted.Branch), termtext.Escape(out.Accepted.Repo))
		i.printBranches(out.State.Workspace, out.Accepted)
	case result.Changed:
		look := "diff"
		if i.isInteractive() {
			look = "review"
		}
		for _, next := range [][2]string{{look, "review the changes"}, {"accept", "accept them on a branch"}, {"discard", "drop them"}} {
			fmt.Fprintf(i.err, "%s aibox %-*s  %s\n", t.faint("→"), len("discard ")+len(out.ID), next[0]+" "+string(out.ID), next[1])
		}
	}
}
