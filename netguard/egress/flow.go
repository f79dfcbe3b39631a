package egress

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"aibox/netguard"
)

// flow is one allowed request or tunnel, from its decision to its end.
type flow struct {
	proxy  *Proxy
	to     netguard.Destination
	method string
	path   string
	rule   string
	// request is the request that the policy decides about; nil for a tunnel.
	request *netguard.Request
	// outer is the tunnel that the request came through, or nil.
	outer *flow
	// counted reports that the flow takes one of its host's places, and requests are the open requests
	// in a tunnel, which take places in its stead. They belong to proxy.mu.
	counted  bool
	requests int
	// opaque reports that the tunnel is relayed without reading its requests. It belongs to
	// proxy.mu.
	opaque bool
	// forward is the path to forward, set when the request was decided.
	forward string
	began   time.Time
	// once reports that the user allowed this request, though the policy does not.
	once bool
	// cancel ends the flow's context; the cause is a *refusal if the proxy ends the flow.
	cancel context.CancelCauseFunc

	up, down atomic.Int64

	address netip.Addr // belongs to proxy.mu

	noted    sync.Once
	id       string // of its Allowed event
	recorded bool   // that event was not left out
}

// begin decides about a request, waits for the user if necessary, and registers the flow.
// The returned context ends with the flow. The caller calls end. header is nil for CONNECT.
func (p *Proxy) begin(ctx context.Context, s *stream, h head, path string, header http.Header, to netguard.Destination) (context.Context, *flow, *refusal) {
	f := &flow{proxy: p, to: to, method: h.method, path: path, outer: flowOf(ctx), began: time.Now(), once: s.once}
	if header != nil {
		f.request = &netguard.Request{Destination: to, TLS: s.https, Method: h.method, Path: path, Header: header}
	}
	flowContext, cancel := context.WithCancelCause(ctx)
	f.cancel = cancel
	verdict, problem := p.register(f)
	if problem != nil && verdict.Reason.Askable() && p.config.Ask != nil && s.reader != nil {
		if problem = p.ask(ctx, s, f, Question{Destination: to, Method: h.method, Path: path, Verdict: verdict}, problem); problem == nil {
			f.once = true
			_, problem = p.register(f)
		}
	}
	if problem != nil {
		f.cancel(problem)
		return ctx, nil, problem
	}
	return context.WithValue(flowContext, flowKey{}, f), f, nil
}

// stop ends the flow because of a rule of the proxy.
func (f *flow) stop(why *refusal) { f.cancel(why) }

type flowKey struct{}

// flowOf returns the flow that ctx belongs to, or nil.
func flowOf(ctx context.Context) *flow {
	f, _ := ctx.Value(flowKey{}).(*flow)
	return f
}

// register decides about f and adds it to the open flows in one step, so that a change of
// the policy never misses a flow that the old policy allowed.
func (p *Proxy) register(f *flow) (netguard.Verdict, *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	verdict, path := f.decide()
	if !verdict.Allowed && !(f.once && verdict.Reason.Askable()) {
		problem := f.refuse(verdict)
		return verdict, problem
	}
	f.forward = path
	n := p.perHost[f.to.Host]
	if f.outer != nil && f.outer.counted && f.outer.to.Host == f.to.Host {
		n-- // the request takes the tunnel's place
	}
	if n >= p.limits.PerHost {
		return netguard.Verdict{}, limited("host-connections", "there are %d connections to this host already, the limit", n)
	}
	if problem := p.budget.exhausted(f.to.Host); problem != nil {
		return netguard.Verdict{}, problem
	}
	if f.outer != nil {
		f.outer.uncount()
		f.outer.requests++
	}
	f.count()
	p.flows[f] = struct{}{}
	f.rule = verdict.Rule.String()
	if f.once {
		f.rule = "approved once"
	}
	return verdict, nil
}

// finallyRefused returns the refusal of the current policy if no answer can allow the flow, or
// else nil.
func (f *flow) finallyRefused() *refusal {
	f.proxy.mu.Lock()
	defer f.proxy.mu.Unlock()
	verdict, _ := f.decide()
	if verdict.Allowed || verdict.Reason.Askable() {
		return nil
	}
	return f.refuse(verdict)
}

// refuse returns the refusal of a verdict about the flow.
func (f *flow) refuse(verdict netguard.Verdict) *refusal {
	problem := refuse(verdict)
	problem.request = f.request
	return problem
}

// decide returns the current policy's verdict about the flow, and the path to forward. The
// caller holds proxy.mu.
func (f *flow) decide() (netguard.Verdict, string) {
	verdict, path := f.decideByPolicy()
	if addr, ok := f.to.Host.Address(); ok && (verdict.Allowed || verdict.Reason.Askable()) {
		if reason := f.proxy.dialer.own.check(addr); reason != 0 {
			return netguard.Verdict{Reason: reason}, "" // so that no user is asked about it
		}
		if f.proxy.dialer.nat64.knows(addr) {
			return netguard.Verdict{Reason: netguard.EmbeddedAddress}, ""
		}
	}
	return verdict, path
}

// decideByPolicy is decide without the addresses of this machine, its networks and their NAT64.
func (f *flow) decideByPolicy() (netguard.Verdict, string) {
	if f.request != nil {
		return f.proxy.policy.DecideRequest(*f.request)
	}
	verdict := f.proxy.policy.Decide(f.to)
	if verdict.Restricted() && (f.opaque || verdict.Rule.Pattern.TLS() && !f.proxy.inspects(f.to)) {
		verdict = netguard.Verdict{Reason: netguard.NotInspected, Rule: verdict.Rule}
	}
	return verdict, ""
}

