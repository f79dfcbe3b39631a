package app

import (
	"path/filepath"
	"slices"

	"aibox/app/agentsession"
	"aibox/app/run"
	"aibox/config"
	"aibox/internal/paths"
	"aibox/session"
	"aibox/session/manager"
)

// AgentSessions returns the use cases of agents' sessions for programs, under a policy.
// base has settings for all of them.
func (a *App) AgentSessions(sessions *manager.Manager, base config.RunOverrides, policy agentsession.Policy) (*agentsession.Service, error) {
	trees, err := a.Trees(sessions)
	if err != nil {
		return nil, err
	}
	return &agentsession.Service{
		Sessions: sessions, Runner: func() *run.Runner { return a.Runner(sessions) },
		Base: base, Verification: a.VerifyRequest, Policy: policy, Trees: trees,
	}, nil
}

// Trees returns the trees that tenants have uploaded.
func (a *App) Trees(sessions *manager.Manager) (agentsession.Trees, error) {
	dirs, err := paths.Default()
	if err != nil {
		return agentsession.Trees{}, err
	}
	return agentsession.Trees{Dir: filepath.Join(dirs.Data, "trees"), InUse: func(repository string) bool {
		all, err := sessions.List()
		return err != nil || slices.ContainsFunc(all, func(s session.Session) bool { return s.Repository == repository })
	}}, nil
}
