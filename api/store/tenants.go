package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"aibox/internal/fault"
	"aibox/session"
)

// Quota is the upper bounds of a tenant. 0 means no bound.
type Quota struct {
	Sandboxes   int64   `json:"sandboxes"`    // at once
	Memory      int64   `json:"memory_mib"`   // MiB of all sandboxes
	CPUs        float64 `json:"cpus"`         // of all sandboxes
	Processes   int64   `json:"processes"`    // of all sandboxes
	Disk        int64   `json:"disk_mib"`     // MiB of all volumes, and of everything that sandboxes can write
	UploadBytes int64   `json:"upload_bytes"` // sent to hosts on one day (UTC)
	Tokens      int64   `json:"model_tokens"` // of models on one day (UTC)
	Snapshots   int64   `json:"snapshot_bytes,omitempty"`
}

// DefaultQuota is the quota of a new tenant. The local tenant has none, since the machine
// belongs to its user.
func DefaultQuota(tenant session.Tenant) Quota {
	if tenant == session.LocalTenant {
		return Quota{}
	}
	return Quota{Sandboxes: 20, Memory: 32 << 10, CPUs: 32, Processes: 40_000, Disk: 400 << 10, UploadBytes: 10 << 30, Snapshots: 20 << 30}
}

func addTenant(ctx context.Context, tx *sql.Tx, tenant session.Tenant) error {
	quota, err := json.Marshal(DefaultQuota(tenant))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO tenants (name, quota, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", string(tenant), string(quota), milliseconds(time.Now()))
	return err
}

// Quota returns the quota of a tenant; the default one if it is not in the database.
func (s *Store) Quota(ctx context.Context, tenant session.Tenant) (Quota, error) {
	var quota Quota
	found, err := s.readTenant(ctx, "SELECT quota FROM tenants WHERE name = ?", tenant, &quota)
	if err == nil && !found {
		return DefaultQuota(tenant), nil
	}
	return quota, err
}

// SetQuota changes the quota of a tenant, which is created if it does not exist.
func (s *Store) SetQuota(ctx context.Context, tenant session.Tenant, quota Quota) error {
	if quota.Sandboxes < 0 || quota.Memory < 0 || quota.CPUs < 0 || quota.Processes < 0 || quota.Disk < 0 || quota.UploadBytes < 0 || quota.Tokens < 0 || quota.Snapshots < 0 {
		return fault.New(fault.Usage, "a quota cannot be negative").Hint("0 means no bound")
	}
	return s.changeTenant(ctx, "UPDATE tenants SET quota = ? WHERE name = ?", tenant, quota)
}

// readTenant decodes the JSON that query selects from the row of a tenant. found is false if
// the tenant is not in the database.
func (s *Store) readTenant(ctx context.Context, query string, tenant session.Tenant, value any) (found bool, err error) {
	var text string
	err = s.db.QueryRowContext(ctx, query, string(tenant)).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal([]byte(text), value)
}

// changeTenant stores value as JSON with statement in the row of a tenant, which is created
// if it does not exist.
func (s *Store) changeTenant(ctx context.Context, statement string, tenant session.Tenant, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		if err := addTenant(ctx, tx, tenant); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, statement, string(text), string(tenant))
		return err
	})
}

// day returns the day of a time in the form of the database.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Used is the usage of a tenant's sandbox since it was created.
type Used struct {
	Sandbox     session.ID
	UploadBytes int64
	Tokens      int64
}

// RecordUsage records the counters of a tenant's sandboxes. They only grow. For a sandbox
// that runs past midnight, usage starts again from zero on the next day.
func (s *Store) RecordUsage(ctx context.Context, tenant session.Tenant, now time.Time, used []Used) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		for _, u := range used {
			var upload, tokens int64 // of earlier days
			err := tx.QueryRowContext(ctx, "SELECT coalesce(sum(upload), 0), coalesce(sum(tokens), 0) FROM usage WHERE tenant = ? AND sandbox = ? AND day < ?",
				string(tenant), string(u.Sandbox), day(now)).Scan(&upload, &tokens)
			if err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, `INSERT INTO usage VALUES (?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET upload = max(upload, excluded.upload), tokens = max(tokens, excluded.tokens)`,
				string(tenant), day(now), string(u.Sandbox), max(u.UploadBytes-upload, 0), max(u.Tokens-tokens, 0))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// UsageToday returns what a tenant has used on the day of now, as far as it was recorded.
func (s *Store) UsageToday(ctx context.Context, tenant session.Tenant, now time.Time) (uploadBytes, tokens int64, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT coalesce(sum(upload), 0), coalesce(sum(tokens), 0) FROM usage WHERE tenant = ? AND day = ?",
		string(tenant), day(now)).Scan(&uploadBytes, &tokens)
	return uploadBytes, tokens, err
}
