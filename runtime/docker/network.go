package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/sorting"
	"aibox/runtime"
)

const (
	bridgePrefix = "aibox-"
	subnetBits   = 29
	optionName   = "com.docker.network.bridge.name"
	optionICC    = "com.docker.network.bridge.enable_icc"
	optionMasq   = "com.docker.network.bridge.enable_ip_masquerade"
	optionMode   = "com.docker.network.bridge.gateway_mode_ipv4"

	// clearing is about how long the daemon takes to remove a dead sandbox.
	clearing = 150 * time.Millisecond
)

var defaultPool = netip.MustParsePrefix("10.201.0.0/16")

// Networks is runtime.Networks: the bridges of one daemon, each leased by a
// locked file, so that the lease ends with the process that holds it.
type Networks struct {
	backend *Backend
	api     *client.Client
	dir     string
	pool    netip.Prefix

	mu     sync.Mutex
	leases map[string]*lease // by network id
}

func newNetworks(b *Backend, o Options) *Networks {
	pool := o.Pool
	if !pool.IsValid() {
		pool = defaultPool
	}
	return &Networks{backend: b, api: b.api, dir: o.Leases, pool: pool.Masked(), leases: map[string]*lease{}}
}

// ready checks the options when the pool is first needed.
func (n *Networks) ready() error {
	if !n.pool.Addr().Is4() || n.pool.Bits() > subnetBits {
		return fault.New(fault.Usage, "the network pool %s is not an IPv4 range of at least a /%d", n.pool, subnetBits)
	}
	if n.dir == "" {
		return errors.New("the network pool has no folder for its leases")
	}
	if err := paths.MakePrivate(n.dir); err != nil {
		return fmt.Errorf("opening the network pool: %w", err)
	}
	return nil
}

// Acquire leases the first bridge that is not leased and that no container uses, or creates
// one. A container that is still on a bridge whose holder died blocks the bridge.
func (n *Networks) Acquire(ctx context.Context, session string) (runtime.Network, error) {
	all, err := n.list(ctx, false)
	if err != nil {
		return runtime.Network{}, err
	}
	// Try twice, because the daemon may still be removing a dead sandbox from a network that
	// is not leased. Waiting for that is cheaper than creating another network.
	for _, pause := range []time.Duration{0, clearing} {
		time.Sleep(pause)
		candidate, held, busy, err := n.free(ctx, all)
		if err != nil {
			return runtime.Network{}, err
		}
		if held != nil {
			return n.take(candidate, held, session)
		}
		if !busy {
			break
		}
	}
	made, held, err := n.make(ctx)
	if err != nil {
		return runtime.Network{}, fmt.Errorf("creating a network: %w", err)
	}
	return n.take(made, held, session)
}

// free leases the first network that is not leased and that no container uses. The
// lease is nil when there is none; busy reports that an unleased one is still used.
func (n *Networks) free(ctx context.Context, all []runtime.Network) (found runtime.Network, held *lease, busy bool, err error) {
	for _, candidate := range all {
		held, err := n.lease(candidate.Bridge)
		if err != nil {
			continue // leased
		}
		unused, err := n.unused(ctx, candidate.ID)
		if unused {
			return candidate, held, false, nil
		}
		held.release()
		if err != nil {
			return runtime.Network{}, nil, false, err
		}
		busy = true
	}
	return runtime.Network{}, nil, busy, nil
}

func (n *Networks) take(network runtime.Network, held *lease, session string) (runtime.Network, error) {
	if err := held.write(session); err != nil {
		held.release()
		return runtime.Network{}, err
	}
	network.Session = session
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leases[network.ID] = held
	return network, nil
}

// Release ends the lease. A lease that this process does not hold is not an error.
func (n *Networks) Release(_ context.Context, network runtime.Network) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if held, ok := n.leases[network.ID]; ok {
		delete(n.leases, network.ID)
		held.release()
	}
	return nil
}

// List returns every bridge of the pool with its holder.
func (n *Networks) List(ctx context.Context) ([]runtime.Network, error) {
	all, err := n.list(ctx, false)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Session = n.holder(all[i].Bridge)
	}
	return all, nil
}

