// Package branch delivers a tree to a branch of the user's repository: a commit with the user's filters applied,
// the objects it needs, and a branch for each submodule with changes. The user's own git does it, because
// filters such as Git LFS and git-crypt are theirs; go-git runs no filters. It never touches the
// working tree, the index or HEAD, and never moves a branch that has changed since.
package branch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/slashpath"
	"aibox/internal/termtext"
	"aibox/workspace"
)

// Delivery brings one tree from the repository that aibox owns to a new branch
// in the user's repository.
type Delivery struct {
	From, To *git.Repo
	Repo     string // of the user, for messages
	Owner    string // the session, for messages
	Tree     string
	Parent   string
	Message  string
	Who      git.Signature
	branch   string // fixed name, or empty
	prefer   []string
	tip      string // commit that the branch points to now; empty if the branch does not exist yet
	Cleaning *Cleaner
	DryRun   bool   // stop before the first change of the user's repository
	Keep     string // ref of the repository that aibox owns that keeps the commit; may be empty

	// Confirm, if not nil, is called when everything is delivered. Its error undoes the delivery.
	Confirm func(ctx context.Context, made *Delivered) error

	Session string             // names refs of the repository that aibox owns
	Modules []workspace.Module // whose files tree holds, each one before those in it
	Joined  string             // with modules: the commit that the work was compared with
	Earlier []Module           // with modules: what earlier accepts delivered to them
}

// Delivered is the result of a delivery.
type Delivered struct {
	Branch, Commit string
	Tree           string // the tree that Commit was made of: it records submodules, and has the agent's unconverted files
	Modules        []Module
	Parent         string // of Commit
	Continued      bool   // Parent was the tip of the branch, which aibox had made before
	Common         string // the newest commit below Commit that the user's repository had; empty for none
}

// PriorCommit is a commit that aibox made on a branch before.
type PriorCommit struct {
	Branch string // without refs/heads/
	Commit string // empty: there is none
	Tree   string // the tree that it was made of, with the agent's unconverted files
}

// Deliver makes the commit on a branch: on the one of prior when that is still its tip, else on a new
// one, called branch, or after fallback when branch is empty.
func (d *Delivery) Deliver(ctx context.Context, branch, fallback string, prior PriorCommit) (*Delivered, error) {
	if !d.continuesBranch(ctx, prior) {
		if err := d.ChooseName(branch, fallback); err != nil {
			return nil, err
		}
	}
	return d.Run(ctx)
}

// continuesBranch reports whether to put the work on top of aibox's earlier commit: it must
// still be the tip of its branch, not be checked out, rebased or bisected, and exist in the repository that aibox
// owns.
func (d *Delivery) continuesBranch(ctx context.Context, prior PriorCommit) bool {
	if prior.Commit == "" {
		return false
	}
	tip := prior.Commit
	said, err := d.To.Line(ctx, "for-each-ref", "--format=%(objectname) %(worktreepath)", "refs/heads/"+prior.Branch)
	if err != nil || said != tip+" " { // moved, gone, or checked out, since then the files would appear as reverted
		return false
	}
	if used, err := inUse(ctx, d.To, prior.Branch); err != nil || used {
		return false
	}
	tree, err := d.From.Line(ctx, "rev-parse", "--verify", "--quiet", tip+"^{tree}")
	if err != nil {
		return false
	}
	d.Cleaning.earlier = &earlier{plain: prior.Tree, stored: tree}
	d.Parent, d.branch, d.tip = tip, prior.Branch, tip
	return true
}

// ChooseName chooses the name of the branch.
func (d *Delivery) ChooseName(branch, fallback string) error {
	if branch == "" {
		// A branch named "aibox" prevents branches below that name.
		d.prefer = []string{"aibox/" + fallback, "aibox-" + fallback}
		return nil
	}
	d.branch = branch
	return CheckName(branch)
}

// CheckName returns a Usage error for a name that no branch can have.
func CheckName(branch string) error {
	err := plumbing.NewBranchReferenceName(branch).Validate()
	if err != nil || strings.HasPrefix(branch, "-") || branch == "HEAD" {
		return fault.New(fault.Usage, "%s cannot be the name of a branch", termtext.Escape(branch)).
			Hint("leave --branch out, or use letters, digits, dashes and slashes")
	}
	return nil
}

