package quota

import (
	"context"
	"time"

	"aibox/api/store"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
)

// A sandbox that can send something, or use a model, reserves its limit of that until it
// ends. So sandboxes that run at the same time cannot together exceed the quota of a day.

// holder is a running sandbox, or a session with its agent's sandboxes.
type holder struct {
	spec         *session.Spec
	sent, tokens int64 // since it was created
}

// Count records the usage of a tenant up to now. It must precede the removal of a record,
// since the usage is not known afterwards.
func (e *Enforcer) Count(ctx context.Context, tenant session.Tenant) error {
	_, err := e.count(ctx, tenant, time.Now())
	return err
}

// count records the usage of a tenant up to now, and returns what of it is running.
func (e *Enforcer) count(ctx context.Context, tenant session.Tenant, now time.Time) (running []holder, err error) {
	all, err := e.Sessions.CountableSandboxes(tenant)
	if err != nil {
		return nil, err
	}
	if e.Agents != nil {
		agents, err := e.Agents(tenant)
		if err != nil {
			return nil, err
		}
		all = append(all, agents...)
	}
	today := now.UTC().Truncate(24 * time.Hour)
	var counters []store.Used
	for i := range all {
		state := &all[i].State
		if state.Phase == session.Ended && !state.Ended.IsZero() && state.Ended.Before(today) {
			continue
		}
		used, err := e.usedBy(&all[i])
		if err != nil {
			return nil, err
		}
		counters = append(counters, used...)
		if state.Phase == session.Ended {
			continue
		}
		h := holder{spec: &all[i].Spec}
		for _, u := range used {
			h.sent += u.UploadBytes
			h.tokens += u.Tokens
		}
		running = append(running, h)
	}
	return running, e.Store.RecordUsage(ctx, tenant, now, counters)
}

// usedBy returns the usage of a sandbox, or of a session and its agent's sandboxes.
func (e *Enforcer) usedBy(s *session.Session) (used []store.Used, err error) {
	ids := []session.ID{s.ID}
	if s.OwnSandboxes() > 0 {
		own, err := e.Sessions.CountableSandboxes(session.OwnTenant(s.ID))
		if err != nil {
			return nil, err
		}
		for i := range own {
			ids = append(ids, own[i].ID)
		}
	}
	for _, id := range ids {
		live, err := e.Sessions.Live(id)
		if err != nil {
			continue // it was removed meanwhile, and counted before
		}
		used = append(used, store.Used{Sandbox: id, UploadBytes: live.Egress.Up, Tokens: int64(live.Tokens.Input) + int64(live.Tokens.Output)})
	}
	return used, nil
}

// reserves adds what a running sandbox can still use of the day's quotas. One without a
// limit, which started before there was a quota, can use them up.
func (h *holder) reserves(used *store.Quota, quota store.Quota) {
	rest := func(used *int64, quota, limit, spent int64) {
		switch {
		case quota == 0:
		case limit == 0:
			*used = max(*used, quota)
		default:
			*used += max(limit-spent, 0)
		}
	}
	if h.spec.Mode().HasProxy() {
		rest(&used.UploadBytes, quota.UploadBytes, h.spec.EgressUpload.Bytes(), h.sent)
	}
	if h.spec.HasModel() {
		rest(&used.Tokens, quota.Tokens, int64(h.spec.MaxTokens), h.tokens)
	}
}

// reserve limits a new sandbox to the rest of the day's quotas, and adds its limits to wanted.
// A sandbox without a limit gets an equal part of the rest: the rest divided by the number of
// sandboxes that the tenant can still have at once, or half of it without such a quota.
func reserve(spec *session.Spec, quota, used store.Quota, wanted *store.Quota) error {
	parts := int64(2)
	if quota.Sandboxes > 0 {
		parts = max((quota.Sandboxes-used.Sandboxes)/wanted.Sandboxes, 1)
	}
	part := func(own, left int64) int64 {
		if own == 0 {
			own = max(left/parts, 1)
		}
		return min(own, left)
	}
	if quota.UploadBytes > 0 && spec.Mode().HasProxy() {
		left := (quota.UploadBytes - used.UploadBytes) >> 20
		if left < 1 {
			return usedUp("bytes sent", quota.UploadBytes, used.UploadBytes, "egress-upload")
		}
		spec.EgressUpload = amount.MiB(part(int64(spec.EgressUpload), left))
		wanted.UploadBytes = spec.EgressUpload.Bytes()
	}
	if quota.Tokens > 0 && spec.HasModel() {
		left := quota.Tokens - used.Tokens
		if left < 1 {
			return usedUp("tokens of models", quota.Tokens, used.Tokens, "max-tokens")
		}
		wanted.Tokens = part(int64(spec.MaxTokens), left)
		spec.MaxTokens = int(wanted.Tokens)
	}
	return nil
}

// usedUp is the error for a sandbox for which nothing is left of a day's quota.
func usedUp(of string, quota, used int64, setting string) error {
	return fault.New(fault.Limit, "the tenant's quota is %d %s on one day, of which %d are used, or reserved by running sandboxes", quota, of, used).
		Hint("end a sandbox, or give each a lower limit %s: a sandbox reserves its limit until it ends", setting)
}
