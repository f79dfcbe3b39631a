package agentsession

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/workspace"
)

// Request describes a session to start.
type Request struct {
	Agent      string // empty: the user's default agent
	Repository string // an absolute path or a URL; empty with Resumes
	Branch     string // a branch, tag or commit; empty: what is checked out
	Prompt     string
	Resumes    session.ID // continue the work and the conversation of this session, with the feedback on it
	Settings   config.RunOverrides
	Options    map[string]string // the agent's own options
	Args       []string          // for the agent, after its own; the command of the agent "shell"
}

// freeSettings are the settings that any caller can choose, whatever the user's own are.
var freeSettings = []string{"model"}

// Start starts a session and returns when its agent runs or the session waits in the queue.
// step, which may be nil, receives each stage. If Start fails or ctx ends, nothing of the
// session is left.
func (s *Service) Start(ctx context.Context, request Request, step func(session.Step)) (session.Session, error) {
	asked := run.Request{
		Agent: request.Agent, Repository: request.Repository, Branch: request.Branch, Prompt: request.Prompt,
		Resumes: string(request.Resumes), Settings: request.Settings, Options: request.Options, Args: request.Args, Detached: true,
	}
	if err := s.checkSource(&asked); err != nil {
		return session.Session{}, err
	}
	runner := s.Runner()
	plan, err := runner.Resolve(asked)
	if err != nil {
		return session.Session{}, err
	}
	if err := s.checkPlan(asked, &plan); err != nil {
		return session.Session{}, err
	}
	if s.Policy.Tenant != Local {
		plan.Launch.Spec.Tenant = s.Policy.Tenant
	}
	id, err := runner.Start(ctx, plan, run.Callbacks{Step: step})
	if err != nil {
		return session.Session{}, err
	}
	return s.Find(id)
}

// checkSource checks what the session works on: a session of the tenant, or a repository
// that the policy allows.
func (s *Service) checkSource(request *run.Request) error {
	if strings.Contains(request.Agent, ",") {
		return fault.New(fault.Usage, "%q names several agents", request.Agent).Hint("start one session for each")
	}
	if request.Resumes != "" {
		_, err := s.Find(session.ID(request.Resumes))
		return err // run refuses a repository or a branch
	}
	switch repository := request.Repository; {
	case repository == "":
		return fault.New(fault.Usage, "no repository was given").Hint("name the absolute path of a git repository")
	case !workspace.IsURL(repository) && !filepath.IsAbs(repository):
		return fault.New(fault.Usage, "the repository must be an absolute path, not %s", termtext.Escape(repository))
	case s.Policy.AnyRepository || s.allowsRepository(repository):
		return nil
	default:
		return fault.New(fault.Refused, "agents cannot run on %s here: it is not one of the allowed repositories (%s)", termtext.Escape(repository), s.allowedRepositories()).
			Hint("the user can allow it with --repo, where this server is started")
	}
}

// allowsRepository reports whether the policy names the repository, or a folder that it is
// in.
func (s *Service) allowsRepository(repository string) bool {
	if workspace.IsURL(repository) {
		return slices.Contains(s.Policy.Repositories, repository)
	}
	top, err := filepath.EvalSymlinks(repository)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(s.Policy.Repositories, func(allowed string) bool {
		if workspace.IsURL(allowed) {
			return false
		}
		folder, err := filepath.EvalSymlinks(allowed)
		if err != nil {
			return false
		}
		inside, err := filepath.Rel(folder, top)
		return err == nil && filepath.IsLocal(inside)
	})
}

func (s *Service) allowedRepositories() string {
	if len(s.Policy.Repositories) == 0 {
		return "none"
	}
	return termtext.Escape(strings.Join(s.Policy.Repositories, ", "))
}

// checkPlan refuses settings that are freer than the user's own, unless the policy allows
// them. It compares what the request comes to, so that nothing that one setting implies
// for another is missed.
func (s *Service) checkPlan(request run.Request, plan *run.Plan) error {
	if s.Policy.AnySettings {
		return nil
	}
	for _, key := range request.Settings.Keys() {
		field, ok := spec.Lookup(config.Run{}, key)
		if slices.Contains(freeSettings, key) {
			continue
		}
		if !ok || key == "env" || field.Scope != spec.AtMost && field.Scope != spec.AtLeast {
			return fault.New(fault.Refused, "the setting %q can only be chosen by the user", key).Hint("leave it out")
		}
	}
	own, err := s.Settings(plan.Launch.Spec.Repository, config.Override{Key: "agent", Name: "the agent", Value: plan.Launch.Spec.Agent})
	if err != nil {
		return err
	}
	return own.CheckBound(&plan.Settings.Settings.Run, freeSettings...)
}
