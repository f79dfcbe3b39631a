package logview

import (
	"context"

	"aibox/session"
	"aibox/session/output"
)

// Sessions are the use cases that read the log of a session; *manager.Manager has them.
type Sessions interface {
	Recorded(id session.ID) (int64, error)
	Output(id session.ID, from int64, visit func(output.Chunk) error) (int64, error)
	Follow(ctx context.Context, id session.ID, from int64, visit func(output.Chunk) error) (session.Session, error)
}

// Of returns the log of a session.
func Of(sessions Sessions, id session.ID) Source { return recorded{sessions, id} }

type recorded struct {
	sessions Sessions
	id       session.ID
}

func (r recorded) Size() (int64, error) { return r.sessions.Recorded(r.id) }

func (r recorded) Output(from int64, visit func(output.Chunk) error) error {
	_, err := r.sessions.Output(r.id, from, visit)
	return err
}

func (r recorded) Follow(ctx context.Context, from int64, visit func(output.Chunk) error) error {
	_, err := r.sessions.Follow(ctx, r.id, from, visit)
	return err
}
