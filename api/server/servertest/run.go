// Package servertest has the common parts of fakes of the API's use cases, for tests. It never
// runs anything itself.
package servertest

import (
	"context"

	"aibox/session"
	"aibox/session/process"
)

// Processes starts and reads processes; see server.Processes.
type Processes interface {
	StartProcess(ctx context.Context, id session.ID, request process.Request) (process.Info, error)
	ReadProcess(ctx context.Context, id session.ID, number int, from uint64, visit func(process.Frame) error) (process.Exit, error)
}

// RunProcess implements the method RunProcess of server.Processes with the two other
// methods of a fake.
func RunProcess(ctx context.Context, p Processes, id session.ID, r process.Request, started func(process.Info) error, visit func(process.Frame) error) (process.Exit, error) {
	info, err := p.StartProcess(ctx, id, r)
	if err == nil {
		err = started(info)
	}
	if err != nil {
		return process.Exit{}, err
	}
	return p.ReadProcess(ctx, id, info.ID, 1, visit)
}
