package branch

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/sorting"
	"aibox/review"
	"aibox/review/userrepo"
	"aibox/workspace"
)

// The files of submodules are compared, shown and chosen like any others: the trees of a
// change set contain them in place of the submodules' commits. Only a delivery to a branch
// separates them again. Each submodule with changes gets its own branch, on top of the
// commit that the work in it started from, and the outer repository records the tip of that
// branch.

// Module describes the delivered work in a submodule.
type Module struct {
	Path        review.Path `json:"path"`
	Repo        string      `json:"repo"`   // its folder in the user's working tree, or its git directory
	Branch      string      `json:"branch"` // without refs/heads/
	Commit      string      `json:"commit"`
	Uncommitted string      `json:"uncommitted,omitempty"` // the commit below it that holds the user's uncommitted work
	Tree        string      `json:"tree"`                  // the tree that Commit was made of, with the agent's unconverted files

	was string // commit that Branch pointed to before; empty if it is new
}

// moduleAt returns the earlier delivery to the submodule at path; nil if there was none.
func moduleAt(modules []Module, path string) *Module {
	if i := slices.IndexFunc(modules, func(m Module) bool { return m.Path.Raw() == path }); i >= 0 {
		return &modules[i]
	}
	return nil
}

// splitting divides one delivery by submodules.
type splitting struct {
	*Delivery
	joined string            // the commit that the work was compared with
	flat   string            // the tree that is delivered, with the files of submodules
	links  map[string]string // per submodule settled so far: the commit that is recorded of it
	made   []Module
}

// split delivers the changes in submodules, innermost first, and leaves the rest of the
// delivery without their files. It also returns the earlier deliveries, and a function that
// undoes its own.
func (d *Delivery) split(ctx context.Context) (all []Module, undo func(context.Context) error, err error) {
	s := &splitting{Delivery: d, joined: d.Joined, flat: d.Tree, links: map[string]string{}}
	undo = s.undo
	for _, m := range slices.Backward(d.Modules) {
		if err := s.module(ctx, m); err != nil {
			return nil, undo, err
		}
	}
	if d.Tree, err = s.tree(ctx, ""); err != nil {
		return nil, undo, err
	}
	around, err := d.From.Line(ctx, "rev-parse", d.Joined+"^1", d.Joined+"^1^{tree}")
	if err != nil {
		return nil, undo, fmt.Errorf("reading what the work started from: %s", git.Message(err))
	}
	start, tree, _ := strings.Cut(around, "\n")
	if d.Cleaning.Base = tree; d.Parent == d.Joined {
		d.Parent = start
	}
	all = slices.Clone(s.made)
	for _, m := range d.Earlier {
		if moduleAt(all, m.Path.Raw()) == nil {
			all = append(all, m)
		}
	}
	sorting.Func(all, func(a, b *Module) int { return strings.Compare(a.Path.Raw(), b.Path.Raw()) })
	return all, undo, nil
}

// module delivers the changes in one submodule, if there are any.
func (s *splitting) module(ctx context.Context, m workspace.Module) error {
	s.links[m.Path] = m.Head
	was, err := s.subtree(ctx, s.joined, m.Path)
	if err != nil {
		return err
	}
	is, err := s.subtree(ctx, s.flat, m.Path)
	if err != nil || is == was {
		return err
	}
	tree, err := s.tree(ctx, m.Path)
	if err != nil {
		return err
	}
	earlier := moduleAt(s.Earlier, m.Path)
	if earlier != nil && earlier.Tree == tree {
		s.links[m.Path] = earlier.Commit
		return nil
	}
	to := &Delivery{
		From: s.From, To: m.Git(), Repo: m.Repo, Owner: s.Owner, Tree: tree, Parent: m.BaseCommit(), Message: s.Message, Who: s.Who,
		branch: s.branch, prefer: s.prefer, DryRun: s.DryRun,
	}
	if m.Repo == "" {
		to.Repo = m.GitDir
	}
	if to.Cleaning, err = s.clean(ctx, m); err != nil {
		return err
	}
	if s.tip != "" {
		to.branch, to.prefer = "", []string{s.branch, strings.ReplaceAll(s.branch, "/", "-")}
	}
	if s.Keep != "" {
		sum := sha256.Sum256([]byte(m.Path))
		to.Keep = s.Keep + "-" + hex.EncodeToString(sum[:6])
	}
	made := Module{Path: review.Path(m.Path), Repo: to.Repo, Tree: tree}
	if earlier != nil && to.continuesBranch(ctx, PriorCommit{Branch: earlier.Branch, Commit: earlier.Commit, Tree: earlier.Tree}) {
		made.was = earlier.Commit
	} else if m.Uncommitted != "" {
		made.Uncommitted = m.Uncommitted
	}
	delivered, err := to.Run(ctx)
	if err != nil {
		return fmt.Errorf("submodule %s: %w", made.Path, err)
	}
	if s.DryRun {
		return nil
	}
	made.Branch, made.Commit = delivered.Branch, delivered.Commit
	s.links[m.Path] = made.Commit
	s.made = append(s.made, made)
	return nil
}

