package app

import (
	"context"
	"net"
	"os"

	"aibox/app/doctor"
	"aibox/netguard/egress"
	"aibox/netguard/rules"
	"aibox/runtime"
	"aibox/session/manager"
)

// Firewall is the state of the guard's firewall for one address family.
type Firewall = rules.Firewall

// Guard is the network guard of one network namespace.
type Guard = rules.Client

// Change is one change that the guard would make.
type Change = rules.Change

// Script returns the changes as a shell script.
func Script(changes []Change) string { return rules.Script(changes) }

// Guard opens the network guard in the namespace of the daemon's bridges.
func (a *App) Guard(ctx context.Context) (Guard, error) {
	daemon, err := a.Docker(ctx)
	if err != nil {
		return Guard{}, err
	}
	return guardOf(ctx, daemon.Backend)
}

// HostGuard returns the guard of this process's own network namespace, where the system's Docker
// has its bridges.
func HostGuard() Guard { return Guard{Site: rules.Site{InPlace: true}} }

// Locks returns the state of the locks around sandboxes.
func (a *App) Locks(ctx context.Context) (doctor.Guard, error) {
	client, err := a.Guard(ctx)
	if err != nil {
		return doctor.Guard{}, err
	}
	status, err := client.Status(ctx)
	return doctor.Guard{
		Up: status.Up, Bridges: len(status.Routing.Locked), Drift: status.Drift,
		Tool: status.Firewall.Tool, Backend: status.Firewall.Backend,
	}, err
}

// ServeGuardJob reads a job from in, and changes the network of this process's namespace.
// The guard starts such a process through nsenter.
func ServeGuardJob(ctx context.Context, in *os.File) error { return rules.ServeJob(ctx, in) }

func guardOf(ctx context.Context, backend runtime.Backend) (rules.Client, error) {
	info, err := backend.Info(ctx)
	if err != nil {
		return rules.Client{}, err
	}
	return rules.Client{Site: rules.Site{PID: info.Site.PID, NetNS: info.Site.NetNS, InPlace: !info.Site.Rootless}}, nil
}

// guard adapts rules.Client to manager.Guard.
type guard struct{ client rules.Client }

func (g guard) Guard(ctx context.Context, bridge string, tcp, udp []int) (manager.Sockets, error) {
	donated, err := g.client.Guard(ctx, bridge, rules.GuardRequest{TCP: tcp, UDP: udp})
	if err != nil {
		return nil, err
	}
	return sockets{donated}, nil
}

func (g guard) Release(ctx context.Context, bridge string) error {
	return g.client.Release(ctx, bridge)
}

// sockets adapts rules.Sockets to manager.Sockets.
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

// serveNames adapts egress.DNS to supervisor.Deps.
func serveNames(ctx context.Context, udp net.PacketConn, tcp net.Listener, refused func(name, kind string)) error {
	return egress.DNS{Log: func(q egress.Query) { refused(q.Name, q.Type) }}.Serve(ctx, udp, tcp)
}
