package cli

import (
	"context"
	"os"

	"aibox/app"
	"aibox/internal/fault"
)

// guardSite selects the network namespace that `aibox netguard` works in.
type guardSite string

// The sites.
const (
	siteAuto     guardSite = "auto"     // that of the Docker that sessions use
	siteRootless guardSite = "rootless" // that of the user's own Docker
	siteHost     guardSite = "host"     // this machine's, for the system's Docker
)

// String returns the site's name.
func (s *guardSite) String() string { return string(*s) }

// Set parses the name of a site.
func (s *guardSite) Set(name string) error {
	switch site := guardSite(name); site {
	case siteAuto, siteRootless, siteHost:
		*s = site
		return nil
	}
	return fault.New(fault.Usage, "%q is not auto, rootless or host", name)
}

// Type returns the name of the value in help texts.
func (s *guardSite) Type() string { return "site" }

// guard opens the network guard at the site. Without withDocker, the guard of the system's Docker
// opens while that Docker is stopped or has been removed: its locks stay until someone removes them.
func (o *netguardOptions) guard(ctx context.Context, withDocker bool) (app.Guard, error) {
	if o.site == siteAuto {
		return o.app.Guard(ctx)
	}
	host := o.site == siteHost
	if o.rootfulGiven && o.rootful != host {
		return app.Guard{}, fault.New(fault.Usage, "--rootful=%t and --site %s contradict each other", o.rootful, o.site).
			Hint("remove --rootful: --site selects the Docker")
	}
	o.app.UseSystemDocker(host)
	guard, err := o.app.Guard(ctx)
	if err != nil && host && !withDocker && fault.KindOf(err) == fault.Environment {
		return app.HostGuard(), nil
	}
	if err != nil {
		if !host && os.Geteuid() == 0 && os.Getenv("SUDO_USER") != "" {
			err = fault.New(fault.KindOf(err), "root has no rootless Docker: %w", err).
				Hint("without sudo: aibox netguard status --site rootless")
		}
		return app.Guard{}, err
	}
	if guard.Site.InPlace != host {
		return app.Guard{}, fault.New(fault.Usage, "DOCKER_HOST names %s, and --site is %s", daemonKind(guard.Site.InPlace), o.site).
			Hint("unset DOCKER_HOST")
	}
	return guard, nil
}

func daemonKind(system bool) string {
	if system {
		return "the system's Docker"
	}
	return "a rootless Docker"
}
