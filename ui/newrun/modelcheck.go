package newrun

import (
	"context"

	"aibox/app/run"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// modelCheck asks in the background whether a start would find a model. Answers about
// earlier choices are dropped.
type modelCheck struct {
	request run.Request // what was asked about
	running bool
	err     error // why there is no model
	waiting bool  // the user wants to start as soon as the answer is there
	series  page.Latest
}

type modelChecked struct{ err error }

// modelRequest is the part of a request that decides which model is used.
func modelRequest(r run.Request) run.Request {
	return run.Request{
		Agent: r.Agent, Repository: r.Repository, Resumes: r.Resumes,
		Settings: r.Settings.Only("inference", "model", "inference-tools", "network"),
	}
}

// check asks, unless it was asked already.
func (c *modelCheck) check(ctx context.Context, runs Runs, r run.Request) tea.Cmd {
	if r = modelRequest(r); r.Equal(c.request) {
		return nil
	}
	c.request = r
	return c.again(ctx, runs)
}

// again asks again, since a server may have been started.
func (c *modelCheck) again(ctx context.Context, runs Runs) tea.Cmd {
	if c.request.Agent == "" {
		return nil
	}
	c.running = true
	r := c.request.Clone()
	return c.series.Replace(func() tea.Msg { return modelChecked{runs.CheckModel(ctx, r)} })
}

// finish takes an answer. ready reports that the user wants to start, and can.
func (c *modelCheck) finish(msg modelChecked) (ready bool) {
	c.running, c.err = false, msg.err
	ready, c.waiting = c.waiting && msg.err == nil, false
	return ready
}
