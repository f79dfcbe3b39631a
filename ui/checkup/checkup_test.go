package checkup

import (
	"context"
	"slices"
	"testing"

	"aibox/app/doctor"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// two is a machine with a check that ends at once and one that ends when go is closed.
type two struct{ proceed chan struct{} }

func (m two) Checks() []doctor.Check {
	return []doctor.Check{
		{Name: "slow", Part: doctor.Docker, Run: func(ctx context.Context) []doctor.Finding {
			select {
			case <-m.proceed:
			case <-ctx.Done():
			}
			return []doctor.Finding{{Name: "daemon", State: doctor.OK}}
		}},
		{Name: "quick", Part: doctor.Model, Run: func(context.Context) []doctor.Finding {
			return []doctor.Finding{{Name: "model", State: doctor.Warning}}
		}},
	}
}

// names returns the names of the rows, with a star where the check still runs.
func names(c *Checkup) []string {
	var all []string
	for _, row := range c.Rows() {
		name := row.Name
		if row.Running {
			name += "*"
		}
		all = append(all, name)
	}
	return all
}

func take(t *testing.T, c *Checkup, msg tea.Msg) tea.Cmd {
	t.Helper()
	msg, current := page.Current(msg)
	if !current {
		return nil
	}
	cmd, own := c.Take(msg)
	if !own {
		t.Fatalf("%T is not its own", msg)
	}
	return cmd
}

func TestFindingsAreShownWhileOtherChecksRun(t *testing.T) {
	machine := two{make(chan struct{})}
	c := New(machine)
	if c.Busy() || len(c.Rows()) != 0 {
		t.Error("it has begun by itself")
	}
	next := take(t, c, c.Begin(t.Context())())
	if got := names(c); !slices.Equal(got, []string{"slow*", "quick*"}) || !c.Running(doctor.Model) {
		t.Errorf("at first %v", got)
	}
	next = take(t, c, next())
	if got := names(c); !slices.Equal(got, []string{"slow*", "model"}) || c.Running(doctor.Model) || !c.Running(doctor.Docker) || len(c.Findings()) != 1 {
		t.Errorf("then %v", got)
	}
	close(machine.proceed)
	next = take(t, c, next())
	if got := names(c); !slices.Equal(got, []string{"daemon", "model"}) || c.Busy() {
		t.Errorf("at last %v", got)
	}
	if cmd := take(t, c, next()); cmd != nil {
		t.Error("it goes on")
	}
}

func TestASecondRunKeepsOldFindingsAndCancelsTheFirst(t *testing.T) {
	machine := two{make(chan struct{})}
	c := New(machine)
	stale := take(t, c, take(t, c, c.Begin(t.Context())())()) // quick has been found
	begin := c.Begin(t.Context())
	if cmd := take(t, c, stale()); cmd != nil {
		t.Error("a stale stream is read on")
	}
	take(t, c, begin())
	if got := names(c); !slices.Equal(got, []string{"slow*", "model*"}) {
		t.Errorf("shown are %v", got)
	}
}

func TestOtherMessagesAreIgnored(t *testing.T) {
	if _, own := New(two{}).Take(tea.WindowSizeMsg{}); own {
		t.Error("it took one")
	}
}
