package cli

import (
	"context"

	"aibox/ui/network"
)

// guardScreen implements the services of the network screen.
type guardScreen struct{ cli *cli }

// Locks returns the state of the network guard.
func (d guardScreen) Locks(ctx context.Context) (network.Locks, error) {
	client, err := d.cli.app.Guard(ctx)
	if err != nil {
		return network.Locks{}, err
	}
	status, err := client.Status(ctx)
	if err != nil {
		return network.Locks{}, err
	}
	return network.Locks{Up: status.Up, Bridges: len(status.Routing.Locked), Drift: status.Drift}, nil
}
