package app

import (
	"context"

	"aibox/bakery"
)

// maxBuilds bounds the number of concurrent builds. Builds mostly wait for the network and
// for the disk.
const maxBuilds = 3

// Images builds images in the background, and compares them with their recipes. Close
// must be called.
type Images struct {
	*bakery.Queue
	app *App
}

// Images returns the images of the user's agents. Its builds use the current settings,
// and are canceled when ctx ends.
func (a *App) Images(ctx context.Context) Images {
	return Images{bakery.NewQueue(ctx, maxBuilds, func(ctx context.Context, noCache bool) (*bakery.Bakery, error) {
		options, err := a.BuildOptions()
		if err != nil {
			return nil, err
		}
		options.NoCache = noCache
		return a.BuilderWith(ctx, options)
	}), a}
}

// Check compares every image with its recipe.
func (i Images) Check(ctx context.Context) ([]bakery.Status, error) {
	builder, err := i.app.Builder(ctx)
	if err != nil {
		return nil, err
	}
	states, err := builder.Check(ctx)
	if err != nil {
		return nil, i.app.DaemonFault(ctx, err)
	}
	return states, nil
}

// Put is Add of the queue.
func (i Images) Put(noCache bool, names ...string) { i.Add(noCache, names...) }
