// Package agentsession has the use cases of coding agents' sessions for programs: start an
// agent on a repository, follow it, read its changes hunk by hunk, accept parts of them,
// send feedback and stop it. A Service serves one tenant: a session of another tenant is
// reported as missing. It is a thin layer over packages run and session, prints nothing and
// knows no protocol.
package agentsession

import (
	"context"
	"errors"
	"slices"
	"time"

	"aibox/app/run"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"
)

// Service has the use cases for one tenant. It is safe for concurrent use.
type Service struct {
	Sessions *manager.Manager
	// Runner returns a Runner for each start.
	Runner func() *run.Runner
	// Base are settings of all sessions, from the process that started the service. A request
	// can change them as far as the policy allows.
	Base config.RunOverrides
	// Defaults returns the settings of a tenant's sessions that a request does not give; nil
	// means none. Like the user's own settings, they are what the requests of a bounded policy
	// are compared with. If it fails, nothing is started.
	Defaults func(ctx context.Context, tenant session.Tenant) (config.RunOverrides, error)
	// Verification returns the verification that an accept needs; see app.App.VerifyRequest.
	Verification func(of session.Session, request manager.VerifyRequest) (manager.VerifyRequest, error)
	Trees        Trees // the uploaded trees; zero if trees cannot be uploaded
	// Claim counts a session that is about to start against the tenant's quota until release
	// is called, or refuses it; nil means that there is no quota.
	Claim func(ctx context.Context, tenant session.Tenant, spec *session.Spec) (release func(), err error)
	// Count records what the tenant has used, before a session is deleted; nil means that
	// there is no quota. If it fails, nothing is deleted.
	Count  func(ctx context.Context, tenant session.Tenant) error
	Policy Policy
	// Bundle is the maximum size of a bundle in bytes; 0 means MaxBundle.
	Bundle int
}

// Policy restricts the requests of a Service's callers. The zero value is the strictest: it
// serves no tenant, and no repository.
type Policy struct {
	Tenant session.Tenant
	// Repositories are the repositories on which agents can run: absolute paths of their
	// tops, or URLs.
	Repositories []string
	// AnyRepository removes the restriction to Repositories.
	AnyRepository bool
	// AnySettings allows callers to choose less restrictive settings than the user's own.
	AnySettings bool
	// AcceptRisks allows callers to accept files despite their risks, each by its name.
	AcceptRisks bool
}

// Find returns a session of the tenant by its whole id.
func (s *Service) Find(id session.ID) (session.Session, error) {
	if id.Hidden() {
		return session.Session{}, notFound(id)
	}
	found, err := s.Sessions.Find(string(id)) // this includes its place in the queue
	if err != nil || found.ID != id || !s.owns(&found) {
		return session.Session{}, notFound(id)
	}
	return found, nil
}

// owns reports whether a record is a session of the tenant, on a repository that the policy
// allows.
func (s *Service) owns(found *session.Session) bool {
	return s.Policy.Tenant != "" && found.Owner() == s.Policy.Tenant &&
		found.Verifies == nil && !found.IsSandbox() && (s.Policy.AnyRepository || s.Trees.holds(s.Policy.Tenant, found.Repository) || s.allowsRepository(found.Repository))
}

// notFound is the error for a session that does not exist or belongs to another tenant.
func notFound(id session.ID) error {
	if _, err := session.ParseID(string(id)); err != nil {
		return err
	}
	return fault.New(fault.NotFound, "there is no session %s", id)
}

// List returns the tenant's sessions, newest first. It omits damaged records.
func (s *Service) List() []session.Session {
	all, _ := s.Sessions.List() // the error names damaged records, which may belong to another tenant
	return s.own(all)
}

// Countable is List for counting: it fails if a session runs whose record cannot be read, since
// it may be the tenant's.
func (s *Service) Countable() ([]session.Session, error) {
	all, err := s.Sessions.Countable()
	return s.own(all), err
}

// own returns the tenant's sessions among all, newest first.
func (s *Service) own(all []session.Session) []session.Session {
	all = slices.DeleteFunc(all, func(found session.Session) bool { return found.ID.Hidden() || !s.owns(&found) })
	summary.SortByAge(all)
	return all
}

// Stop ends a running session and waits for its end. grace is how long the agent has to end
// by itself; 0 is the default. It is no error if the session has already ended.
func (s *Service) Stop(ctx context.Context, id session.ID, reason string, grace time.Duration) (session.Session, error) {
	if _, err := s.Find(id); err != nil {
		return session.Session{}, err
	}
	return s.Sessions.StopWithin(ctx, id, reason, grace)
}

// Delete removes the record of a session that has ended, and its unaccepted work. A running
// session must be stopped first.
func (s *Service) Delete(ctx context.Context, id session.ID) error {
	if _, err := s.Find(id); err != nil {
		return err
	}
	if s.Count != nil {
		if err := s.Count(ctx, s.Policy.Tenant); err != nil {
			return err
		}
	}
	err := s.Sessions.Remove(ctx, id, true)
	if s.Policy.Tenant != session.LocalTenant && errors.Is(err, manager.ErrUnsaved) {
		return fault.New(fault.Environment, "the session cannot be deleted, because its work cannot be saved first").
			Hint("only the machine's user can delete it: `aibox rm --force %s`", id)
	}
	return err
}