// clean returns the Cleaner for the submodule's repository.
func (s *splitting) clean(ctx context.Context, m workspace.Module) (*Cleaner, error) {
	base, err := s.From.Line(ctx, "rev-parse", "--verify", m.BaseCommit()+"^{tree}")
	if err != nil {
		return nil, fmt.Errorf("reading what the work in submodule %s started from: %s", review.Path(m.Path), git.Message(err))
	}
	c := *s.Cleaning
	c.Repo, c.of, c.Base, c.prefix, c.earlier, c.user = m.Repo, m.GitDir, base, m.Path+"/", nil, userrepo.Settings{}
	c.Uncommitted = c.Uncommitted || m.Uncommitted != ""
	return &c, nil
}

// subtree is the tree of the folder path; an empty tree when there is no such folder.
func (s *splitting) subtree(ctx context.Context, treeish, path string) (string, error) {
	object := treeish + "^{tree}"
	if path != "" {
		object = treeish + ":" + path
	}
	id, err := s.From.Line(ctx, "rev-parse", "--verify", "--quiet", object)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return s.From.Line(ctx, "mktree")
	}
	if kind, err := s.From.Line(ctx, "cat-file", "-t", id); err != nil || kind != "tree" {
		return "", errors.Join(err, fault.New(fault.Conflict, "%s is a submodule in your repository, and cannot become a file", review.Path(path)).
			Hint("leave that file out; to remove a submodule: git rm %s", review.Path(path)))
	}
	return id, nil
}

// tree is the tree of the submodule at path, "" being the repository around all of them,
// with the commits of inner submodules in place of their files.
func (s *splitting) tree(ctx context.Context, path string) (string, error) {
	tree, err := s.subtree(ctx, s.flat, path)
	if err != nil {
		return "", err
	}
	c := git.Commit{
		Ref: review.RefPrefix(s.Session) + "split-" + rand.Text(), Tree: tree, Message: "Without the files of submodules\n",
		Who: review.Signature(time.Now()),
	}
	for _, m := range s.Modules {
		if s.around(m.Path) == path {
			inner := m.Path
			if path != "" {
				inner = strings.TrimPrefix(m.Path, path+"/")
			}
			c.Put = append(c.Put, git.Entry{Mode: git.Submodule, ID: s.links[m.Path], Path: inner})
		}
	}
	if len(c.Put) == 0 {
		return tree, nil
	}
	if _, tree, err = s.From.ImportCommit(ctx, c); err != nil {
		return "", fmt.Errorf("taking submodules apart: %s", git.Message(err))
	}
	return tree, s.From.Run(ctx, nil, nil, "update-ref", "--no-deref", "-d", c.Ref)
}

// around returns the submodule that contains the one at path, or "".
func (s *splitting) around(path string) string {
	found := ""
	for _, m := range s.Modules {
		if m.In(path) && len(m.Path) > len(found) {
			found = m.Path
		}
	}
	return found
}

// undo removes or moves back the branches of this delivery.
func (s *splitting) undo(ctx context.Context) error {
	var errs []error
	for _, m := range slices.Backward(s.made) {
		i := slices.IndexFunc(s.Modules, func(module workspace.Module) bool { return module.Path == m.Path.Raw() })
		if err := resetBranch(ctx, s.Modules[i].Git(), m.Branch, m.Commit, m.was); err != nil {
			errs = append(errs, fmt.Errorf("taking the branch %s of submodule %s back: %s", m.Branch, m.Path, git.Message(err)))
		}
	}
	return errors.Join(errs...)
}
