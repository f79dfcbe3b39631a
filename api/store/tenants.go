package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"aibox/internal/fault"
	"aibox/session"
)

// Quota is the upper bounds of a tenant. 0 means no limit.
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

// ChangeQuota changes the quota of a tenant, and returns it. The tenant is created if it does not
// exist. No other change comes between what change reads and what it writes.
func (s *Store) ChangeQuota(ctx context.Context, tenant session.Tenant, change func(*Quota)) (Quota, error) {
	return changeTenant(ctx, s, "quota", tenant, func(quota *Quota) error {
		change(quota)
		if quota.Sandboxes < 0 || quota.Memory < 0 || quota.CPUs < 0 || quota.Processes < 0 || quota.Disk < 0 || quota.UploadBytes < 0 || quota.Tokens < 0 || quota.Snapshots < 0 {
			return fault.New(fault.Usage, "a quota cannot be negative").Hint("0 means no limit")
		}
		return nil
	})
}

// readTenant decodes the JSON that query selects from the row of a tenant. found is false if
// the tenant is not in the database.
func (s *Store) readTenant(ctx context.Context, query string, tenant session.Tenant, value any) (found bool, err error) {
	var text string
	err = s.reads.QueryRowContext(ctx, query, string(tenant)).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal([]byte(text), value)
}

// changeTenant changes the JSON in a column of a tenant, which is created if it does not exist,
// and returns its value. If change fails, nothing is changed.
func changeTenant[T any](ctx context.Context, s *Store, column string, tenant session.Tenant, change func(*T) error) (value T, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		if err := addTenant(ctx, tx, tenant); err != nil {
			return err
		}
		var text string
		if err := tx.QueryRowContext(ctx, "SELECT "+column+" FROM tenants WHERE name = ?", string(tenant)).Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return fault.New(fault.Environment, "the %s of the tenant cannot be read: %w", column, err)
		}
		if err := change(&value); err != nil {
			return err
		}
		changed, err := json.Marshal(value)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE tenants SET "+column+" = ? WHERE name = ?", string(changed), string(tenant))
		return err
	})
	return value, err
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
	recorded, err := s.recorded(ctx, tenant, now)
	if err != nil {
		return err
	}
	used = slices.DeleteFunc(slices.Clone(used), func(u Used) bool {
		known := recorded[u.Sandbox]
		return u.UploadBytes <= known.UploadBytes && u.Tokens <= known.Tokens
	})
	if len(used) == 0 { // without a transaction, which waits for the disk and for others
		return nil
	}
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

// recorded returns what is recorded of the sandboxes of a tenant that have used something today.
func (s *Store) recorded(ctx context.Context, tenant session.Tenant, now time.Time) (map[session.ID]Used, error) {
	rows, err := s.reads.QueryContext(ctx, usageOfDay, string(tenant), day(now), string(tenant))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	recorded := map[session.ID]Used{}
	for rows.Next() {
		var u Used
		if err := rows.Scan(&u.Sandbox, &u.UploadBytes, &u.Tokens); err != nil {
			return nil, err
		}
		recorded[u.Sandbox] = u
	}
	return recorded, rows.Err()
}

// usageOfDay selects the usage of those sandboxes of a tenant that have any on a day, on all days.
const usageOfDay = `SELECT own.sandbox, sum(own.upload), sum(own.tokens) FROM usage AS today CROSS JOIN usage AS own
	WHERE today.tenant = ? AND today.day = ? AND own.tenant = ? AND own.sandbox = today.sandbox GROUP BY own.sandbox`

// UsageToday returns what a tenant has used on the day of now, as far as it was recorded.
func (s *Store) UsageToday(ctx context.Context, tenant session.Tenant, now time.Time) (uploadBytes, tokens int64, err error) {
	err = s.reads.QueryRowContext(ctx, "SELECT coalesce(sum(upload), 0), coalesce(sum(tokens), 0) FROM usage WHERE tenant = ? AND day = ?",
		string(tenant), day(now)).Scan(&uploadBytes, &tokens)
	return uploadBytes, tokens, err
}
