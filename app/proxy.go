package app

import (
	"context"

	"aibox/audit"
	"aibox/netguard/egress"
	"aibox/session/supervisor"
)

// openProxy adapts egress.Proxy to supervisor.Deps.
func openProxy(access supervisor.ProxyAccess) (supervisor.Proxy, error) {
	var ask func(context.Context, egress.Question) egress.Answer
	if access.Ask != nil {
		ask = func(ctx context.Context, q egress.Question) egress.Answer {
			decision := access.Ask(ctx, q.Destination, q.Method, q.Verdict)
			return egress.Answer{Allowed: decision.Allowed, Reason: decision.Reason}
		}
	}
	return egress.New(egress.Config{
		Policy:  access.Policy,
		Ask:     ask,
		Record:  func(e egress.Event) string { return access.Record(proxyEvent(e)) },
		Allow:   access.Allow,
		Budgets: egress.Budgets{Upload: access.UploadLimit, Download: access.DownloadLimit},
	}), nil
}

// proxyEvent returns an event of the proxy in the form of the audit log.
func proxyEvent(e egress.Event) supervisor.ProxyEvent {
	event := supervisor.ProxyEvent{Repeated: e.Repeated}
	if e.Kind == egress.Closed {
		event.Type, event.AllowedID = audit.EgressClosed, e.AllowedID
		event.End = audit.EgressEnd{
			Host: e.Host, Port: int(e.Destination.Port), Method: e.Method,
			BytesUp: e.Up, BytesDown: e.Down, Millis: e.Duration.Milliseconds(), Reason: e.Reason,
		}
		return event
	}
	event.Type = audit.EgressRefused
	if e.Kind == egress.Allowed {
		event.Type = audit.EgressAllowed
	}
	event.Egress = audit.Egress{
		Host: e.Host, Port: int(e.Destination.Port), Method: e.Method, Path: e.Path, Rule: e.Rule, Reason: e.Reason,
	}
	if e.Address.IsValid() {
		event.Egress.Address = e.Address.String()
	}
	return event
}
