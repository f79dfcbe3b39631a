package supervisor

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/auditlog"
)

// gatewayURL returns the root URL of the inference gateway, as the sandbox sees it.
func gatewayURL() string {
	return "http://" + net.JoinHostPort(netguard.Address().String(), strconv.Itoa(netguard.PortGateway))
}

// serve starts the services of the sandbox: the name server, the model gateway, the egress
// proxy and the refusals. They end with ctx. If one fails before that, the session ends,
// because a sandbox must not run without its guard.
func (s *sandbox) serve(ctx context.Context, res *resources) error {
	s.service(ctx, "name server", func() error {
		return s.deps.Names(ctx, res.sockets.Packet(netguard.PortDNS), res.sockets.Listener(netguard.PortDNS),
			func(name, kind string) { s.nameRefused(name, kind, s.policy.refusedName) })
	})
	s.service(ctx, "refusals", func() error {
		return res.sockets.Refuse(ctx, func(protocol, destination string) {
			s.refused(session.Refusal{What: protocol, Target: destination, Reason: s.policy.noRoute()})
		})
	})
	if s.launch.Spec.Mode().HasProxy() {
		proxy, err := s.policy.openProxy()
		if err != nil {
			return err
		}
		s.serveProxy(ctx, proxy, res.sockets.Listener(netguard.PortProxy))
	}
	if s.launch.Spec.OwnSandboxes() > 0 {
		s.service(ctx, "server of the agent's sandboxes", func() error { return s.serveOwn(ctx, res.sockets.Listener(netguard.PortSandboxes)) })
	}
	gateway := res.sockets.Listener(netguard.PortGateway)
	switch {
	case res.model.server != nil:
		s.model.onSilence(time.Duration(s.launch.Spec.ModelTimeout), s.reportSilence)
		s.service(ctx, "inference gateway", func() error {
			return res.model.server.Serve(ctx, gateway, ModelAccess{
				Placeholder: res.model.placeholder, Models: res.model.models, ServerTools: s.launch.Spec.ServerTools(),
				UploadLimit: s.launch.Spec.MaxUpload.Bytes(), TokenLimit: int64(s.launch.Spec.MaxTokens),
				CostLimit: s.launch.Spec.MaxCost.Dollars(), AskMore: s.askMore, Timeout: requestTimeout(&s.launch.Spec), Calls: s.calls(),
			})
		})
	case gateway != nil:
		_ = gateway.Close() // no server answers there, so the sandbox's connections are refused at once
	}
	return nil
}

// serveProxy starts the egress proxy, and sets stopProxy.
func (s *sandbox) serveProxy(ctx context.Context, proxy Proxy, listener net.Listener) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	s.service(ctx, "egress proxy", func() error {
		defer close(done)
		return proxy.Serve(ctx, listener)
	})
	s.stopProxy = func() {
		cancel()
		select {
		case <-done:
		case <-time.After(proxyStopTimeout):
			fmt.Fprintln(os.Stderr, "the egress proxy does not end")
		}
	}
}

// proxyStopTimeout is how long the end of the session waits for the egress proxy.
const proxyStopTimeout = 2 * time.Second

// unresolved returns why a DNS query was refused. Address queries are the usual case, so
// only other record types are named.
func unresolved(kind string) string {
	const why = "outside names are not resolved"
	if kind == "A" || kind == "AAAA" {
		return why
	}
	return why + " (" + kind + ")"
}

func (s *sandbox) service(ctx context.Context, name string, run func() error) {
	go func() {
		err := run()
		switch {
		case ctx.Err() != nil:
		case err == nil:
			s.end(fault.New(fault.Internal, "the %s ended by itself", name))
		default:
			s.end(fault.New(fault.Internal, "the %s ended: %w", name, err))
		}
	}()
}

// nameRefused records a refused DNS query, and describes the first of its kind.
func (s *modelWatch) nameRefused(name, record string, describe func(name, record string) audit.Query) {
	refusal := session.Refusal{What: auditlog.AskedName, Target: name, Reason: unresolved(record), Times: 1}
	s.logRefusal(refusal, audit.DNSRefused, func() any { return describe(name, record) })
}

// refused records a refused packet.
func (s *modelWatch) refused(r session.Refusal) {
	r.Times = 1
	s.logRefusal(r, audit.AccessRefused, func() any { return r })
}

// logRefusal counts r.Times refusals by the network, and logs the first of their kind with
// data, which a flood does not compute each time. It returns the id of that event. The id is
// empty if no agent runs yet.
func (s *modelWatch) logRefusal(r session.Refusal, kind audit.Type, data func() any) session.EventID {
	id := s.counters.addRefusal(r, func(counted session.Refusal) session.EventID {
		if counted.Target != r.Target || counted.Reason != r.Reason {
			counted.Times = 1
			return s.audit(audit.AccessRefused, counted)
		}
		return s.audit(kind, data())
	})
	s.publishing.trigger()
	return id
}