func (d *Delivery) Run(ctx context.Context) (_ *Delivered, err error) {
	var modules []Module
	if len(d.Modules) > 0 {
		var undo func(context.Context) error
		modules, undo, err = d.split(ctx)
		defer func() {
			if err != nil {
				if undone := undo(context.WithoutCancel(ctx)); undone != nil {
					err = fmt.Errorf("%w (and %w)", err, undone)
				}
			}
		}()
		if err != nil {
			return nil, err
		}
	}
	known, err := d.commonCommit(ctx)
	if err != nil {
		return nil, err
	}
	plain := d.Tree
	if d.Tree, err = d.Cleaning.tree(ctx, plain); err != nil {
		return nil, err
	}
	if d.DryRun {
		return &Delivered{Tree: plain}, d.checkFree(ctx)
	}
	commit, err := d.MakeCommit(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.transfer(ctx, commit, known); err != nil {
		return nil, err
	}
	branch, err := d.createBranch(ctx, commit)
	if err != nil {
		return nil, err
	}
	made := &Delivered{Branch: branch, Commit: commit, Tree: plain, Modules: modules, Parent: d.Parent, Continued: d.tip != ""}
	if err := d.confirm(ctx, made); err != nil {
		return nil, errors.Join(err, d.removeBranch(context.WithoutCancel(ctx), made))
	}
	return made, nil
}

func (d *Delivery) confirm(ctx context.Context, made *Delivered) error {
	if d.Confirm == nil {
		return nil
	}
	return d.Confirm(ctx, made)
}

// removeBranch undoes createBranch, unless the branch has moved since.
func (d *Delivery) removeBranch(ctx context.Context, made *Delivered) error {
	if err := resetBranch(ctx, d.To, made.Branch, made.Commit, d.tip); err != nil {
		return d.branchError("undoing the branch "+termtext.Escape(made.Branch), err)
	}
	return nil
}

// resetBranch moves a branch from a commit back to the one at which it was; if was is empty, it
// removes the branch. It fails if the branch has moved since.
func resetBranch(ctx context.Context, repo *git.Repo, branch, commit, was string) error {
	args := []string{"update-ref", "--no-deref", "-d", "refs/heads/" + branch, commit}
	if was != "" {
		args = []string{"update-ref", "-m", "aibox accept undone", "--no-deref", "refs/heads/" + branch, was, commit}
	}
	return repo.Run(ctx, nil, nil, args...)
}

// Detach makes the commit in the repository that aibox owns, and no branch. Nothing in the
// user's repository changes, and what filters store there is left out.
func (d *Delivery) Detach(ctx context.Context) (*Delivered, error) {
	if len(d.Modules) > 0 {
		return nil, fault.New(fault.Environment, "the work in a repository with submodules cannot become a bundle").Hint("deliver it to a branch")
	}
	common, err := d.commonCommit(ctx)
	if err != nil {
		return nil, err
	}
	plain := d.Tree
	d.Cleaning.DryRun = true
	if d.Tree, err = d.Cleaning.tree(ctx, plain); err != nil {
		return nil, err
	}
	commit, err := d.MakeCommit(ctx)
	if err != nil {
		return nil, err
	}
	made := &Delivered{Commit: commit, Tree: plain, Parent: d.Parent, Common: common}
	return made, d.confirm(ctx, made)
}

// commonCommit is the newest commit below the work that the user's repository has; empty
// when the work begins with a first commit.
func (d *Delivery) commonCommit(ctx context.Context) (string, error) {
	if _, err := os.Stat(d.Repo); err != nil {
		return "", fault.New(fault.Usage, "your repository %s is not there any more: %w", termtext.Escape(d.Repo), err).
			Hint("put it back where it was; the work is kept: aibox recover %s", d.Owner)
	}
	for _, rev := range []string{d.Parent, d.Parent + "^"} {
		id, err := d.From.Line(ctx, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
		if err != nil {
			continue
		}
		if d.To.Run(ctx, nil, nil, "cat-file", "-e", id+"^{commit}") == nil {
			return id, nil
		}
		if workspace.IsStart(ctx, d.From, id) {
			return "", d.takeRoot(ctx, rev != d.Parent)
		}
	}
	return "", fault.New(fault.Conflict, "your repository %s does not have the commit any more that the work started from", termtext.Escape(d.Repo)).
		Hint("the work is kept; take it as a patch: aibox diff %s | git apply", d.Owner)
}

// takeRoot removes the empty commit before a repository's first from the work, which then
// starts with no parent, or with the user's uncommitted work as the first commit.
func (d *Delivery) takeRoot(ctx context.Context, uncommitted bool) error {
	if !uncommitted {
		d.Parent = ""
		return nil
	}
	said, err := d.From.Line(ctx, "show", "--no-patch", "--format=%T%n%B", d.Parent)
	if err != nil {
		return fmt.Errorf("reading your uncommitted work: %s", git.Message(err))
	}
	root := *d
	root.Parent = ""
	root.Tree, root.Message, _ = strings.Cut(said, "\n")
	d.Parent, err = root.commit(ctx)
	return err
}

// commit makes the commit in the repository that aibox owns.
func (d *Delivery) commit(ctx context.Context) (string, error) {
	who := d.Who
	who.When = time.Now()
	commit, err := d.From.CommitTree(ctx, d.Tree, d.Parent, d.Message, who)
	if err != nil {
		return "", diskerr.Explain(fmt.Errorf("making the commit: %w", git.Brief(err)), d.From.Dir())
	}
	return commit, nil
}

// MakeCommit makes the commit and keeps it by a ref, since the next accept continues from it.
func (d *Delivery) MakeCommit(ctx context.Context) (string, error) {
	commit, err := d.commit(ctx)
	if err != nil || d.Keep == "" {
		return commit, err
	}
	if err := d.From.Run(ctx, nil, nil, "update-ref", d.Keep, commit); err != nil {
		return "", diskerr.Explain(fmt.Errorf("keeping the commit: %w", git.Brief(err)), d.From.Dir())
	}
	return commit, nil
}

// transfer copies the objects that the user's repository lacks. git checks each
// one on the way in and refuses what could harm a later checkout.
func (d *Delivery) transfer(ctx context.Context, commit, known string) error {
	args := []string{"rev-list", "--objects", "--no-object-names", commit} // the length of names is unbounded

	if known != "" {
		args = append(args, "^"+known)
	}
	list, err := d.From.Output(ctx, args...)
	if err != nil {
		return fmt.Errorf("listing the objects: %s", git.Message(err))
	}
	if err := copyObjects(ctx, d.From, d.To, list); err != nil {
		if err := diskerr.Explain(git.Brief(err), d.Repo); diskerr.Is(err) {
			return err
		}
		return fault.New(diskerr.KindOf(git.Message(err)), "git does not take the work into %s: %s", termtext.Escape(d.Repo), git.Message(err)).
			Hint("the work is kept; show it with: aibox diff %s", d.Owner)
	}
	return nil
}

// isPartial reports whether objects that a repository refers to may be on a server only.
func isPartial(ctx context.Context, repo *git.Repo) (bool, error) {
	settings, err := repo.Settings(ctx, `^(extensions\.partialclone|remote\..*\.promisor)$`)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(settings, func(s git.Setting) bool { return s.Name == "extensions.partialclone" || s.IsTrue() }), nil
}

// copyObjects copies the objects with the ids in list, a line each.
func copyObjects(ctx context.Context, from, to *git.Repo, list []byte) error {
	partial, err := isPartial(ctx, to)
	if err != nil {
		return err
	}
	read, write := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := from.Run(ctx, bytes.NewReader(list), write, "pack-objects", "-q", "--stdout", "--window=0")
		write.CloseWithError(err)
		packed <- err
	}()
	unpack := []string{"unpack-objects", "-q", "--strict"}
	switch {
	case partial: // --strict also looks up what a new folder has from before, which may not be there
		unpack = []string{"index-pack", "--stdin", "--fsck-objects"}
	case bytes.Count(list, []byte("\n")) > 500:
		unpack = []string{"index-pack", "--stdin", "--strict"}
	}
	err = to.Run(ctx, read, nil, unpack...)
	read.CloseWithError(io.ErrClosedPipe)
	if packErr := <-packed; packErr != nil && err == nil {
		err = packErr
	}
	return err
}

// suffixes bounds how many names are tried for a branch.
const suffixes = 1000

// createBranch creates the branch. It never moves an existing one.
func (d *Delivery) createBranch(ctx context.Context, commit string) (string, error) {
	create := func(branch string) error {
		return d.To.Run(ctx, nil, nil, "update-ref", "-m", "aibox accept", "--no-deref", "refs/heads/"+branch, commit, strings.Repeat("0", len(commit)))
	}
	taken := func(branch string) bool { return d.isTaken(ctx, branch) }
	if d.tip != "" {
		err := d.To.Run(ctx, nil, nil, "update-ref", "-m", "aibox accept", "--no-deref", "refs/heads/"+d.branch, commit, d.tip)
		if err := diskerr.Explain(err, d.Repo); diskerr.Is(err) {
			return "", err
		}
		if err != nil {
			return "", fault.New(fault.Conflict, "the branch %s moved meanwhile: %s", termtext.Escape(d.branch), git.Message(err)).
				Hint("accept again: the work goes to a new branch then")
		}
		return d.branch, nil
	}
	if d.branch != "" {
		if err := d.checkFree(ctx); err != nil {
			return "", err
		}
		if err := create(d.branch); err != nil {
			return "", d.branchError("making the branch "+termtext.Escape(d.branch), err)
		}
		return d.branch, nil
	}
	var last error
	for _, name := range d.prefer {
		for n := 1; n < suffixes; n++ {
			branch := name
			if n > 1 {
				branch = fmt.Sprintf("%s-%d", name, n)
			}
			if taken(branch) {
				continue
			}
			if last = create(branch); last == nil {
				return branch, nil
			}
			if !taken(branch) {
				break // another number would not help
			}
		}
	}
	if last == nil {
		last = errors.New("every name is taken")
	}
	return "", d.branchError("making a branch in "+termtext.Escape(d.Repo), last)
}

// isTaken reports whether the user's repository has the branch.
func (d *Delivery) isTaken(ctx context.Context, branch string) bool {
	return d.To.Run(ctx, nil, nil, "show-ref", "--verify", "--quiet", "refs/heads/"+branch) == nil
}

// checkFree returns a Conflict if a branch prevents the one that the user has named: one with its name,
// or with that of a folder of it, or one that is in a folder with its name.
func (d *Delivery) checkFree(ctx context.Context) error {
	if d.tip != "" || d.branch == "" {
		return nil
	}
	if d.isTaken(ctx, d.branch) {
		return fault.New(fault.Conflict, "the branch %s exists already", termtext.Escape(d.branch)).
			Hint("name another with --branch, or leave it out")
	}
	if other := d.excluding(ctx); other != "" {
		return fault.New(fault.Conflict, "the branch %s cannot exist beside the branch %s", termtext.Escape(d.branch), termtext.Escape(other)).
			Hint("name another branch with --branch")
	}
	return nil
}

// excluding returns a branch beside which git cannot have the one that the user has named, or "".
func (d *Delivery) excluding(ctx context.Context) string {
	for _, folder := range slashpath.Parents(d.branch) {
		if d.isTaken(ctx, folder) {
			return folder
		}
	}
	within, _ := d.To.Line(ctx, "for-each-ref", "--count=1", "--format=%(refname:lstrip=2)", "refs/heads/"+d.branch+"/")
	return within
}

// branchError explains why a branch cannot be created: a disk that is full, a repository that the
// user may not write to, or branches whose names exclude each other.
func (d *Delivery) branchError(what string, err error) error {
	explained := diskerr.Explain(fmt.Errorf("%s: %w", what, git.Brief(err)), d.Repo)
	switch {
	case diskerr.Is(explained):
		return explained
	case strings.Contains(git.Message(err), "cannot create 'refs/heads/"): // a branch x prevents x/y, and x/y prevents x
		return fault.New(fault.Conflict, "%w", explained).Hint("name another branch with --branch")
	case diskerr.KindOf(git.Message(err)) == fault.Environment:
		return fault.New(fault.Environment, "%w", explained).Hint("the work is kept; show it with: aibox diff %s", d.Owner)
	}
	return explained
}
