package app

import (
	"aibox/app/agentsession"
	"aibox/app/run"
	"aibox/session"
)

// AgentSessions returns the use cases of agents' sessions for programs, under a policy.
func (a *App) AgentSessions(sessions *session.Sessions, policy agentsession.Policy) *agentsession.Service {
	return &agentsession.Service{
		Sessions: sessions, Runner: func() *run.Runner { return a.Runner(sessions) },
		Settings: a.Settings, Verification: a.VerifyRequest, Policy: policy,
	}
}
