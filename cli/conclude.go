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

// conclude accepts the changes if asked to, prints the result and returns the error that
// determines the exit code.
func (a *cli) conclude(ctx context.Context, plan run.Plan, show presentation, service *session.Sessions, ended session.Session) error {
	result := ended.State.Result
	out := runResult{Session: ended, Files: []review.Change{}}
	failure := result.Fault.Err()
	target := plan.Accept
	set, err := service.FinalChanges(ended.ID)
	if unknown := ended.UnknownChanges(); unknown != nil { // computing them has just failed
		if target != nil {
			unknown = fault.New(fault.Environment, "nothing was accepted: %w", unknown).
				Hint("`aibox accept %s` accepts them once they are known", ended.ID)
		}
		set, err, target = nil, unknown, nil
	} else if err != nil || target != nil && !set.Assessed() {
		set, err = service.Changes(ctx, ended.ID)
	}
	if err == nil {
		out.Files, out.Refused, out.Rules = append(out.Files, set.Changes...), set.Refused, set.Rules
	} else {
		failure = errors.Join(failure, err)
	}
	if target != nil && result.Changed && failure == nil {
		verifier := a.verifierAtEnd(plan.Launch.Env, service, ended)
		all := review.Choice{All: true}
		out.Accepted, failure = service.AcceptSet(ctx, ended.ID, set, accept.Options{
			Choice: all, Target: *target, Message: a.proposedMessage(ctx, service, ended, set, all), Verify: verifier,
		})
	}
	if failure == nil && plan.Launch.Spec.RequireChanges && !result.Changed && set != nil {
		failure = fault.New(fault.AgentFailed, "%s succeeded but changed nothing", plan.Launch.Spec.Agent).
			Hint("`aibox logs %s` shows its output", ended.ID)
	}
	if show.json {
		return errors.Join(printJSON(a.out, out), failure)
	}
	a.summarize(out, set)
	return errors.Join(failure, a.offerLearned(ctx, service, ended))
}

// summarize prints the end of a run on standard error.
func (a *cli) summarize(out runResult, set *review.ChangeSet) {
	result, t := out.State.Result, a.errTerm
	fmt.Fprintln(a.err)
	switch {
	case set == nil:
		fmt.Fprintf(a.err, "%s the changes are unknown\n", t.warn("!"))
	case !set.Empty():
		printRisks(a.err, t, set)
		_ = printer.Stat(set, a.err, t.width)
		printNotes(a.err, set)
	default:
		fmt.Fprintln(a.err, "nothing was changed")
	}
	if open := out.OpenTools(); open != "" {
		fmt.Fprintf(a.err, "%s %s was open: the agent had a way out of its sandbox through the model's server\n", t.warn("!"), open)
	}
	for _, text := range out.ReachNotices() {
		fmt.Fprintf(a.err, "%s %s\n", t.warn("!"), termtext.Escape(text))
	}
	for _, note := range result.Notes {
		fmt.Fprintf(a.err, "note: %s\n", notice(note))
	}
	if failed := result.ModelFailures; failed != nil {
		fmt.Fprintf(a.err, "%s the model failed %d times, most recently: %s\n", t.warn("!"), failed.Count, notice(failed.Message))
	}
	for _, refused := range result.Refused {
		fmt.Fprintf(a.err, "%s refused %s\n", t.warn("⊘"), traffic.Say(refused.Access()))
	}
	if result.Egress.Allowed > 0 {
		fmt.Fprintf(a.err, "%s %s\n", t.good("✓"), result.Egress)
	}
	took := amount.Took(time.Duration(result.Seconds * float64(time.Second)))
	if result.Verification != nil {
		fmt.Fprintln(a.err, a.verificationLine(*result.Verification))
	}
	fmt.Fprintf(a.err, "%s  %s, %s\n", t.bold(string(out.ID)), took, result.Tokens)
	switch {
	case out.Accepted != nil && out.Accepted.Target == accept.ToWorktree:
		a.printPlaced(out.Accepted)
	case out.Accepted != nil:
		fmt.Fprintf(a.err, "%s branch %s in %s\n", t.good("✓"), termtext.Escape(out.Accepted.Branch), termtext.Escape(out.Accepted.Repo))
		a.printBranches(out.State.Workspace, out.Accepted)
	case result.Changed:
		look := "diff"
		if a.isInteractive() {
			look = "review"
		}
		for _, next := range [][2]string{{look, "review the changes"}, {"accept", "accept them on a branch"}, {"discard", "drop them"}} {
			fmt.Fprintf(a.err, "%s aibox %-*s  %s\n", t.faint("→"), len("discard ")+len(out.ID), next[0]+" "+string(out.ID), next[1])
		}
	}
}
