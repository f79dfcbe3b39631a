package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/network"

	"aibox/internal/fault"
	"aibox/runtime"
)

// make creates a network on the first free subnet. It takes the lease first, so that no
// other process can use the network meanwhile.
func (n *Networks) make(ctx context.Context) (runtime.Network, *lease, error) {
	var lock *lease
	err := n.backend.answeredWithin(ctx, startTimeout, "waiting for the networks of other sessions", func(ctx context.Context) (err error) {
		lock, err = n.lockPool(ctx)
		return err
	})
	if err != nil {
		return runtime.Network{}, nil, err
	}
	defer lock.release()
	used, err := n.usedSubnets(ctx)
	if err != nil {
		return runtime.Network{}, nil, err
	}
	name, err := randomName()
	if err != nil {
		return runtime.Network{}, nil, err
	}
	held, err := n.lease(name)
	if err != nil {
		return runtime.Network{}, nil, err
	}
	for subnet := n.pool.Masked().Addr(); n.pool.Contains(subnet); subnet = next(subnet) {
		prefix := netip.PrefixFrom(subnet, subnetBits)
		if slices.ContainsFunc(used, prefix.Overlaps) {
			continue
		}
		made, err := n.create(ctx, name, prefix)
		if err == nil {
			return made, held, nil
		}
		if !strings.Contains(err.Error(), "overlap") {
			held.remove()
			held.release()
			return runtime.Network{}, nil, refusedNetwork(err)
		}
		// The subnet conflicts with a route of the machine that only the daemon sees.
	}
	held.remove()
	held.release()
	return runtime.Network{}, nil, fmt.Errorf("%w: %s", runtime.ErrPoolExhausted, n.pool)
}

func (n *Networks) create(ctx context.Context, name string, subnet netip.Prefix) (runtime.Network, error) {
	gateway := subnet.Addr().Next()
	noIPv6 := false
	options := map[string]string{optionName: name, optionICC: "false", optionMasq: "false"}
	if mode := n.gatewayMode(); mode != "" {
		options[optionMode] = mode
	}
	var made network.CreateResponse
	err := n.backend.answered(ctx, "creating a network", func(ctx context.Context) (err error) {
		made, err = n.api.NetworkCreate(ctx, name, network.CreateOptions{
			Driver:     "bridge",
			EnableIPv6: &noIPv6,
			IPAM:       &network.IPAM{Driver: "default", Config: []network.IPAMConfig{{Subnet: subnet.String(), Gateway: gateway.String()}}},
			// Not Internal: from Docker 26 on such a network has no default route, and
			// the gateway's address would be out of reach.
			Options: options,
			Labels:  map[string]string{labelPool: "1", labelUser: ownUser()},
		})
		return err
	})
	if err != nil {
		return runtime.Network{}, n.backend.unreachable(err)
	}
	return runtime.Network{ID: made.ID, Bridge: name, Gateway: gateway, Subnet: subnet}, nil
}

// usedSubnets returns the subnets of all networks of the daemon.
func (n *Networks) usedSubnets(ctx context.Context) ([]netip.Prefix, error) {
	found, err := n.networks(ctx, network.ListOptions{})
	if err != nil {
		return nil, err
	}
	var used []netip.Prefix
	for _, f := range found {
		for _, config := range f.IPAM.Config {
			if subnet, err := netip.ParsePrefix(config.Subnet); err == nil {
				used = append(used, subnet)
			}
		}
	}
	return used, nil
}

// next returns the address of the following /29.
func next(subnet netip.Addr) netip.Addr {
	for range 1 << (32 - subnetBits) {
		subnet = subnet.Next()
	}
	return subnet
}

func randomName() (string, error) {
	var raw [4]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", err
	}
	return bridgePrefix + hex.EncodeToString(raw[:]), nil
}

// refusedNetwork returns err, or a fault with a hint if the kernel lacks a module that the
// networks need (Docker 26: "cannot restrict inter-container communication").
func refusedNetwork(err error) error {
	if !strings.Contains(err.Error(), "restrict inter-container communication") {
		return err
	}
	return fault.New(fault.Environment, "Docker cannot keep sandboxes apart, because the kernel module br_netfilter is not loaded: %w", err).
		Hint("sudo modprobe br_netfilter").Hint(setupHint)
}