// Prune removes networks that are not leased and that no container uses, also those that no
// sandbox may use.
func (n *Networks) Prune(ctx context.Context, dryRun bool) ([]runtime.Network, error) {
	all, err := n.list(ctx, true)
	if err != nil {
		return nil, err
	}
	var removed []runtime.Network
	var errs []error
	for _, network := range all {
		held, err := n.lease(network.Bridge)
		if err != nil {
			continue
		}
		unused, err := n.unused(ctx, network.ID)
		if err != nil {
			held.release()
			return removed, errors.Join(append(errs, err)...)
		}
		if unused {
			switch err := n.remove(ctx, network, held, dryRun); {
			case err == nil:
				removed = append(removed, network)
			case !errdefs.IsPermissionDenied(err): // the daemon still disconnects a container, or has connected one meanwhile
				errs = append(errs, err)
			}
		}
		held.release()
	}
	return removed, errors.Join(errs...)
}

func (n *Networks) remove(ctx context.Context, network runtime.Network, held *lease, dryRun bool) error {
	if dryRun {
		return nil
	}
	if err := n.api.NetworkRemove(ctx, network.ID); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("removing network %q: %w", network.Bridge, err)
	}
	held.remove()
	return nil
}

// list returns the daemon's networks that belong to the pool, sorted by name, but not those of other users,
// whose leases are elsewhere. With the system's Docker, a network without an owner, of an earlier version, can be
// another user's. Sandboxes must not use networks without all properties of the pool, such as
// those from before an upgrade of Docker or of aibox. It omits them without unusable.
func (n *Networks) list(ctx context.Context, unusable bool) ([]runtime.Network, error) {
	if err := n.ready(); err != nil {
		return nil, err
	}
	found, err := n.networks(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelPool))})
	if err != nil {
		return nil, err
	}
	var networks []runtime.Network
	mode := n.gatewayMode()
	for _, f := range found {
		if owner := f.Labels[labelUser]; owner != ownUser() && (owner != "" || n.backend.rootful) {
			continue
		}
		if made, ok := networkOf(f); ok && n.pool.Contains(made.Subnet.Addr()) && (unusable || isUsable(f, mode)) {
			networks = append(networks, made)
		}
	}
	sorting.Func(networks, func(a, b *runtime.Network) int { return strings.Compare(a.Bridge, b.Bridge) })
	return networks, nil
}

// networks lists networks of the daemon.
func (n *Networks) networks(ctx context.Context, which network.ListOptions) (found []network.Summary, err error) {
	err = n.backend.answered(ctx, "listing the networks", func(ctx context.Context) (err error) {
		found, err = n.api.NetworkList(ctx, which)
		return err
	})
	return found, n.backend.unreachable(err)
}

// gatewayMode returns the value of optionMode; empty for a daemon that does not have it.
//
// From version 28 (API 1.48) on, Docker drops packets for a container's address that come
// from elsewhere, before the firewall's FORWARD chain. The locks of netguard refuse the
// same packets at once, with an ICMP error to the sandbox. After Docker's drop they would
// never see them, and a probe of another sandbox's network would run into a timeout.
func (n *Networks) gatewayMode() string {
	if versions.LessThan(n.api.ClientVersion(), "1.48") {
		return ""
	}
	return "nat-unprotected"
}

// isUsable reports whether a network of the pool has its options.
func isUsable(f network.Summary, mode string) bool {
	return f.Labels[labelUser] == ownUser() && f.Driver == "bridge" && !f.Internal && !f.EnableIPv6 && f.Options[optionName] == f.Name &&
		f.Options[optionICC] == "false" && f.Options[optionMasq] == "false" && f.Options[optionMode] == mode
}

func networkOf(f network.Summary) (runtime.Network, bool) {
	if !strings.HasPrefix(f.Name, bridgePrefix) || len(f.IPAM.Config) != 1 {
		return runtime.Network{}, false
	}
	subnet, err := netip.ParsePrefix(f.IPAM.Config[0].Subnet)
	if err != nil || subnet.Bits() != subnetBits {
		return runtime.Network{}, false
	}
	gateway, err := netip.ParseAddr(f.IPAM.Config[0].Gateway)
	if err != nil {
		return runtime.Network{}, false
	}
	return runtime.Network{ID: f.ID, Bridge: f.Name, Gateway: gateway, Subnet: subnet}, true
}

// unused reports whether the network exists and no container uses it. The only error is that of a
// daemon that gives no answer.
func (n *Networks) unused(ctx context.Context, id string) (bool, error) {
	var found network.Inspect
	err := n.backend.answered(ctx, "inspecting a network", func(ctx context.Context) (err error) {
		found, err = n.api.NetworkInspect(ctx, id, network.InspectOptions{})
		return err
	})
	if isHanging(err) {
		return false, err
	}
	return err == nil && len(found.Containers) == 0, nil
}
