package runtimetest

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"aibox/runtime"
)

// FakeNetworks is a pool in memory. Everything that Other returns shares the pool, but
// holds its own leases, as processes do.
type FakeNetworks struct {
	fake *Fake
	pool *fakePool
}

type fakePool struct {
	mu       sync.Mutex
	size     int
	networks []runtime.Network
}

// Networks returns a pool of at most size bridges; 0 means 8.
func (f *Fake) Networks(size int) *FakeNetworks {
	if size == 0 {
		size = 8
	}
	return &FakeNetworks{fake: f, pool: &fakePool{size: size}}
}

// Acquire takes a free bridge or makes one.
func (n *FakeNetworks) Acquire(_ context.Context, session string) (runtime.Network, error) {
	if err := n.fake.fail("acquire"); err != nil {
		return runtime.Network{}, err
	}
	n.pool.mu.Lock()
	defer n.pool.mu.Unlock()
	for i := range n.pool.networks {
		if n.pool.networks[i].Session == "" {
			n.pool.networks[i].Session = session
			return n.pool.networks[i], nil
		}
	}
	if len(n.pool.networks) == n.pool.size {
		return runtime.Network{}, runtime.ErrPoolExhausted
	}
	subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 201, 0, byte(8 * len(n.pool.networks))}), 29)
	made := runtime.Network{
		ID: randomID(), Bridge: fmt.Sprintf("aibox-%08x", len(n.pool.networks)),
		Gateway: subnet.Addr().Next(), Subnet: subnet, Session: session,
	}
	n.pool.networks = append(n.pool.networks, made)
	return made, nil
}

// Release frees the bridge.
func (n *FakeNetworks) Release(_ context.Context, network runtime.Network) error {
	n.pool.mu.Lock()
	defer n.pool.mu.Unlock()
	for i := range n.pool.networks {
		if n.pool.networks[i].ID == network.ID {
			n.pool.networks[i].Session = ""
		}
	}
	return nil
}

// List returns every bridge.
func (n *FakeNetworks) List(context.Context) ([]runtime.Network, error) {
	n.pool.mu.Lock()
	defer n.pool.mu.Unlock()
	return slices.Clone(n.pool.networks), nil
}

// Prune removes the free bridges.
func (n *FakeNetworks) Prune(_ context.Context, dryRun bool) ([]runtime.Network, error) {
	n.pool.mu.Lock()
	defer n.pool.mu.Unlock()
	var free []runtime.Network
	for _, network := range n.pool.networks {
		if network.Session == "" {
			free = append(free, network)
		}
	}
	if !dryRun {
		n.pool.networks = slices.DeleteFunc(n.pool.networks, func(network runtime.Network) bool { return network.Session == "" })
	}
	return free, nil
}
