package agentsession

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"aibox/agents"
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
	Agent      string // empty means the user's default agent
	Repository string // an absolute path or a URL; empty with Resumes or Tree
	Tree       string // an uploaded tree, in place of Repository
	Branch     string // a branch, tag or commit; empty means the checked-out one
	Prompt     string
	Resumes    session.ID // continue the work and the conversation of this session, with the feedback on it
	Settings   config.RunOverrides
	Options    map[string]string // the agent's own options
	Args       []string          // for the agent, after its own arguments; or the command of the agent "shell"
	Metadata   map[string]string // not interpreted by aibox; lists can be filtered by it
	// RecordID, which may be nil, is called with the session's id before any of its files
	// exist. An error cancels the start.
	RecordID func(ctx context.Context, id session.ID) error
}

// freeSettings are the settings that any caller can choose, independent of the user's own.
var freeSettings = []string{"model"}

// Start starts a session and returns when its agent runs or the session waits in the queue.
// step, which may be nil, receives each stage. If Start fails or ctx ends, the session is
// removed.
func (s *Service) Start(ctx context.Context, request Request, step func(session.Step)) (session.Session, error) {
	var defaults config.RunOverrides
	if s.Defaults != nil {
		var err error
		if defaults, err = s.Defaults(ctx, s.Policy.Tenant); err != nil {
			return session.Session{}, err
		}
	}
	settings, err := s.settings(defaults, request.Settings)
	if err != nil {
		return session.Session{}, err
	}
	asked := run.Request{
		Agent: request.Agent, Repository: request.Repository, Branch: request.Branch, Prompt: request.Prompt,
		Resumes: string(request.Resumes), Settings: settings, Options: request.Options, Args: request.Args, Detached: true,
	}
	if err := s.resolveSource(&asked, request.Tree); err != nil {
		return session.Session{}, err
	}
	if err := checkMetadata(request.Metadata); err != nil {
		return session.Session{}, err
	}
	if err := s.checkSettings(request.Settings); err != nil {
		return session.Session{}, err
	}
	runner := s.Runner()
	runner.Foreign = s.Policy.Tenant != session.LocalTenant
	plan, err := runner.Resolve(asked)
	if err != nil {
		return session.Session{}, err
	}
	if err := s.checkBound(runner, &request, settings, defaults, &plan); err != nil {
		return session.Session{}, err
	}
	plan.Launch.Spec.Metadata, plan.Launch.RecordID = request.Metadata, request.RecordID
	if s.Policy.Tenant != session.LocalTenant {
		if err := s.separate(&plan, request.Options); err != nil {
			return session.Session{}, err
		}
	}
	if s.Claim != nil {
		release, err := s.Claim(ctx, s.Policy.Tenant, &plan.Launch.Spec)
		if err != nil {
			return session.Session{}, err
		}
		defer release()
	}
	id, err := runner.Start(ctx, plan, run.Callbacks{Step: step})
	if err != nil {
		return session.Session{}, err
	}
	return s.Find(id)
}

// settings returns the settings of a session: the base, then the tenant's defaults, then those
// given.
func (s *Service) settings(defaults, given config.RunOverrides) (config.RunOverrides, error) {
	settings := s.Base.Clone()
	for _, more := range []config.RunOverrides{defaults, given} {
		if err := settings.Merge(more); err != nil {
			return settings, err
		}
	}
	return settings, nil
}

// resolveSource checks what the session works on: a session of the tenant, a tree that it
// uploaded, or a repository that the policy allows.
func (s *Service) resolveSource(request *run.Request, tree string) (err error) {
	if strings.Contains(request.Agent, ",") {
		return fault.New(fault.Usage, "%q names several agents", request.Agent).Hint("start one session for each")
	}
	if request.Resumes != "" {
		_, err := s.Find(session.ID(request.Resumes))
		return err // run refuses a repository or a branch
	}
	switch repository := request.Repository; {
	case tree != "" && repository != "":
		return fault.New(fault.Usage, "a repository and an uploaded tree were given").Hint("keep one of them")
	case tree != "":
		request.Repository, err = s.Trees.Repository(s.Policy.Tenant, tree)
		return err
	case repository == "":
		return fault.New(fault.Usage, "no repository was given").Hint("name the absolute path of a git repository")
	case !workspace.IsURL(repository) && !filepath.IsAbs(repository):
		return fault.New(fault.Usage, "the repository must be an absolute path, not %s", termtext.Escape(repository))
	case s.Policy.AnyRepository || s.allowsRepository(repository):
		return nil
	default:
		refused := fault.New(fault.Refused, "agents cannot run on %s here: it is not one of the allowed repositories (%s)", termtext.Escape(repository), s.allowedRepositories())
		if s.Policy.Tenant == session.LocalTenant { // other tenants have no repositories of the user
			refused = refused.Hint("the user can allow it with --repo, where this server is started")
		}
		return refused
	}
}

// allowsRepository reports whether the policy names the repository, or a folder that
// contains it.
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

// checkSettings refuses settings that only the user can choose.
func (s *Service) checkSettings(given config.RunOverrides) error {
	if s.Policy.AnySettings {
		return nil
	}
	for _, key := range given.Keys() {
		field, ok := spec.Lookup(config.Run{}, key)
		if !slices.Contains(freeSettings, key) && (!ok || key == "env" || !isOrdered(field)) {
			return fault.New(fault.Refused, "the setting %q can only be chosen by the user", key).Hint("leave it out")
		}
	}
	return nil
}

