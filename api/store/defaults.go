package store

import (
	"context"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

// Defaults returns the settings of a tenant's sandboxes and sessions that their creation does
// not give; none if the tenant has none. Settings that cannot be read are an error, so that
// nothing is created without them.
func (s *Store) Defaults(ctx context.Context, tenant session.Tenant) (config.RunOverrides, error) {
	var defaults config.RunOverrides
	if _, err := s.readTenant(ctx, "SELECT defaults FROM tenants WHERE name = ?", tenant, &defaults); err != nil {
		return config.RunOverrides{}, fault.New(fault.Environment, "the defaults of the tenant cannot be read: %w", err)
	}
	return defaults, nil
}

// ChangeDefaults changes the defaults of a tenant, and returns them. The tenant is created if it
// does not exist. No other change comes between what change reads and what it writes, and if it
// fails, nothing is changed.
func (s *Store) ChangeDefaults(ctx context.Context, tenant session.Tenant, change func(*config.RunOverrides) error) (config.RunOverrides, error) {
	return changeTenant(ctx, s, "defaults", tenant, change)
}
