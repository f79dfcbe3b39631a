package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"aibox/app/run"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
	"aibox/session/comparison"
	"aibox/session/output"
	"aibox/session/summary"
)

// batchResult is the JSON of `aibox run` for several sessions.
type batchResult struct {
	Batch    session.BatchID `json:"batch"`
	Sessions []runResult     `json:"sessions"` // in the order in which they were asked for
}

// startedBatch is the JSON of `aibox run --detach` for several sessions.
type startedBatch struct {
	Batch    session.BatchID   `json:"batch"`
	Sessions []session.Session `json:"sessions"`
}

// batchRun is a batch that this process started and follows.
type batchRun struct {
	*invocation
	batch run.Batch
	runs  []memberRun // one for each plan

	mu sync.Mutex // guards the output
}

// memberRun is a session of a batch that this process started.
type memberRun struct {
	id    session.ID // empty if it was not started
	ended session.Session
	err   error // of the start, or of following it
}

// runBatch runs a request for several sessions: it starts them, follows them to their end
// unless they are detached, and prints their results side by side.
func (i *invocation) runBatch(ctx context.Context, request run.Request) error {
	batch, err := i.runner.ResolveBatch(ctx, request, func(runner *run.Runner, member run.Request) (run.Plan, error) {
		return i.resolve(ctx, runner, member)
	})
	if len(batch.Plans) > 0 {
		i.warnRepositorySettings(batch.Plans[0].RepositorySettings)
	}
	if err != nil {
		return err
	}
	var servers []string
	for n := range batch.Plans {
		spec := &batch.Plans[n].Launch.Spec
		if spec.HasModel() && len(spec.CloudHosts) == 0 && !slices.Contains(servers, spec.Inference) {
			servers = append(servers, spec.Inference)
		}
	}
	for _, inference := range servers {
		if err := i.askAboutServer(ctx, inference); err != nil {
			return err
		}
	}
	b := &batchRun{invocation: i, batch: batch, runs: make([]memberRun, len(batch.Plans))}
	b.line(i.errTerm.faint("→"), string(batch.ID), fmt.Sprintf("%d sessions; `aibox compare %s` sets them side by side", len(batch.Plans), batch.ID))
	if request.Detached {
		return b.startDetached(ctx)
	}
	return b.follow(ctx)
}

// line prints a line of progress.
func (b *batchRun) line(mark, name, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.err, "%s %-16s %s\n", mark, name, safe(text))
}

// start starts all sessions. begun receives each that was started, from several goroutines.
func (b *batchRun) start(ctx context.Context, begun func(i int, id session.ID)) error {
	repair := func(ctx context.Context) { b.repair(ctx, b.service) }
	results, err := b.runner.StartBatch(ctx, b.batch, run.Callbacks{Repair: repair, Bake: b.offerToBake}, func(i int, started run.BatchStart) {
		if started.Err != nil {
			b.line(b.errTerm.bad("✗"), b.batch.Label(i), started.Err.Error())
			for _, hint := range fault.Hints(started.Err) {
				b.line(b.errTerm.faint("→"), b.batch.Label(i), hint)
			}
			return
		}
		text := "started"
		if found, err := b.service.Find(string(started.ID)); err == nil && found.State.Phase == session.Queued {
			text = "queued: " + found.State.Queue.Text
		}
		b.line(b.errTerm.good("✓"), string(started.ID), b.batch.Label(i)+", "+text)
		begun(i, started.ID)
	})
	for i, started := range results {
		b.runs[i].id, b.runs[i].err = started.ID, started.Err
		if started.ID != "" {
			b.show.setStarted()
		}
	}
	return err
}

// startDetached starts the sessions and prints their ids.
func (b *batchRun) startDetached(ctx context.Context) error {
	if err := b.start(ctx, func(int, session.ID) {}); err != nil {
		return err
	}
	out := startedBatch{b.batch.ID, []session.Session{}}
	for _, member := range b.runs {
		if member.id == "" {
			continue
		}
		if !b.show.json {
			fmt.Fprintln(b.out, member.id)
			continue
		}
		found, err := b.service.Find(string(member.id))
		if err != nil {
			return err
		}
		out.Sessions = append(out.Sessions, found)
	}
	var err error
	if b.show.json {
		err = printJSON(b.out, out)
	}
	return errors.Join(err, b.failure())
}