// setOpaque notes that the tunnel is about to be relayed, and returns a refusal if the
// policy allows only some requests to its destination.
func (f *flow) setOpaque() *refusal {
	f.proxy.mu.Lock()
	defer f.proxy.mu.Unlock()
	f.opaque = true
	return f.recheck()
}

// inspects reports whether TLS connections to d are decrypted.
func (p *Proxy) inspects(d netguard.Destination) bool {
	return p.config.Inspector != nil && p.config.Inspector.Inspects(d)
}

// dial connects to the flow's host.
func (f *flow) dial(ctx context.Context) (net.Conn, netip.Addr, error) {
	if problem := f.chargeName(); problem != nil {
		return nil, netip.Addr{}, problem
	}
	return f.proxy.dialer.dial(ctx, f.to, f.checkAddress)
}

// chargeName charges the session's budget for the name of the flow's host, which queries of both
// families carry to the name servers of its domain, whether it exists or not.
func (f *flow) chargeName() *refusal {
	if _, literal := f.to.Host.Address(); literal {
		return nil
	}
	size := 2 * int64(len(f.to.Host.Name()))
	if problem := f.proxy.budget.chargeName(size); problem != nil {
		return problem
	}
	f.up.Add(size)
	return nil
}

// checkAddress decides about an address of the flow's host.
func (f *flow) checkAddress(addr netip.Addr) netguard.Verdict {
	f.proxy.mu.Lock()
	defer f.proxy.mu.Unlock()
	return f.proxy.policy.DecideAddress(addr, f.to.Port)
}

// connected notes the address of the flow's connection, and returns a refusal if the policy
// has changed against it since it was checked.
func (f *flow) connected(addr netip.Addr) *refusal {
	f.proxy.mu.Lock()
	f.address = addr
	verdict := f.proxy.policy.DecideAddress(addr, f.to.Port)
	f.proxy.mu.Unlock()
	f.note()
	if !verdict.Allowed {
		return refuse(verdict)
	}
	return nil
}

// note records that the flow was allowed, once.
func (f *flow) note() {
	f.noted.Do(func() {
		event := f.event(Allowed)
		f.id, f.recorded = f.proxy.recorder.add(event, false)
		f.proxy.count(event, f.recorded && f.id != "")
	})
}

func (f *flow) event(kind EventKind) Event {
	f.proxy.mu.Lock()
	defer f.proxy.mu.Unlock()
	return Event{
		Kind: kind, Time: time.Now(), Destination: f.to, Host: f.to.Host.String(), Method: f.method, Path: f.path,
		Address: f.address, Rule: f.rule,
	}
}

// count gives the flow a place of its host. The caller holds proxy.mu.
func (f *flow) count() {
	f.counted = true
	f.proxy.perHost[f.to.Host]++
}

// uncount frees the place of the flow, if it has one. The caller holds proxy.mu.
func (f *flow) uncount() {
	if !f.counted {
		return
	}
	f.counted = false
	perHost := f.proxy.perHost
	if perHost[f.to.Host]--; perHost[f.to.Host] == 0 {
		delete(perHost, f.to.Host)
	}
}

// end removes the flow and records its end. why is the reason why the proxy ended it, or nil.
func (f *flow) end(why *refusal) {
	f.cancel(nil)
	p := f.proxy
	p.mu.Lock()
	delete(p.flows, f)
	f.uncount()
	if f.outer != nil {
		f.outer.requests--
		if _, open := p.flows[f.outer]; open && f.outer.requests == 0 {
			f.outer.count() // it waits for the next request, with an open connection
		}
	}
	p.mu.Unlock()
	f.note()
	event := f.event(Closed)
	event.AllowedID, event.Up, event.Down, event.Duration = f.id, f.up.Load(), f.down.Load(), time.Since(f.began)
	if why != nil {
		event.Code, event.Reason = why.code, why.reason
		if why.rule != "" {
			event.Rule = why.rule
		}
	}
	p.recorder.add(event, f.recorded)
	p.count(event, f.recorded && f.id != "")
}

// endCut is end for a flow whose client gets no refusal: what it received seems to end too early. If a
// budget ended it, a refusal is recorded too, so that the user learns why.
func (f *flow) endCut(why *refusal) {
	f.end(why)
	if why != nil && why.budget {
		_ = f.cut(why)
	}
}

// cut records that a flow is refused after it was allowed, and returns the reason.
func (f *flow) cut(problem *refusal) *refusal {
	event := f.event(Refused)
	event.Code, event.Reason, event.Hint = problem.code, problem.reason, problem.hint
	event.Command = f.proxy.command(f.method, f.to, problem)
	f.proxy.recorder.add(event, false)
	return problem
}

// count counts an Allowed or Closed event.
func (p *Proxy) count(e Event, recorded bool) {
	if p.config.Count != nil {
		p.config.Count(e, recorded)
	}
}

// recheck returns the reason why the current policy does not allow the flow, or nil. The
// caller holds proxy.mu.
func (f *flow) recheck() *refusal {
	verdict, _ := f.decide()
	if !verdict.Allowed && !(f.once && verdict.Reason.Askable()) {
		return refuse(verdict)
	}
	if f.address.IsValid() {
		if verdict := f.proxy.policy.DecideAddress(f.address, f.to.Port); !verdict.Allowed {
			return refuse(verdict)
		}
	}
	return nil
}
