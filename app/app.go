package cli

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"aibox/bakery"
	bakerydocker "aibox/bakery/docker"
	"aibox/internal/initbin"
	"aibox/internal/paths"
	"aibox/netguard/egress"
	"aibox/netguard/rules"
	"aibox/runtime"
	"aibox/runtime/docker"
	"aibox/session"
)

// This file, with inference.go, is where concrete adapters meet the use cases.

// deps are what sessions are made with.
func (a *app) deps() (session.Deps, error) {
	dirs, err := paths.Default()
	if err != nil {
		return session.Deps{}, err
	}
	// Whoever needs a daemon gets the error of the settings, so that it can wait here.
	rootful, _ := a.systemDocker()
	supervise := []string{"supervise", "--rootful=" + strconv.FormatBool(rootful)}
	return session.Deps{
		Dirs:      dirs,
		Agents:    a.agents(),
		Supervise: supervise,
		Docker:    a.docker,
		Init:      func() (string, error) { return initbin.Install(filepath.Join(dirs.Cache, "init")) },
		Inference: openInference,
		Names:     serveNames,
		Looking:   a.looking,
	}, nil
}

// service is the sessions of this user.
func (a *app) service() (*session.Sessions, error) {
	deps, err := a.deps()
	if err != nil {
		return nil, err
	}
	return session.New(deps), nil
}

// repair mends what crashes left before a command does its work. What it cannot
// mend must not keep a person from looking at their sessions, so it is told and
// no more.
func (a *app) repair(ctx context.Context, service *session.Sessions) {
	a.mendWorktrees(service)
	repaired, err := service.Repair(ctx)
	for _, r := range repaired {
		fmt.Fprintf(a.err, "%s %s\n", a.errTerm.warn("!"), repairedLine(r))
	}
	if err != nil {
		fmt.Fprintf(a.err, "%s %s\n", a.errTerm.warn("!"), safe(err.Error()))
	}
}

// repairedLine says what became of a session whose supervisor had died.
func repairedLine(r session.Repaired) string {
	line := fmt.Sprintf("cleared up after %s, whose supervisor had died", r.ID)
	switch {
	case r.Kept:
		return line + "; what its agent did is kept"
	case r.GivenBack != "":
		return fmt.Sprintf("%s; its agent had not started, and %s can be resumed again", line, r.GivenBack)
	default:
		return line + "; its agent had not started, so there was nothing to keep"
	}
}

// docker opens the container daemon.
func (a *app) docker(ctx context.Context) (session.Docker, error) {
	dirs, err := paths.Default()
	if err != nil {
		return session.Docker{}, err
	}
	rootful, err := a.systemDocker()
	if err != nil {
		return session.Docker{}, err
	}
	daemon, err := docker.Open(ctx, docker.Options{Rootful: rootful, Leases: dirs.Leases()})
	if err != nil {
		return session.Docker{}, err
	}
	return session.Docker{
		Backend:  daemon,
		Networks: daemon.Networks(),
		Guard: func(ctx context.Context) (session.Guard, error) {
			client, err := rulesOf(ctx, daemon)
			return guard{client}, err
		},
	}, nil
}

// rules is the client of the guard where the daemon's bridges are.
func (a *app) rules(ctx context.Context) (rules.Client, error) {
	daemon, err := a.docker(ctx)
	if err != nil {
		return rules.Client{}, err
	}
	return rulesOf(ctx, daemon.Backend)
}

func rulesOf(ctx context.Context, backend runtime.Backend) (rules.Client, error) {
	info, err := backend.Info(ctx)
	if err != nil {
		return rules.Client{}, err
	}
	return rules.Client{Site: rules.Site{PID: info.Site.PID, NetNS: info.Site.NetNS, InPlace: !info.Site.Rootless}}, nil
}

// kitchen opens the bakery for images as the settings have them.
func (a *app) kitchen(ctx context.Context) (*bakery.Bakery, error) {
	options, err := a.recipes()
	if err != nil {
		return nil, err
	}
	return a.bakery(ctx, options)
}

// bakery opens the bakery on the same daemon.
func (a *app) bakery(ctx context.Context, options bakery.Options) (*bakery.Bakery, error) {
	rootful, err := a.systemDocker()
	if err != nil {
		return nil, err
	}
	host, err := docker.Endpoint(docker.Options{Rootful: rootful})
	if err != nil {
		return nil, err
	}
	builder, err := bakerydocker.Open(host)
	if err != nil {
		return nil, err
	}
	options.Recipes = a.guests().recipes
	return openKitchen(builder, options)
}

// guard adapts rules.Client to session.Guard.
type guard struct{ client rules.Client }

func (g guard) Guard(ctx context.Context, bridge string, tcp, udp []int) (session.Sockets, error) {
	donated, err := g.client.Guard(ctx, bridge, rules.GuardRequest{TCP: tcp, UDP: udp})
	if err != nil {
		return nil, err
	}
	return sockets{donated}, nil
}

func (g guard) Release(ctx context.Context, bridge string) error {
	return g.client.Release(ctx, bridge)
}

// sockets adapts rules.Sockets to session.Sockets.
type sockets struct{ donated *rules.Sockets }

func (s sockets) Listener(port int) net.Listener { return s.donated.TCP[port] }
func (s sockets) Packet(port int) net.PacketConn { return s.donated.UDP[port] }
func (s sockets) Close() error                   { return s.donated.Close() }

func (s sockets) Refuse(ctx context.Context, log func(protocol, destination string)) error {
	return s.donated.Refuse(ctx, func(r rules.Refusal) {
		destination := r.Dst.String()
		if r.Dst.Port() == 0 {
			destination = r.Dst.Addr().String()
		}
		log(r.Protocol.String(), destination)
	})
}

// serveNames adapts egress.DNS to session.Deps.
func serveNames(ctx context.Context, udp net.PacketConn, tcp net.Listener, refused func(name, kind string)) error {
	return egress.DNS{Log: func(q egress.Question) { refused(q.Name, q.Type) }}.Serve(ctx, udp, tcp)
}
