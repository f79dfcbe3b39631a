package cli

import (
	"context"

	"aibox/ui/network"
)

// locksDesk tells the network screen how the locks stand.
type locksDesk struct{ cli *cli }

// Locks looks at the locks.
func (d locksDesk) Locks(ctx context.Context) (network.Locks, error) {
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
