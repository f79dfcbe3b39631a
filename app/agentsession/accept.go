package agentsession

import (
	"cmp"
	"context"
	"errors"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/branch"
	"aibox/review/decision"
	"aibox/session"
	"aibox/session/description"
	"aibox/session/manager"
)

// AcceptRequest selects the part of a session's changes that is accepted.
type AcceptRequest struct {
	Files   []string // paths, folders or globs
	Hunks   []string // ids of hunks or unique prefixes of ids; ID:3-5 selects lines
	All     bool     // everything but files with risks and rejected hunks
	Risky   []string // files that are accepted despite their risks
	Branch  string   // branch; empty means aibox/ID
	Bundle  bool     // deliver a git bundle with the branch, and change nothing in the user's repository
	Message string   // message of the commit; empty means a description of the work
	// Digest is the Tree of the change set that was read. If it differs, the error is a
	// Conflict. Empty skips this check.
	Digest string
}

// Accepted describes the work that an accept delivered.
type Accepted struct {
	*accept.Result
	Remaining manager.Remaining
	Bundle    []byte // set if it was requested
}

// Accept delivers a part of a session's changes as a commit on a branch of its repository, or
// as a git bundle.
// Working tree, index and HEAD of the repository do not change.
func (s *Service) Accept(ctx context.Context, id session.ID, request AcceptRequest) (Accepted, error) {
	changes, err := s.Changes(ctx, id)
	if err != nil {
		return Accepted{}, err
	}
	choice := review.Choice{All: request.All, Files: request.Files, Hunks: request.Hunks, Risky: request.Risky}
	switch {
	case request.Digest != "" && request.Digest != changes.Set.Tree:
		return Accepted{}, fault.New(fault.Conflict, "the changes of %s are not those that were read", id).Hint("read them again")
	case len(request.Risky) > 0 && !s.Policy.AcceptRisks:
		return Accepted{}, fault.New(fault.Refused, "files with risks can only be accepted by the user").
			Hint("the user reviews and accepts them: aibox accept %s --accept-risky FILE", id)
	case choice.Empty():
		return Accepted{}, fault.New(fault.Usage, "nothing was selected").Hint("name files or hunks, or select all")
	case choice.All && len(choice.Files)+len(choice.Hunks) > 0:
		return Accepted{}, fault.New(fault.Usage, "all changes and some of them were selected at once").Hint("keep one of the two")
	}
	if choice, err = s.Sessions.WithoutRejected(ctx, id, changes.Set, choice); err != nil {
		return Accepted{}, err
	}
	message := request.Message
	if message == "" {
		if message, err = s.message(ctx, &changes, choice, request.Branch); err != nil {
			return Accepted{}, err
		}
	}
	verification, err := s.Verification(changes.Session, manager.VerifyRequest{})
	if err != nil {
		return Accepted{}, err
	}
	target := accept.ToBranch
	if request.Bundle && s.isUsers(changes.Session.Repository) {
		target = accept.ToBundle
		if err := branch.CheckName(request.bundleBranch(id)); err != nil {
			return Accepted{}, err
		}
	}
	options := accept.Options{
		Choice: choice, Target: target, Branch: request.Branch, Message: message,
		Verify: s.Sessions.Verifier(changes.Session, verification),
		Own:    s.Trees.holds(s.Policy.Tenant, changes.Session.Repository), Bundled: request.Bundle,
	}
	var bundle []byte
	if request.Bundle { // without its bundle, nothing is accepted
		options.Confirm = func(ctx context.Context, done accept.Result) (err error) {
			if target == accept.ToBundle {
				done.Branch = request.bundleBranch(id)
			}
			bundle, err = s.bundle(ctx, &changes.Session, &done)
			return err
		}
	}
	done, err := s.Sessions.AcceptSet(ctx, id, changes.Set, options)
	if errors.Is(err, review.ErrNothing) {
		return Accepted{}, fault.New(fault.Usage, "%s has no such changes that are not accepted yet", id)
	}
	if err != nil {
		return Accepted{}, err
	}
	if target == accept.ToBundle && done.Files > 0 {
		done.Branch = request.bundleBranch(id)
	}
	accepted := Accepted{Result: done, Bundle: bundle}
	accepted.Remaining, err = s.Sessions.Remaining(id, changes.Set)
	return accepted, err
}

// bundleBranch returns the name of the branch in a bundle.
func (r *AcceptRequest) bundleBranch(id session.ID) string {
	return cmp.Or(r.Branch, "aibox/"+string(id))
}

// message describes the chosen changes for a commit on a branch; an empty name means the default.
func (s *Service) message(ctx context.Context, changes *Changes, choice review.Choice, branch string) (string, error) {
	decisions, err := s.Sessions.Decisions(changes.Session.ID)
	if err != nil {
		return "", err
	}
	plan, err := decision.NewPlan(ctx, changes.Set, choice, decisions.Delivered(accept.ToBranch, branch))
	if err != nil {
		return "", err
	}
	return description.Of(changes.Session, plan.Part, changes.Verifications).Message, nil
}
