package app

import (
	"context"
	"net"
	"net/netip"
	"os"

	"aibox/audit"
	"aibox/netguard"
	"aibox/netguard/egress"
	"aibox/netguard/egress/inspect"
	"aibox/netguard/egress/sshagent"
	"aibox/netguard/egress/sshkey"
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
	inspection := inspect.Config{Hosts: access.Inspect}
	for _, s := range access.Secrets {
		inspection.Secrets = append(inspection.Secrets, inspect.Secret{Rule: s.Rule, Value: s.Value})
	}
	inspector, err := inspect.New(inspection)
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	known := sshkey.New(sshkey.Files(home)...)
	var agent egress.SSHAgent
	if len(access.SSHLogins) > 0 {
		agent = sshagent.New(access.SSHLogins, known.Check, func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", os.Getenv("SSH_AUTH_SOCK"))
		})
	}
	proxy := egress.New(egress.Config{
		Policy:    access.Policy,
		Ask:       ask,
		Record:    func(e egress.Event) string { return access.Record(proxyEvent(e)) },
		Allow:     access.Allow,
		Inspector: inspector,
		HostKeys:  known,
		SSHAgent:  agent,
		Budgets: egress.Budgets{
			Upload: access.UploadLimit, Download: access.DownloadLimit,
			UploadPerHost: access.UploadLimitPerHost, DownloadPerHost: access.DownloadLimitPerHost,
		},
	})
	return inspectingProxy{proxy, inspector, known}, nil
}

// DecideAddresses is the run.AddressCheck of the egress proxies on this machine.
func DecideAddresses(policy *netguard.Matcher, port uint16, found []netip.Addr) []netguard.AddressVerdict {
	return egress.DecideAddresses(policy, port, found)
}

// inspectingProxy is a proxy with what the programs in the sandbox must know of it.
type inspectingProxy struct {
	*egress.Proxy
	inspector *inspect.Inspector
	known     *sshkey.KnownHosts
}

func (p inspectingProxy) Authority() []byte { return p.inspector.Authority() }

// HostKeys returns nothing for servers whose keys cannot be read: the proxy reports that
// when the sandbox connects.
func (p inspectingProxy) HostKeys(servers []netguard.Destination) []string {
	var all []string
	for _, server := range servers {
		lines, _ := p.known.Lines(server)
		all = append(all, lines...)
	}
	return all
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
		Command: e.Command,
	}
	if e.Address.IsValid() {
		event.Egress.Address = e.Address.String()
	}
	return event
}
