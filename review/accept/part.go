package accept

import (
	"cmp"
	"context"
	"slices"

	"aibox/internal/git"
	"aibox/review"
	"aibox/review/branch"
	"aibox/workspace"
)

// part is the chosen part of a change set.
type part struct {
	before *Prior            // the work that it is based on
	all    *review.Selection // all that was taken, now and before
	left   []review.LeftOut  // chosen, but left out because of their risks
	tree   string            // tree: the baseline with everything that was taken
	files  int               // how many files it adds
}

// selectPart returns the part that opts choose; ErrNothing when it was delivered before.
func selectPart(ctx context.Context, ws *workspace.Workspace, cs *review.ChangeSet, opts Options) (*part, error) {
	before := opts.Prior
	if !before.Continues(opts.Target, opts.Branch) {
		before = nothing(cs)
	}
	chosen, err := cs.SelectAfter(ctx, opts.Choice, before.Selection)
	if err != nil {
		return nil, err
	}
	if chosen.Empty() && len(chosen.Left) == 0 {
		return nil, review.ErrNothing
	}
	names := cs.Names()
	chosen.Left = slices.DeleteFunc(chosen.Left, func(l review.LeftOut) bool { // taken before, explicitly by name
		t := before.Selection.At(l.Path)
		return t != nil && t.Whole && t.Fits(names.At(l.Path))
	})
	p := &part{before: before, all: before.Selection.Union(chosen), left: chosen.Left, tree: before.Tree}
	if chosen.Empty() {
		return p, nil
	}
	if p.tree, err = cs.TreeAfter(ctx, ws.Owner(), before.Selection, before.Tree, chosen); err != nil {
		return nil, err
	}
	if p.tree == before.Tree && !before.delivered(opts.Target) {
		p.before = nothing(cs)
	}
	if p.empty() {
		return nil, review.ErrNothing
	}
	p.files = p.all.CountBeyond(p.before.Selection)
	return p, nil
}

// empty reports whether risks leave out everything.
func (p *part) empty() bool { return p.tree == p.before.Tree }

// delivery returns the delivery of the part, without a message.
func (p *part) delivery(ctx context.Context, ws *workspace.Workspace, cs *review.ChangeSet, opts Options) *branch.Delivery {
	return &branch.Delivery{
		From: git.Owned(ws.GitDir), To: git.User(ws.Repo), Repo: ws.Repo, Owner: ws.Owner(),
		Tree: p.tree, Parent: ws.BaseCommit(), Who: workspace.Identity(ctx, ws),
		Keep: review.RefPrefix(ws.Session) + "accepted-" + opts.Target.String(), Session: ws.Session,
		Modules: ws.Modules, Joined: ws.Joined, Earlier: p.before.Modules,
		Cleaning: &branch.Cleaner{
			GitDir: ws.GitDir, Session: ws.Session, Owner: ws.Owner(), Repo: ws.Repo, Base: ws.BaseTree, Folded: cs.Listed != "", AsStored: ws.AsStored,
			Uncommitted: ws.Uncommitted != "", Consent: consent(cs, opts.Choice.Risky), Limit: opts.FilterTime,
			Own: opts.Own, Bundled: opts.Bundled || opts.Target == ToBundle,
		},
	}
}

// consent returns the paths that the user accepts by these names, despite their risks.
func consent(cs *review.ChangeSet, accepted []string) []string {
	names, paths := cs.Names(), []string{}
	for _, name := range accepted {
		if c := names.Named(name); c != nil {
			paths = append(paths, c.Path.Raw())
		}
	}
	return paths
}

// delivered reports whether a branch or a bundle of the session has the work, or the working tree.
func (p *Prior) delivered(to Target) bool {
	switch to {
	case ToBranch:
		return p.Commit != ""
	case ToBundle:
		return !p.Inherited
	default:
		return true
	}
}

// commit returns the commit that holds the work.
func (p *Prior) commit() branch.PriorCommit {
	return branch.PriorCommit{Branch: p.Branch, Commit: p.Commit, Tree: cmp.Or(p.CommitTree, p.Tree)}
}