// follow starts the sessions, waits for their ends and prints the results.
func (b *batchRun) follow(ctx context.Context) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals(os.Interrupt)...)
	defer signal.Stop(signals)
	following, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	var handling sync.WaitGroup
	stop := make(chan struct{}) // closed when the sessions are to be stopped
	handling.Go(func() { b.handleSignals(following, signals, stop, cancel) })

	ended := make([]memberRun, len(b.runs))
	var waiting sync.WaitGroup
	err := b.start(ctx, func(i int, id session.ID) {
		waiting.Go(func() { ended[i] = b.await(following, id, stop) })
	})
	waiting.Wait()
	hungUp := context.Cause(following)
	cancel(nil)
	handling.Wait()
	if err != nil || hungUp != nil {
		return errors.Join(hungUp, err)
	}
	for i := range b.runs {
		if b.runs[i].err == nil {
			b.runs[i].ended, b.runs[i].err = ended[i].ended, ended[i].err
		}
	}
	return b.conclude()
}

// handleSignals stops all sessions at ctrl-c. A hang-up leaves them running.
func (b *batchRun) handleSignals(ctx context.Context, signals <-chan os.Signal, stop chan struct{}, cancel context.CancelCauseFunc) {
	stopped := false
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			switch {
			case s == syscall.SIGHUP:
				cancel(fault.New(fault.Interrupted, "the terminal hung up; the sessions of %s continue", b.batch.ID).
					Hint("`aibox ls --batch %s` lists them", b.batch.ID))
			case !stopped:
				stopped = true
				b.line(b.errTerm.warn("!"), string(b.batch.ID), "stopping all sessions; what they did so far is kept")
				close(stop)
			}
		}
	}
}

// await waits for the end of a session, and stops it when stop is closed.
func (b *batchRun) await(ctx context.Context, id session.ID, stop <-chan struct{}) memberRun {
	over := make(chan struct{})
	var stopping sync.WaitGroup
	stopping.Go(func() {
		select {
		case <-stop:
			_, _ = b.service.Stop(ctx, id, "interrupted by the user")
		case <-over:
		}
	})
	ended, err := b.service.Follow(ctx, id, 0, func(output.Chunk) error { return nil })
	close(over)
	stopping.Wait()
	if err == nil {
		b.reportEnd(ended)
	}
	return memberRun{id: id, ended: ended, err: err}
}

// reportEnd prints how a session ended.
func (b *batchRun) reportEnd(ended session.Session) {
	result := ended.State.Result
	took := amount.Took(time.Duration(result.Seconds * float64(time.Second)))
	if result.Fault != nil {
		b.line(b.errTerm.bad("✗"), string(ended.ID), result.Fault.Message+" ("+took+")")
		return
	}
	brief := summary.Of(&ended)
	b.line(b.errTerm.good("✓"), string(ended.ID), changed(&brief)+" ("+took+", "+result.Tokens.String()+")")
}

// conclude prints the results and returns the error for the exit code.
func (b *batchRun) conclude() error {
	if b.show.json {
		out := batchResult{b.batch.ID, make([]runResult, 0, len(b.runs))}
		for i := range b.runs {
			out.Sessions = append(out.Sessions, b.result(i))
		}
		return errors.Join(printJSON(b.out, out), b.failure())
	}
	var sessions []session.Session
	for i := range b.runs {
		if b.runs[i].err == nil {
			sessions = append(sessions, b.runs[i].ended)
		}
	}
	if len(sessions) > 0 {
		fmt.Fprintln(b.err)
		compared := comparison.New(sessions, b.service)
		if err := printMembers(b.console, compared); err != nil {
			return err
		}
		b.hintAtChoice(compared)
	}
	return b.failure()
}

// hintAtChoice prints what to do with the results.
func (b *batchRun) hintAtChoice(compared *comparison.Comparison) {
	id := acceptable(compared.Members)
	if id == "" {
		return
	}
	for _, next := range [][2]string{{"compare " + string(b.batch.ID), "which files each changed"}, {"accept " + string(id), "accept one of them"}} {
		fmt.Fprintf(b.err, "%s aibox %-*s  %s\n", b.errTerm.faint("→"), len("accept ")+len(id), next[0], next[1])
	}
}

