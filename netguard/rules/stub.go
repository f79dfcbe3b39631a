package rules

import (
	"context"
	"errors"
)

var errUnbuilt = errors.New("netguard/rules: unbuilt")

const (
	opUp      = "up"
	opDown    = "down"
	opStatus  = "status"
	opGuard   = "guard"
	opRelease = "release"
)

type request struct {
	Op     string
	Bridge string
	GuardRequest
}
type reply struct{ Status Status }

func (r *reply) close()                                                  {}
func (r *reply) sockets(bridge string, g GuardRequest) (*Sockets, error) { return nil, errUnbuilt }
func (c Client) call(ctx context.Context, r request) (*reply, error)     { return nil, errUnbuilt }

type doorman struct{}

func (d *doorman) serve(ctx context.Context, log func(Refusal)) error { return errUnbuilt }
func (s *Sockets) close() error                                       { return nil }
