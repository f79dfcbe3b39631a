package app

import (
	"context"
	"net"
	"net/netip"
	"os"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/netguard/egress"
	"aibox/netguard/egress/inspect"
	"aibox/netguard/egress/sshagent"
	"aibox/netguard/egress/sshkey"
	"aibox/session/supervisor"
)

// openProxy adapts egress.Proxy to supervisor.Deps.
func (a *App) openProxy(access supervisor.ProxyAccess) (supervisor.Proxy, error) {
	own, err := a.ownAddresses()
	if err != nil {
		return nil, err
	}
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
		Count:     func(e egress.Event, recorded bool) { access.Count(proxyCount(e), recorded) },
		Allow:     access.Allow,
		Own:       own,
		Inspector: inspector,
		HostKeys:  known,
		SSHAgent:  agent,
		Budgets:   access.Budgets,
	})
	return inspectingProxy{proxy, inspector, known}, nil
}

// ownAddresses returns the addresses that the user's settings list as their own.
func (a *App) ownAddresses() ([]netip.Prefix, error) {
	settings, err := a.UserSettings()
	if err != nil {
		return nil, err
	}
	var own []netip.Prefix
	for _, word := range settings.Settings.OwnAddresses {
		prefix, err := netguard.ParseOwnAddress(word)
		if err != nil {
			return nil, fault.New(fault.Usage, "the setting own-addresses: %w", err)
		}
		own = append(own, prefix)
	}
	return own, nil
}

// DecideAddresses is the run.AddressCheck of the egress proxies on this machine. If the
// settings cannot be read, every address counts as the machine's own, as no proxy would start.
func (a *App) DecideAddresses(policy *netguard.Matcher, port uint16, found []netip.Addr) []netguard.AddressVerdict {
	own, err := a.ownAddresses()
	if err != nil {
		own = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	}
	return a.addresses.Decide(policy, port, found, own...)
}

// inspectingProxy is a proxy with data that the programs in the sandbox need.
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

// proxyCount returns the increase of a destination's count by one event of the proxy.
func proxyCount(e egress.Event) audit.EgressCount {
	count := audit.EgressCount{Host: e.Host, Port: int(e.Destination.Port), BytesUp: e.Up, BytesDown: e.Down, First: e.Time, Last: e.Time}
	if e.Kind == egress.Allowed {
		count.Requests = 1
	}
	return count
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
		Command: e.Command, Hint: e.Hint,
	}
	if e.Address.IsValid() {
		event.Egress.Address = e.Address.String()
	}
	return event
}
