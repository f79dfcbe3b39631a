package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

// Defaults returns the settings of a tenant's sandboxes and sessions that their creation does
// not give; none if the tenant has none. Settings that cannot be read are an error, so that
// nothing is created without them.
func (s *Store) Defaults(ctx context.Context, tenant session.Tenant) (config.RunOverrides, error) {
	var text string
	var defaults config.RunOverrides
	err := s.db.QueryRowContext(ctx, "SELECT defaults FROM tenants WHERE name = ?", string(tenant)).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return defaults, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &defaults)
	}
	if err != nil {
		return config.RunOverrides{}, fault.New(fault.Environment, "the defaults of the tenant cannot be read: %w", err)
	}
	return defaults, nil
}

// SetDefaults replaces the defaults of a tenant, which is created if it does not exist.
func (s *Store) SetDefaults(ctx context.Context, tenant session.Tenant, defaults config.RunOverrides) error {
	text, err := json.Marshal(defaults)
	if err != nil {
		return err
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		if err := addTenant(ctx, tx, tenant); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE tenants SET defaults = ? WHERE name = ?", string(text), string(tenant))
		return err
	})
}
