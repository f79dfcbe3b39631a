package app

import (
	"context"
	"maps"
	"sync"

	"aibox/app/cleanup"
	"aibox/app/template"
	"aibox/bakery"
	bakerydocker "aibox/bakery/docker"
	"aibox/dockerfiles"
	"aibox/internal/paths"
	"aibox/runtime/docker"
)

// imageDaemons are the clients of the daemons with images, by the daemon's address. A server
// looks up an image for each sandbox; a new client would connect and negotiate the API's
// version each time.
type imageDaemons struct {
	mu     sync.Mutex
	opened map[string]*bakerydocker.Builder
}

// open returns the client of the daemon at host.
func (d *imageDaemons) open(host string) (*bakerydocker.Builder, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.opened[host]; b != nil {
		return b, nil
	}
	b, err := bakerydocker.Open(host)
	if err != nil {
		return nil, err
	}
	if d.opened == nil {
		d.opened = map[string]*bakerydocker.Builder{}
	}
	d.opened[host] = b
	return b, nil
}

// BuildOptions returns the settings for building images.
func (a *App) BuildOptions() (bakery.Options, error) {
	own, err := a.UserSettings()
	if err != nil {
		return bakery.Options{}, err
	}
	dirs, err := paths.Default()
	if err != nil {
		return bakery.Options{}, err
	}
	options := bakery.Options{Host: a.host.Read(), Base: own.Images.Base, Versions: map[string]bakery.Version{}, Needed: cleanup.NeededImages(dirs)}
	for image, text := range own.Versions {
		if options.Versions[image], err = bakery.ParseVersion(text); err != nil {
			return bakery.Options{}, err
		}
	}
	return options, nil
}

// Builder opens the image builder with BuildOptions.
func (a *App) Builder(ctx context.Context) (*bakery.Bakery, error) {
	options, err := a.BuildOptions()
	if err != nil {
		return nil, err
	}
	return a.BuilderWith(ctx, options)
}

// BuilderWith opens the image builder on the daemon of the sessions. It knows the
// built-in images and those of the user's own agents and templates.
func (a *App) BuilderWith(_ context.Context, options bakery.Options) (*bakery.Bakery, error) {
	return a.builderOf(a.Templates(), options)
}

// builderOf is BuilderWith for the given templates.
func (a *App) builderOf(templates template.Set, options bakery.Options) (*bakery.Bakery, error) {
	rootful, err := a.SystemDocker()
	if err != nil {
		return nil, err
	}
	host, err := docker.Endpoint(docker.Options{Rootful: rootful})
	if err != nil {
		return nil, err
	}
	builder, err := a.imageDaemons.open(host)
	if err != nil {
		return nil, err
	}
	recipes, below := templates.Recipes()
	custom := a.CustomAgents()
	maps.Copy(recipes, custom.Recipes)
	options.Recipes, options.Below = recipes, below
	options.Incomplete = len(custom.Broken) > 0 || len(templates.Broken()) > 0 || templates.Unread() != nil
	return bakery.New(builder, dockerfiles.FS, options)
}
