// Package checkup runs the checks of this machine in the background: findings arrive
// while other checks run. It shows nothing; the screens that hold a Checkup do.
package checkup

import (
	"context"
	"slices"

	"aibox/app/doctor"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// Machine lists the checks.
type Machine interface {
	// Checks returns the checks of one run.
	Checks() []doctor.Check
}

// Row is a finding, or a check without a finding so far.
type Row struct {
	doctor.Finding
	Running bool // the check is running; Finding is the last result, if any
}

// Checkup is the latest run of the checks.
type Checkup struct {
	machine Machine
	now     *checkRun
	runs    page.Latest
	before  map[string][]doctor.Finding // findings of the previous run, by check
}

// checkRun is one run of the checks.
type checkRun struct {
	stop   context.CancelFunc
	checks []doctor.Check // nil until they are known
	found  [][]doctor.Finding
	ended  []bool
	stream <-chan found
}

// began carries the checks and the stream of their findings.
type began struct {
	checks []doctor.Check
	stream <-chan found
}

// found carries the findings of one check. The last message of a stream has no check.
type found struct {
	check    int // -1: all checks have ended
	findings []doctor.Finding
}

// New makes a Checkup that has not begun.
func New(machine Machine) *Checkup { return &Checkup{machine: machine} }

// Begin runs all checks, until ctx ends. It cancels the previous run, whose findings stay
// until they are replaced.
func (c *Checkup) Begin(ctx context.Context) tea.Cmd {
	if c.now != nil {
		c.now.stop()
		c.before = c.byCheck()
	}
	ctx, stop := context.WithCancel(ctx)
	machine := c.machine
	c.now = &checkRun{stop: stop}
	return c.runs.Replace(func() tea.Msg {
		checks := machine.Checks()
		stream := make(chan found, len(checks)) // so that no check waits for a screen
		go func() {
			defer close(stream)
			doctor.Examine(ctx, checks, func(i int, findings []doctor.Finding) { stream <- found{i, findings} })
		}()
		return began{checks, stream}
	})
}

// byCheck returns the findings so far, by check.
func (c *Checkup) byCheck() map[string][]doctor.Finding {
	known := map[string][]doctor.Finding{}
	for i, check := range c.now.checks {
		known[check.Name] = c.before[check.Name]
		if c.now.ended[i] {
			known[check.Name] = c.now.found[i]
		}
	}
	if c.now.checks == nil {
		return c.before
	}
	return known
}

// Take handles a message and reports whether it was one of its own.
func (c *Checkup) Take(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case began:
		c.now.checks, c.now.stream = msg.checks, msg.stream
		c.now.found, c.now.ended = make([][]doctor.Finding, len(msg.checks)), make([]bool, len(msg.checks))
		return c.next(), true
	case found:
		if msg.check < 0 {
			c.now.stop()
			return nil, true
		}
		c.now.found[msg.check], c.now.ended[msg.check] = msg.findings, true
		return c.next(), true
	default:
		return nil, false
	}
}

func (c *Checkup) next() tea.Cmd {
	stream := c.now.stream
	return c.runs.Continue(func() tea.Msg {
		if msg, more := <-stream; more {
			return msg
		}
		return found{check: -1}
	})
}

// Busy reports whether any check is running.
func (c *Checkup) Busy() bool {
	return c.now != nil && (c.now.checks == nil || slices.Contains(c.now.ended, false))
}

// Running reports whether any check of a part is running.
func (c *Checkup) Running(part doctor.Part) bool {
	if c.now == nil || c.now.checks == nil {
		return true
	}
	for i, check := range c.now.checks {
		if check.Part == part && !c.now.ended[i] {
			return true
		}
	}
	return false
}

// Rows returns the findings so far, in the order of the checks.
func (c *Checkup) Rows() []Row {
	return c.rows(func(findings []doctor.Finding) []doctor.Finding { return findings })
}

// Summary is Rows as a list shows them, with one row for all images that are not baked.
func (c *Checkup) Summary() []Row { return c.rows(doctor.MissingImagesAsOne) }

// rows returns the findings so far, those of each check changed by summarize.
func (c *Checkup) rows(summarize func([]doctor.Finding) []doctor.Finding) []Row {
	if c.now == nil {
		return nil
	}
	var rows []Row
	for i, check := range c.now.checks {
		findings := c.now.found[i]
		if !c.now.ended[i] {
			findings = c.before[check.Name]
			if len(findings) == 0 {
				findings = []doctor.Finding{{Name: check.Name, Part: check.Part}}
			}
		}
		for _, f := range summarize(findings) {
			rows = append(rows, Row{f, !c.now.ended[i]})
		}
	}
	return rows
}

// Findings returns the findings of the checks that have ended.
func (c *Checkup) Findings() []doctor.Finding {
	var all []doctor.Finding
	for _, row := range c.Rows() {
		if !row.Running {
			all = append(all, row.Finding)
		}
	}
	return all
}
