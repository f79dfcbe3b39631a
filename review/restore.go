package review

import (
	"context"
	"fmt"
	"strings"
	"time"

	"aibox/internal/git"
	"aibox/workspace"
)

// Restore makes a branch of saved in the user's repository; its name is
// aibox/<session>-recovered, with a suffix when taken, unless branch names one.
func Restore(ctx context.Context, saved Saved, branch string) (*Accepted, error) {
	release, err := workspace.Hold(ctx, saved.GitDir)
	if err != nil {
		return nil, fmt.Errorf("opening the repository of session %s: %w", saved.Session, err)
	}
	defer release()
	to := git.User(saved.Repo)
	d := &delivery{
		from: git.Owned(saved.GitDir), to: to, repo: saved.Repo, owner: saved.By, tree: saved.Commit + "^{tree}", parent: saved.Base,
		message: fmt.Sprintf("Recovered work of aibox session %s (%s %s)", saved.By, saved.What, saved.When.Format(time.DateTime)),
		who:     workspace.Identity(ctx, &workspace.Workspace{Repo: saved.Repo}),
	}
	trees, err := d.from.Line(ctx, "rev-parse", saved.Base+"^{tree}", d.tree)
	if err != nil {
		return nil, fmt.Errorf("the saved state %s is not there: %s", saved.Ref, git.Message(err))
	}
	d.cleaning = &cleaning{gitDir: saved.GitDir, session: saved.Session, repo: saved.Repo, folded: saved.Files > maxListed, uncommitted: true}
	d.cleaning.base, d.tree, _ = strings.Cut(trees, "\n")
	if d.modules, err = saved.modulesOf(ctx, d.from); err != nil {
		return nil, err
	}
	d.session, d.joined = saved.Session, saved.Base
	if err := d.name(branch, saved.Session+"-recovered"); err != nil {
		return nil, err
	}
	made, err := d.run(ctx)
	if err != nil {
		return nil, err
	}
	return &Accepted{Branch: made.Branch, Commit: made.Commit, Repo: d.repo, Modules: made.Modules}, nil
}