// isOrdered reports whether a value of the setting can be less restrictive than another
// one.
func isOrdered(field spec.Field) bool {
	return field.Scope == spec.AtMost || field.Scope == spec.AtLeast
}

// checkBound refuses a plan that is freer than one with the user's own settings and freer than
// one with the tenant's defaults, unless the policy allows that. It compares what the request
// comes to, so that nothing that one setting implies for another is missed.
func (s *Service) checkBound(runner *run.Runner, request *Request, given, defaults config.RunOverrides, plan *run.Plan) error {
	if s.Policy.AnySettings {
		return nil
	}
	if err := checkOptions(runner, request.Options, plan); err != nil {
		return err
	}
	refused := s.checkWithin(runner, request, given, plan, s.Base)
	if refused == nil || defaults.IsZero() {
		return refused
	}
	bound, err := s.settings(defaults, config.RunOverrides{})
	if err != nil {
		return err
	}
	if s.checkWithin(runner, request, given, plan, bound) == nil {
		return nil
	}
	return refused
}

// checkOptions refuses options of the agent that are freer than those that the user has set.
func checkOptions(runner *run.Runner, given map[string]string, plan *run.Plan) error {
	name := plan.Launch.Spec.Agent
	agent, err := runner.User.Agents().Find(name)
	if err != nil {
		return err
	}
	options := agents.Options(agent)
	for _, own := range plan.Settings.Agent(name) {
		text, isGiven := given[own.Field.Key]
		if !isGiven || !isOrdered(own.Field) {
			continue
		}
		if err := own.Field.Set(options, text); err != nil {
			return err
		}
		next := own.Field.Value(options)
		before, _ := own.Value.([]string)
		after, isList := next.([]string)
		// Without a list, the agent would use its own, which may be longer.
		isEmptied := isList && len(after) == 0 && len(before) > 0
		if isEmptied || own.Field.Tightens(own.Value, next) != nil {
			return fault.New(fault.Refused, "the option %q of %s can be at most as free as in the user's settings, where it is %s", own.Field.Key, name, own.Text()).
				Hint("leave it out")
		}
	}
	return nil
}

// checkWithin refuses a plan with the given settings that is freer than one with the settings
// bound.
func (s *Service) checkWithin(runner *run.Runner, request *Request, given config.RunOverrides, plan *run.Plan, bound config.RunOverrides) error {
	own, err := runner.ResolveDefaults(run.Request{
		Agent: plan.Launch.Spec.Agent, Repository: plan.Launch.Spec.Repository, Settings: bound, Detached: true,
	})
	if err != nil {
		return err
	}
	free := slices.Clone(freeSettings)
	for _, field := range config.RunFields() {
		switch {
		case request.Resumes != "" && !isOrdered(field): // the user chose it for the resumed session
			free = append(free, field.Key)
		case field.Auto != "" && !given.Has(field.Key): // it depends on the machine's state
			free = append(free, field.Key)
		}
	}
	return own.Settings.CheckBound(&plan.Settings.Settings.Run, free...)
}

// separate removes everything that belongs to the machine's user from another tenant's
// plan: variables, registries, secrets, mounts, system prompts, texts of the agent's options that the
// tenant has not given, and agents that run with the user's account at a vendor.
func (s *Service) separate(plan *run.Plan, given map[string]string) error {
	launched := &plan.Launch.Spec
	if len(launched.CloudHosts) > 0 || plan.Login != nil || plan.Launch.Login != "" || len(plan.Launch.Secrets) > 0 || len(launched.Secret) > 0 || len(launched.SSHAgent) > 0 {
		return fault.New(fault.Refused, "%s would run with the account of the machine's user", launched.Agent).Hint("choose an agent that uses the model server")
	}
	launched.Tenant = s.Policy.Tenant
	launched.Env, launched.Mount, launched.System, launched.Prompts = nil, nil, nil, nil
	plan.Launch.Env, plan.Launch.Registries = nil, nil
	if plan.Settings == nil {
		return nil
	}
	for _, own := range plan.Settings.Agent(launched.Agent) {
		_, isGiven := given[own.Field.Key]
		if !isGiven && isUsersText(own.Field) && launched.Options[own.Field.Key] == own.Text() {
			delete(launched.Options, own.Field.Key)
		}
	}
	return nil
}

// isUsersText reports whether an option is a text that only the user can set. It can hold what is the
// user's, such as the token of a server of MCP. Numbers, choices and switches can restrict the agent.
func isUsersText(field spec.Field) bool {
	return field.Scope == spec.User && slices.Contains([]spec.Type{spec.String, spec.Text, spec.Path, spec.List}, field.Type)
}

// The limits of metadata.
const (
	maxMetadata     = 64      // number of entries
	maxMetadataText = 1 << 10 // bytes of a key or a value
)

func checkMetadata(metadata map[string]string) error {
	if len(metadata) > maxMetadata {
		return fault.New(fault.Usage, "a session has up to %d entries of metadata, not %d", maxMetadata, len(metadata))
	}
	for key, value := range metadata {
		if key == "" || len(key) > maxMetadataText || len(value) > maxMetadataText {
			return fault.New(fault.Usage, "keys and values of metadata have up to %d bytes, and no key is empty", maxMetadataText)
		}
	}
	return nil
}
