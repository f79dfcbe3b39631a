package cli

import (
	"context"
	"fmt"
	"strings"

	"aibox/app/doctor"
	"aibox/bakery"
	"aibox/session"
)

// machineScreens implements the services of the screens about this machine and about
// images. Builds continue when a screen is left, and are canceled with the program.
type machineScreens struct {
	cli   *cli
	queue *bakery.Queue
}

// maxBuilds bounds how many images are built at once: builds wait for the network most
// of the time, and for each other's disk.
const maxBuilds = 3

// openMachineScreens opens the services. The caller closes them.
func (a *cli) openMachineScreens(ctx context.Context) machineScreens {
	return machineScreens{a, bakery.NewQueue(ctx, maxBuilds, func(ctx context.Context, noCache bool) (*bakery.Bakery, error) {
		options, err := a.app.BuildOptions()
		if err != nil {
			return nil, err
		}
		options.NoCache = noCache
		return a.app.BuilderWith(ctx, options)
	})}
}

// Checks returns the checks of one examination, by the current settings.
func (d machineScreens) Checks() []doctor.Check {
	d.cli.app.ForgetUserSettings()
	return d.cli.app.Doctor().Checks()
}

// Prove starts a box and reads what it could reach. A missing image is an error here:
// it is baked on a screen of its own.
func (d machineScreens) Prove(ctx context.Context, step func(session.Step)) (*doctor.Proof, error) {
	never := func(context.Context, *bakery.Bakery, string, string) (bool, error) { return false, nil }
	return d.cli.prove(ctx, never, step)
}

// Bake builds an image.
func (d machineScreens) Bake(image string) { d.queue.Add(false, image) }

// Check compares every image with its recipe.
func (d machineScreens) Check(ctx context.Context) ([]bakery.Status, error) {
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

// Put builds images; noCache builds even what has not changed.
func (d machineScreens) Put(noCache bool, names ...string) { d.queue.Add(noCache, names...) }

// Cancel cancels a build of Put.
func (d machineScreens) Cancel(name string) { d.queue.Cancel(name) }

// Jobs are the builds of this program.
func (d machineScreens) Jobs() []bakery.Job { return d.queue.Jobs() }

// Changed signals each change of Jobs.
func (d machineScreens) Changed(ctx context.Context) <-chan struct{} { return d.queue.Changed(ctx) }

// close cancels the builds in progress, and reports them.
func (d machineScreens) close() {
	if open := d.queue.Close(); len(open) > 0 {
		fmt.Fprintf(d.cli.err, "%s baking %s was canceled; `aibox bake %s` continues it\n",
			d.cli.errTerm.warn("!"), strings.Join(open, ", "), strings.Join(open, " "))
	}
}
