package egress

import (
	"context"
	"errors"
	"net"
)

func (d DNS) serve(context.Context, net.PacketConn, net.Listener) error {
	return errors.New("netguard/egress: unbuilt")
}
