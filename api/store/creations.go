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

// Creation is a creation of a sandbox, or a start of an agent's session. It is stored before
// its result exists, so that a creation whose process was killed can be found.
type Creation struct {
	Tenant session.Tenant
	Key    string
	// Sandbox is the id of the sandbox or session; empty before it is chosen.
	Sandbox session.ID
	Done    bool // the sandbox was created
	// Abandoned reports that it was not ended, and that its process has died.
	Abandoned bool

	owner string // the process that creates it
}

// BeginCreation claims the key of a creation. request is the digest of its request, and owner
// names the process that creates it. If a creation with this key has succeeded, it is
// returned as Done. If the process of an earlier one has died, it is returned as Abandoned:
// its sandbox must be ended, and then the creation, before the key can be claimed. Another
// request with the key, and one whose creation still runs, is a Conflict; isAlive reports
// whether an owner still runs. A claimed key must be passed to EndCreation.
func (s *Store) BeginCreation(ctx context.Context, tenant session.Tenant, key, request, owner string, isAlive func(owner string) bool) (Creation, error) {
	c := Creation{Tenant: tenant, Key: key, owner: owner}
	err := s.change(ctx, func(tx *sql.Tx) error {
		now := time.Now()
		if _, err := tx.ExecContext(ctx, "DELETE FROM creations WHERE done = 1 AND created < ?", milliseconds(now.Add(-keyLife))); err != nil {
			return err
		}
		var earlier, creator string
		err := tx.QueryRowContext(ctx, "SELECT request, sandbox, owner, done FROM creations WHERE tenant = ? AND key = ?", string(tenant), key).
			Scan(&earlier, (*string)(&c.Sandbox), &creator, &c.Done)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case earlier != request:
			return fault.New(fault.Conflict, "the idempotency key was used for another request").Hint("use a new key for each creation")
		case c.Done:
			return nil
		case isAlive(creator):
			return fault.New(fault.Conflict, "a creation with this idempotency key is running").Hint("try again when it has ended")
		default:
			c.Abandoned, c.owner = true, creator
			return nil
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO creations (tenant, key, request, sandbox, owner, created, done) VALUES (?, ?, ?, '', ?, ?, 0)",
			string(tenant), key, request, owner, milliseconds(now))
		return err
	})
	return c, err
}

// AddCreation stores a creation with a unique key, and its sandbox. It must be passed to
// EndCreation, even after an error.
func (s *Store) AddCreation(ctx context.Context, tenant session.Tenant, key, owner string, sandbox session.ID) (Creation, error) {
	c := Creation{Tenant: tenant, Key: key, Sandbox: sandbox, owner: owner}
	_, err := s.exec(ctx, "INSERT INTO creations (tenant, key, request, sandbox, owner, created, done) VALUES (?, ?, '', ?, ?, ?, 0)",
		string(tenant), key, string(sandbox), owner, milliseconds(time.Now()))
	return c, err
}

// RecordSandbox stores the sandbox of a claimed key, in place of an earlier one.
func (s *Store) RecordSandbox(ctx context.Context, c Creation, sandbox session.ID) error {
	result, err := s.exec(ctx, "UPDATE creations SET sandbox = ? WHERE tenant = ? AND key = ? AND owner = ? AND done = 0", string(sandbox), string(c.Tenant), c.Key, c.owner)
	if err != nil {
		return err
	}
	return expectRow(result)
}

// EndCreation ends a creation that BeginCreation has claimed or AbandonedCreations has
// returned. A key that is kept returns its sandbox from now on; any other is free again.
func (s *Store) EndCreation(ctx context.Context, c Creation, keep bool) error {
	query := "DELETE FROM creations WHERE tenant = ? AND key = ? AND owner = ? AND done = 0"
	if keep {
		query = "UPDATE creations SET done = 1 WHERE tenant = ? AND key = ? AND owner = ?"
	}
	_, err := s.exec(ctx, query, string(c.Tenant), c.Key, c.owner)
	return err
}

// AbandonCreation makes a creation one whose process has died, until EndCreation ends it. One that
// has ended is an error.
func (s *Store) AbandonCreation(ctx context.Context, c Creation) (Creation, error) {
	result, err := s.exec(ctx, "UPDATE creations SET owner = '' WHERE tenant = ? AND key = ? AND owner = ? AND done = 0", string(c.Tenant), c.Key, c.owner)
	if err == nil {
		err = expectRow(result)
	}
	c.Abandoned, c.owner = true, ""
	return c, err
}

// expectRow returns an error if a statement has changed no creation.
func expectRow(result sql.Result) error {
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = errors.New("the creation is not recorded")
	}
	return err
}

// AbandonedCreations returns the creations that were not ended and whose process has died.
func (s *Store) AbandonedCreations(ctx context.Context, isAlive func(owner string) bool) ([]Creation, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT tenant, key, sandbox, owner FROM creations WHERE done = 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Creation
	for rows.Next() {
		c := Creation{Abandoned: true}
		if err := rows.Scan((*string)(&c.Tenant), &c.Key, (*string)(&c.Sandbox), &c.owner); err != nil {
			return nil, err
		}
		if !isAlive(c.owner) {
			all = append(all, c)
		}
	}
	return all, rows.Err()
}
