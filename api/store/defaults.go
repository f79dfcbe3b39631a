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

// SetDefaults replaces the defaults of a tenant, which is created if it does not exist.
func (s *Store) SetDefaults(ctx context.Context, tenant session.Tenant, defaults config.RunOverrides) error {
	return s.changeTenant(ctx, "UPDATE tenants SET defaults = ? WHERE name = ?", tenant, defaults)
}
