package server

import (
	"context"
	"errors"
	"io/fs"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/auditlog"
)

// auditLogs serves the service Audit.
type auditLogs struct {
	sandboxes Sandboxes
	cases     Audit
}

// The sizes of pages.
const (
	defaultPage = 100
	maxPage     = 1000
)

// find returns the log of a sandbox or session of the caller's tenant. Whose a session was cannot be
// known without its record. Then its log is only for the user of this machine.
func (a *auditLogs) find(ctx context.Context, id string) (auditlog.Log, error) {
	caller := auth.From(ctx)
	missing := fault.New(fault.NotFound, "there is no sandbox or session %q", id)
	name, err := session.ParseID(id)
	if err != nil {
		return auditlog.Log{}, missing
	}
	if name.Agent() == session.SandboxAgent {
		if _, err := a.sandboxes.Get(ctx, caller.Tenant, id); err != nil {
			return auditlog.Log{}, err
		}
	} else if caller.Tenant != session.LocalTenant || caller.Token != "" {
		found, err := a.cases.Load(name)
		if err != nil || name.Hidden() || found.Owner() != caller.Tenant {
			return auditlog.Log{}, missing
		}
	}
	logs, err := a.cases.AuditLogs(id)
	switch {
	case errors.Is(err, fs.ErrNotExist), fault.KindOf(err) == fault.Usage, fault.KindOf(err) == fault.NotFound:
		return auditlog.Log{}, missing
	case err != nil:
		return auditlog.Log{}, err
	case len(logs) != 1 || logs[0].Session != name:
		return auditlog.Log{}, missing
	}
	return logs[0], nil
}

// errPageFull ends the reading of a log.
var errPageFull = errors.New("the page is full")

func (a *auditLogs) List(ctx context.Context, r *connect.Request[aiboxv1.ListAuditEventsRequest]) (*connect.Response[aiboxv1.ListAuditEventsResponse], error) {
	size, from := int(r.Msg.GetPageSize()), max(r.Msg.GetFromSeq(), 1)
	if size < 0 || size > maxPage {
		return nil, fault.New(fault.Usage, "a page has up to %d events, not %d", maxPage, size)
	}
	if r.Msg.GetFromSeq() < 0 {
		return nil, fault.New(fault.Usage, "from_seq is the number of an event, not %d", r.Msg.GetFromSeq())
	}
	if size == 0 {
		size = defaultPage
	}
	log, err := a.find(ctx, r.Msg.GetId())
	if err != nil {
		return nil, err
	}
	out := &aiboxv1.ListAuditEventsResponse{}
	err = a.cases.AuditEvents([]auditlog.Log{log}, func(e auditlog.Event) error {
		seq := int64(e.Seq) + 1
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case seq < from:
			return nil
		case len(out.Events) == size:
			out.NextSeq = seq
			return errPageFull
		}
		out.Events = append(out.Events, &aiboxv1.AuditEvent{Seq: seq, Time: toTime(e.Time), Kind: string(e.Type), DetailsJson: string(e.Data), Hash: e.Hash})
		return nil
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return nil, err
	}
	return connect.NewResponse(out), nil
}

func (a *auditLogs) Verify(ctx context.Context, r *connect.Request[aiboxv1.VerifyAuditRequest]) (*connect.Response[aiboxv1.VerifyAuditResponse], error) {
	log, err := a.find(ctx, r.Msg.GetId())
	if err != nil {
		return nil, err
	}
	verified, err := a.cases.VerifyAudit(log)
	if err != nil {
		return nil, err
	}
	out := &aiboxv1.VerifyAuditResponse{Valid: len(verified.Damage) == 0, Events: int64(verified.Events)}
	if !out.Valid {
		out.Reason = verified.Damage[0].String()
	}
	return connect.NewResponse(out), nil
}
