package egress

import (
	"context"
	"io"
	"time"

	"aibox/netguard"
)

// methodSSHAgent is the method of events about requests to the user's ssh-agent.
const methodSSHAgent = "SSH-AGENT"

// ruleSSHAgent is the rule that allows these requests.
const ruleSSHAgent = "the setting ssh-agent"

// serveSSHAgent serves requests to the user's ssh-agent. They reach no host.
func (p *Proxy) serveSSHAgent(ctx context.Context, s *stream) {
	_ = s.conn.SetDeadline(time.Now().Add(p.limits.Hello))
	if _, err := io.WriteString(s.conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	_ = s.conn.SetDeadline(time.Time{})
	ctx, cancel := context.WithTimeout(ctx, p.limits.Lifetime)
	defer cancel()
	p.config.SSHAgent.Serve(ctx, &bufferedConn{Conn: s.conn, stream: s}, p.unreachableLogin, p.recordSSHAgent)
}

// unreachableLogin returns why the session may not log in to a server, or "": the policy must
// allow the server, or the user has allowed a tunnel to it that is open.
func (p *Proxy) unreachableLogin(to netguard.Destination) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	verdict := p.policy.Decide(to)
	if verdict.Allowed {
		return ""
	}
	for f := range p.flows {
		if f.to == to {
			return ""
		}
	}
	return verdict.Reason.String()
}

// recordSSHAgent records a request to the user's ssh-agent.
func (p *Proxy) recordSSHAgent(to netguard.Destination, what, refusal string) {
	if to.Host.IsZero() {
		to = netguard.SSHAgent()
	}
	e := Event{Kind: Allowed, Time: time.Now(), Destination: to, Host: to.Host.String(), Method: methodSSHAgent, Rule: ruleSSHAgent + ", " + what, Code: "ssh-agent"}
	if refusal != "" {
		e.Kind, e.Rule, e.Reason = Refused, ruleSSHAgent, refusal
	}
	id, recorded := p.recorder.add(e, false)
	if refusal == "" {
		p.count(e, recorded && id != "")
	}
}
