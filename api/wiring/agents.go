package wiring

import (
	"aibox/api/sessions"
	"aibox/app/agentsession"
	"aibox/config"
	"aibox/session"
)

// agentPolicy returns the policy for the requests of a tenant of the API. The machine's user can do what the
// command line can. Any other tenant works on trees that it uploads, with settings that are
// at most as free as the user's own.
func agentPolicy(tenant session.Tenant) agentsession.Policy {
	own := tenant == session.LocalTenant
	return agentsession.Policy{Tenant: tenant, AnyRepository: own, AnySettings: own, AcceptRisks: true}
}

// agents returns the use cases of agents' sessions under a policy.
func (s *API) agents(policy agentsession.Policy) (*agentsession.Service, error) {
	service, err := s.app.AgentSessions(s.Sessions, config.RunOverrides{}, policy)
	if err != nil {
		return nil, err
	}
	service.Defaults = s.Store.Defaults
	if policy.Tenant != session.LocalTenant {
		service.Claim, service.Count = s.enforcer.Claim, s.enforcer.Count
		service.Trees.Room = func(tenant session.Tenant) agentsession.Room { return s.enforcer.ReserveDisk(tenant) }
	}
	return service, nil
}

// sessionsHandler serves the service Sessions.
func (s *API) sessionsHandler() *sessions.Handler {
	return &sessions.Handler{
		Cases: func(tenant session.Tenant) (*agentsession.Service, error) {
			return s.agents(agentPolicy(tenant))
		},
		Creations: s.creations,
		Agents:    s.app.Agents(),
	}
}

// agentsOf returns the tenant's sessions of agents that count.
func (s *API) agentsOf(tenant session.Tenant) ([]session.Session, error) {
	if tenant == session.LocalTenant { // the user's own sessions count against no quota
		return nil, nil
	}
	service := &agentsession.Service{Sessions: s.Sessions, Policy: agentsession.Policy{Tenant: tenant, AnyRepository: true}}
	return service.Countable()
}