// acceptable returns the first session whose work can be accepted, if possible one that did not fail; "" if
// there is none.
func acceptable(members []comparison.Member) session.ID {
	var failed session.ID
	for i := range members {
		switch m := &members[i]; {
		case m.Open && m.Status != summary.StatusFailed:
			return m.ID
		case m.Open && failed == "":
			failed = m.ID
		}
	}
	return failed
}

// result is the JSON of one session.
func (b *batchRun) result(i int) runResult {
	member := &b.runs[i]
	out := runResult{Session: member.ended, Files: []review.Change{}}
	if member.err != nil {
		out.Session = session.Session{Spec: b.batch.Plans[i].Launch.Spec}
		out.ID, out.State.Phase = member.id, session.Ended
		out.State.Result = &session.Result{ExitCode: -1, Fault: session.FailureOf(member.err), Refused: []session.Refusal{}}
		return out
	}
	if set, err := b.service.FinalChanges(member.id); err == nil && member.ended.UnknownChanges() == nil {
		out.Files, out.Refused, out.Rules = append(out.Files, set.Changes...), set.Refused, set.Rules
	}
	return out
}

// failure returns the error for the exit code: nil if all sessions succeeded, otherwise the
// one with the highest exit code.
func (b *batchRun) failure() error {
	var worst fault.Kind
	failed, started := 0, 0 // started are those that failed later
	for i := range b.runs {
		err := b.memberFailure(i)
		if err == nil {
			continue
		}
		kind := fault.KindOf(err)
		if failed++; failed == 1 || kind.ExitCode() > worst.ExitCode() {
			worst = kind
		}
		if b.runs[i].id != "" {
			started++
		}
	}
	if failed == 0 {
		return nil
	}
	if _, _, err := b.service.Batch(string(b.batch.ID)); fault.KindOf(err) == fault.Usage { // no session has a record
		return fault.New(worst, "none of the %d sessions started", len(b.runs))
	}
	what := "failed"
	if started == 0 {
		what = "did not start"
	}
	return fault.New(worst, "%d of %d sessions %s", failed, len(b.runs), what).Hint("`aibox compare %s` shows how each ended", b.batch.ID)
}

// memberFailure returns why a session failed, or nil.
func (b *batchRun) memberFailure(i int) error {
	member := &b.runs[i]
	result := member.ended.State.Result
	switch {
	case member.err != nil || result == nil:
		return member.err
	case result.Fault != nil:
		return result.Fault.Err()
	case b.batch.Plans[i].Launch.Spec.RequireChanges && !result.Changed:
		return fault.New(fault.AgentFailed, "%s changed nothing", member.id)
	}
	return nil
}

// printMembers prints how each session of a comparison ended, as a table.
func printMembers(to *console, c *comparison.Comparison) error {
	rows := make([][]string, 0, len(c.Members))
	for i := range c.Members {
		m := &c.Members[i]
		exit, changes, took := "–", "–", "–"
		if m.ExitCode != nil {
			exit, took = fmt.Sprint(*m.ExitCode), amount.Took(m.Took())
		}
		switch {
		case m.Known && m.SameAs != "":
			changes = "same as " + number(m.SameAs)
		case m.Known && m.Files == 0:
			changes = "none"
		case m.Known:
			changes = fmt.Sprintf("%s +%d -%d", amount.Of(m.Files, "file"), m.Added, m.Deleted)
		}
		rows = append(rows, []string{
			string(m.ID), orDash(safe(m.Model)), string(m.Status), exit, changes, orDash(string(m.Verified)), orDash(m.Tokens.CostText()), amount.Short(m.Tokens.Input + m.Tokens.Output), took,
		})
	}
	return to.overview("ID\tMODEL\tSTATE\tEXIT\tCHANGES\tVERIFIED\tCOST\tTOKENS\tTIME", rows)
}

// number is the part of an id that is enough to type.
func number(id session.ID) string {
	first, _, _ := strings.Cut(string(id), "-")
	return first
}

// orDash returns text, or a dash if it is empty.
func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}
