package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"aibox/internal/fault"
	"aibox/session"
)

// keyLife is how long the key of a creation is remembered.
const keyLife = 24 * time.Hour

// BeginCreation claims the key of a creation. request is a digest of what is to be created,
// and owner names the process that creates it. If a creation with this key has succeeded, it
// returns its sandbox. Another request with the key, and one whose creation still runs, is
// a Conflict; isAlive reports whether an owner still runs. A claimed key must be given to
// EndCreation.
func (s *Store) BeginCreation(ctx context.Context, tenant session.Tenant, key, request, owner string, isAlive func(owner string) bool) (session.ID, error) {
	var sandbox session.ID
	err := s.change(ctx, func(tx *sql.Tx) error {
		now := time.Now()
		if _, err := tx.ExecContext(ctx, "DELETE FROM creations WHERE created < ?", milliseconds(now.Add(-keyLife))); err != nil {
			return err
		}
		var earlier, creator string
		err := tx.QueryRowContext(ctx, "SELECT request, sandbox, owner FROM creations WHERE tenant = ? AND key = ?", string(tenant), key).
			Scan(&earlier, (*string)(&sandbox), &creator)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case earlier != request:
			return fault.New(fault.Conflict, "the idempotency key was used for another request").Hint("use a new key for each creation")
		case sandbox != "":
			return nil
		case isAlive(creator):
			return fault.New(fault.Conflict, "a creation with this idempotency key is running").Hint("try again when it has ended")
		}
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO creations VALUES (?, ?, ?, '', ?, ?)", string(tenant), key, request, owner, milliseconds(now))
		return err
	})
	return sandbox, err
}

// EndCreation stores the sandbox of a claimed key. Without a sandbox the creation has
// failed, and the key is free again.
func (s *Store) EndCreation(ctx context.Context, tenant session.Tenant, key string, sandbox session.ID) error {
	query, args := "DELETE FROM creations WHERE tenant = ? AND key = ?", []any{string(tenant), key}
	if sandbox != "" {
		query, args = "UPDATE creations SET sandbox = ? WHERE tenant = ? AND key = ?", []any{string(sandbox), string(tenant), key}
	}
	_, err := s.db.ExecContext(ctx, query, args...)
	return err
}
