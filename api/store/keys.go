package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
)

// keySize is the size of a key in bytes.
const keySize = 32

// Key returns the server's secret key of that name: 32 random bytes, created at the first
// call. It stays the same after a restart of the server.
func (s *Store) Key(ctx context.Context, name string) (key []byte, err error) {
	const query = "SELECT value FROM keys WHERE name = ?"
	// As in migrate, nothing waits for the disk once there is a key.
	if err = s.db.QueryRowContext(ctx, query, name).Scan(&key); !errors.Is(err, sql.ErrNoRows) {
		return key, err
	}
	made := make([]byte, keySize)
	_, _ = rand.Read(made) // it never fails
	err = s.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO keys (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", name, made); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, query, name).Scan(&key)
	})
	return key, err
}
