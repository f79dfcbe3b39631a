package app

import (
	"aibox/app/agentsession"
	"aibox/app/run"
	"aibox/config"
	"aibox/session"
)

// AgentSessions returns the use cases of agents' sessions for programs, under a policy.
// base are settings for all of them.
func (a *App) AgentSessions(sessions *session.Sessions, base config.RunOverrides, policy agentsession.Policy) *agentsession.Service {
	return &agentsession.Service{
		Sessions: sessions, Runner: func() *run.Runner { return a.Runner(sessions) },
		Base: base, Verification: a.VerifyRequest, Policy: policy,
	}
}
