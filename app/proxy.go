package app

import (
	"aibox/audit"
	"aibox/netguard/egress"
	"aibox/session/supervisor"
)

// openProxy adapts egress.Proxy to supervisor.Deps.
func openProxy(access supervisor.ProxyAccess) (supervisor.Proxy, error) {
	return egress.New(egress.Config{
		Policy:  access.Policy,
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
