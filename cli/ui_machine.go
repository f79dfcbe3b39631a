package cli

import (
	"context"
	"fmt"
	"strings"

	"aibox/app/doctor"
	"aibox/bakery"
	"aibox/session"
)

// machineDesk is what the screens about this machine and about images work with. What
// it bakes goes on when a screen is left, and is given up with the program.
type machineDesk struct {
	cli   *cli
	queue *bakery.Queue
}

// sideBySide is how many images are baked at once: builds wait for the network most of
// the time, and for each other's disk.
const sideBySide = 3

// openMachineDesk makes the desk. Its queue has to be closed.
func (a *cli) openMachineDesk(ctx context.Context) machineDesk {
	return machineDesk{a, bakery.NewQueue(ctx, sideBySide, func(ctx context.Context, anew bool) (*bakery.Bakery, error) {
		options, err := a.app.BuildOptions()
		if err != nil {
			return nil, err
		}
		options.NoCache = anew
		return a.app.BuilderWith(ctx, options)
	})}
}

// Checks are the looks of one examination, by the settings as they are now.
func (d machineDesk) Checks() []doctor.Check {
	d.cli.app.ForgetUserSettings()
	return d.cli.app.Doctor().Checks()
}

// Prove starts a box and reads what it could reach. A missing image is an error here:
// it is baked on a screen of its own.
func (d machineDesk) Prove(ctx context.Context, step func(session.Step)) (*doctor.Proof, error) {
	never := func(context.Context, *bakery.Bakery, string, string) (bool, error) { return false, nil }
	return d.cli.prove(ctx, never, step)
}

// Bake has an image baked.
func (d machineDesk) Bake(image string) { d.queue.Add(false, image) }

// Check tells how every image stands to its recipe.
func (d machineDesk) Check(ctx context.Context) ([]bakery.Status, error) {
	builder, err := d.cli.app.Builder(ctx)
	if err != nil {
		return nil, err
	}
	states, err := builder.Check(ctx)
	if err != nil {
		return nil, d.cli.app.DaemonFault(ctx, err)
	}
	return states, nil
}

// Put has images baked; anew builds even what has not changed.
func (d machineDesk) Put(anew bool, names ...string) { d.queue.Add(anew, names...) }

// Cancel gives up what Put began.
func (d machineDesk) Cancel(name string) { d.queue.Cancel(name) }

// Jobs are the bakes of this program.
func (d machineDesk) Jobs() []bakery.Job { return d.queue.Jobs() }

// Changed tells that Jobs are not what they were.
func (d machineDesk) Changed(ctx context.Context) <-chan struct{} { return d.queue.Changed(ctx) }

// close gives up what is still baked, and says so.
func (d machineDesk) close() {
	if open := d.queue.Close(); len(open) > 0 {
		fmt.Fprintf(d.cli.err, "%s baking %s was given up with the screens; `aibox bake %s` goes on from there\n",
			d.cli.errTerm.warn("!"), strings.Join(open, ", "), strings.Join(open, " "))
	}
}
