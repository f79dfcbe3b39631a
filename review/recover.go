package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aibox/internal/git"
	"aibox/workspace"
)

// What says why a state was saved.
type What string

// The occasions on which a state is saved.
const (
	Kept      What = "accepted"
	Discarded What = "discarded"
)

// retention is how long a saved state is kept at least.
const retention = 30 * 24 * time.Hour

// Saved is a state that can be brought back.
type Saved struct {
	Session string    `json:"session"`
	Ref     string    `json:"ref"` // refs/aibox/<session>/<n> in GitDir
	GitDir  string    `json:"git_dir"`
	Commit  string    `json:"commit"`
	Base    string    `json:"base"` // the commit it stands on
	What    What      `json:"what"`
	Repo    string    `json:"repo"` // the user's repository
	When    time.Time `json:"when"`
	Until   time.Time `json:"until"`              // kept at least so long
	NotKept []Refusal `json:"not_kept,omitempty"` // after Discard: what the workspace held and git cannot
}

// Discard saves the workspace as it is under a ref in ws.GitDir and then removes
// the folder. The returned Saved can be restored for 30 days; ignored and
// refused files are not in it.
func Discard(ctx context.Context, ws *workspace.Workspace, opts Options) (*Saved, error) {
	cs, err := Compute(ctx, ws, opts)
	if err != nil {
		return nil, fmt.Errorf("saving the workspace before it is removed: %w", err)
	}
	saved, err := save(ctx, ws, cs, Discarded)
	if err != nil {
		return nil, err
	}
	saved.NotKept = cs.Refused
	return saved, workspace.Remove(ctx, ws)
}

// save keeps the tree of cs under the next number of the session.
func save(ctx context.Context, ws *workspace.Workspace, cs *ChangeSet, what What) (*Saved, error) {
	repo := git.Owned(ws.GitDir)
	now := time.Now()
	d := &delivery{
		from: repo, tree: cs.Tree, parent: ws.BaseCommit(), message: "aibox: " + string(what),
		who: git.Signature{Name: "aibox", Email: "aibox@localhost", When: now},
	}
	commit, err := d.commit(ctx)
	if err != nil {
		return nil, fmt.Errorf("saving the work: %w", err)
	}
	prefix := "refs/aibox/" + ws.Session + "/"
	for try := 0; ; try++ {
		names, err := repo.Output(ctx, "for-each-ref", "--format=%(refname)", prefix)
		if err != nil {
			return nil, fmt.Errorf("saving the work: %s", git.Message(err))
		}
		last := 0
		for name := range strings.FieldsSeq(string(names)) {
			if n, err := strconv.Atoi(strings.TrimPrefix(name, prefix)); err == nil {
				last = max(last, n)
			}
		}
		ref := prefix + strconv.Itoa(last+1)
		err = repo.Run(ctx, nil, nil, "update-ref", ref, commit, strings.Repeat("0", len(commit)))
		if err == nil {
			return &Saved{
				Session: ws.Session, Ref: ref, GitDir: ws.GitDir, Commit: commit, Base: ws.BaseCommit(),
				What: what, Repo: ws.Repo, When: now.UTC(), Until: now.Add(retention).UTC(),
			}, nil
		}
		if try == 10 { // somebody else took that number, again and again
			return nil, fmt.Errorf("saving the work: %s", git.Message(err))
		}
	}
}

// Recoverable lists what is saved in the repositories below repos
// (paths.Dirs.Repos), newest first; session "" means every session.
func Recoverable(ctx context.Context, repos, session string) ([]Saved, error) {
	dirs, err := os.ReadDir(repos)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Saved
	for _, dir := range dirs {
		gitDir := filepath.Join(repos, dir.Name())
		repo, err := os.ReadFile(filepath.Join(gitDir, "aibox", "repository"))
		if err != nil {
			continue // a clone of a URL, or something unfinished
		}
		found, err := savedIn(ctx, gitDir, string(repo), session)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", gitDir, err)
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b Saved) int {
		return cmp.Or(b.When.Compare(a.When), cmp.Compare(a.Session, b.Session), cmp.Compare(len(b.Ref), len(a.Ref)), cmp.Compare(b.Ref, a.Ref))
	})
	return all, nil
}

// savedIn lists what one repository holds.
func savedIn(ctx context.Context, gitDir, userRepo, session string) ([]Saved, error) {
	prefix := "refs/aibox/"
	if session != "" {
		prefix += session + "/"
	}
	out, err := git.Owned(gitDir).Output(ctx, "for-each-ref", "--format=%(refname) %(objectname) %(parent) %(committerdate:unix) %(subject)", prefix)
	if err != nil {
		return nil, errors.New(git.Message(err))
	}
	var found []Saved
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 5)
		if len(fields) != 5 {
			continue
		}
		name, number, _ := strings.Cut(strings.TrimPrefix(fields[0], "refs/aibox/"), "/")
		what, ours := strings.CutPrefix(fields[4], "aibox: ")
		unix, err := strconv.ParseInt(fields[3], 10, 64)
		if _, notANumber := strconv.Atoi(number); notANumber != nil || !ours || err != nil {
			continue
		}
		when := time.Unix(unix, 0).UTC()
		found = append(found, Saved{
			Session: name, Ref: fields[0], GitDir: gitDir, Commit: fields[1], Base: fields[2],
			What: What(what), Repo: userRepo, When: when, Until: when.Add(retention),
		})
	}
	return found, nil
}

// Restore makes a branch of saved in the user's repository; its name is
// aibox/<session>-recovered, with a suffix when taken, unless branch names one.
func Restore(ctx context.Context, saved Saved, branch string) (*Accepted, error) {
	to := git.User(saved.Repo)
	d := &delivery{
		from: git.Owned(saved.GitDir), to: to, repo: saved.Repo, tree: saved.Commit + "^{tree}", parent: saved.Base,
		message: fmt.Sprintf("Recovered work of aibox session %s (%s %s)", saved.Session, saved.What, saved.When.Format(time.DateTime)),
		who:     workspace.Identity(ctx, &workspace.Workspace{Repo: saved.Repo}),
	}
	tree, err := d.from.Line(ctx, "rev-parse", "--verify", "--quiet", d.tree)
	if err != nil {
		return nil, fmt.Errorf("the saved state %s is not there: %s", saved.Ref, git.Message(err))
	}
	d.tree = tree
	if err := d.name(ctx, branch, saved.Session+"-recovered"); err != nil {
		return nil, err
	}
	return d.run(ctx)
}
