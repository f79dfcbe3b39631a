package newrun

import (
	"context"

	"aibox/app/compose"
	"aibox/app/run"

	tea "charm.land/bubbletea/v2"
)

// checker checks requests in the background, one at a time.
type checker struct {
	request run.Request // checked last, or being checked
	running bool
	changed bool // the request has changed since the running check began
	result  compose.Checked
	err     error
	waiting bool // the user wants to start as soon as the check is done
}

type checkDone struct {
	result compose.Checked
	err    error
}

// check checks a request, unless it was checked already.
func (c *checker) check(ctx context.Context, runs Runs, r run.Request) tea.Cmd {
	if r.Equal(c.request) {
		return nil
	}
	c.request = r.Clone()
	return c.begin(ctx, runs)
}

func (c *checker) begin(ctx context.Context, runs Runs) tea.Cmd {
	if c.running {
		c.changed = true
		return nil
	}
	c.running, c.changed = true, false
	r := c.request.Clone()
	return func() tea.Msg {
		result, err := runs.Check(ctx, r)
		return checkDone{result, err}
	}
}

// finish handles a result. If the request has changed meanwhile, it checks again. ready reports
// that the user is waiting to start and that the wait is over.
func (c *checker) finish(ctx context.Context, runs Runs, msg checkDone) (again tea.Cmd, ready bool) {
	c.running = false
	if c.changed {
		return c.begin(ctx, runs), false
	}
	c.result, c.err = msg.result, msg.err
	ready, c.waiting = c.waiting, false
	return nil, ready
}
