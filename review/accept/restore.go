package accept

import (
	"context"
	"fmt"
	"strings"
	"time"

	"aibox/internal/git"
	"aibox/review"
	"aibox/review/branch"
	"aibox/review/recovery"
	"aibox/workspace"
)

// Restore makes a branch of saved in the user's repository; its name is
// aibox/<session>-recovered, with a suffix when taken, unless name is given.
func Restore(ctx context.Context, saved recovery.Point, name string) (*Result, error) {
	release, err := workspace.Hold(ctx, saved.GitDir)
	if err != nil {
		return nil, fmt.Errorf("opening the repository of session %s: %w", saved.Session, err)
	}
	defer release()
	to := git.User(saved.Repo)
	d := &branch.Delivery{
		From: git.Owned(saved.GitDir), To: to, Repo: saved.Repo, Owner: saved.By, Tree: saved.Commit + "^{tree}", Parent: saved.Base,
		Message: fmt.Sprintf("Recovered work of aibox session %s (%s %s)", saved.By, saved.What, saved.When.Format(time.DateTime)),
		Who:     workspace.Identity(ctx, &workspace.Workspace{Repo: saved.Repo}),
	}
	trees, err := d.From.Line(ctx, "rev-parse", saved.Base+"^{tree}", d.Tree)
	if err != nil {
		return nil, fmt.Errorf("the saved state %s is not there: %s", saved.Ref, git.Message(err))
	}
	d.Cleaning = &branch.Cleaner{GitDir: saved.GitDir, Session: saved.Session, Repo: saved.Repo, Folded: saved.Files > review.MaxListed, Uncommitted: true}
	d.Cleaning.Base, d.Tree, _ = strings.Cut(trees, "\n")
	if d.Modules, d.Cleaning.AsStored, err = saved.Origin(ctx, d.From); err != nil {
		return nil, err
	}
	d.Session, d.Joined = saved.Session, saved.Base
	if err := d.ChooseName(name, saved.Session+"-recovered"); err != nil {
		return nil, err
	}
	made, err := d.Run(ctx)
	if err != nil {
		return nil, err
	}
	return &Result{Branch: made.Branch, Commit: made.Commit, Repo: d.Repo, Modules: made.Modules}, nil
}
