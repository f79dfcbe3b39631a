package newrun

import (
	"context"
	"time"

	"aibox/app/run"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// modelCheck asks in the background whether a start would find a model. Answers about
// earlier choices are dropped.
type modelCheck struct {
	request run.Request // the checked request
	running bool
	err     error // why there is no model
	waiting bool  // the user wants to start as soon as the answer is there
	series  page.Latest

	delay time.Duration // before the last retry
	after func(time.Duration, tea.Msg) tea.Cmd
}

type (
	modelChecked struct{ err error }
	modelRetry   struct{} // it is time to ask again
)

// A check that found no model is repeated, since a server may have been started: soon at
// first, and then less often.
const (
	firstRetry = 2 * time.Second
	lastRetry  = 15 * time.Second
)

// modelRequest is the part of a request that decides which model is used.
func modelRequest(r run.Request) run.Request {
	return run.Request{
		Agent: r.Agent, Repository: r.Repository, Resumes: r.Resumes,
		Settings: r.Settings.Only("inference", "model", "inference-tools", "network"),
	}
}

// check asks about a request, unless it has asked about the same one.
func (c *modelCheck) check(ctx context.Context, runs Runs, r run.Request) tea.Cmd {
	if r = modelRequest(r); r.Equal(c.request) {
		return nil
	}
	c.request, c.delay = r, 0
	return c.again(ctx, runs)
}

// again asks again, since a server may have been started.
func (c *modelCheck) again(ctx context.Context, runs Runs) tea.Cmd {
	if c.request.Agent == "" {
		return nil
	}
	c.running = true
	return c.ask(ctx, runs)
}

// ask sends the question, and drops the answers and retries of earlier requests.
func (c *modelCheck) ask(ctx context.Context, runs Runs) tea.Cmd {
	r := c.request.Clone()
	return c.series.Replace(func() tea.Msg { return modelChecked{runs.CheckModel(ctx, r)} })
}

// finish takes an answer. ready reports that the user wants to start, and can.
func (c *modelCheck) finish(msg modelChecked) (ready bool) {
	c.running, c.err = false, msg.err
	ready, c.waiting = c.waiting && msg.err == nil, false
	return ready
}

// retry asks again after a while if there is no model.
func (c *modelCheck) retry() tea.Cmd {
	if c.err == nil {
		c.delay = 0
		return nil
	}
	c.delay = min(max(2*c.delay, firstRetry), lastRetry)
	return c.series.Continue(c.after(c.delay, modelRetry{}))
}
