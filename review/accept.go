package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/workspace"

	"golang.org/x/sys/unix"
)

// AcceptOptions say how the work is delivered.
type AcceptOptions struct {
	Branch  string // without refs/heads/; empty means aibox/<session>, with a suffix when taken. A named branch that exists is a Conflict
	Message string // the commit message; empty means a plain one
	Choice  Choice // what to take; nothing chosen is ErrNothing
	Target  Target

	Before *Before // what earlier accepts took; nil means nothing

	// Verify is called with the tree that is about to be delivered (of ChangeSet.GitDir)
	// before anything is delivered; its error ends the accept. May be nil.
	Verify func(ctx context.Context, tree string) error
}

// Before is what earlier accepts of a session delivered.
type Before struct {
	Selection *Selection `json:"selection"`        // all that was taken
	Tree      string     `json:"tree"`             // of ChangeSet.GitDir: the baseline with it
	Branch    string     `json:"branch,omitempty"` // without refs/heads/: where aibox made Commit; empty for a working tree
	Commit    string     `json:"commit,omitempty"` // of the user's repository
}

// Target is where accepted work goes. The zero value is a branch.
type Target int

// The targets.
const (
	ToBranch   Target = iota // a commit on a branch; the working tree, the index and HEAD stay untouched
	ToWorktree               // the files of the user's working tree; the index and HEAD stay untouched
)

// targets are the names of the targets, as --accept takes them.
var targets = [...]string{"branch", "worktree"}

// String is the target's name.
func (t Target) String() string {
	if t < 0 || int(t) >= len(targets) {
		return fmt.Sprintf("target %d", int(t))
	}
	return targets[t]
}

// MarshalText writes the target's name.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (t *Target) UnmarshalText(text []byte) error {
	i := slices.Index(targets[:], string(text))
	if i < 0 {
		return fault.New(fault.Usage, "work cannot be delivered to %q", text).Hint("use branch or worktree")
	}
	*t = Target(i)
	return nil
}

// Accepted tells where the work is.
type Accepted struct {
	Target      Target     `json:"target"`
	Branch      string     `json:"branch,omitempty"`      // without refs/heads/; empty for a working tree
	Commit      string     `json:"commit,omitempty"`      // likewise
	Uncommitted string     `json:"uncommitted,omitempty"` // the commit below it that holds the user's uncommitted work
	Files       int        `json:"files"`
	Paths       []Path     `json:"paths,omitempty"` // of a working tree: what was written there
	Repo        string     `json:"repo"`
	Tree        string     `json:"tree"`           // of the baseline with all that was taken, now and before
	Left        []LeftOut  `json:"left,omitempty"` // chosen, but not taken because of their risks
	Selection   *Selection `json:"-"`              // all that was taken, now and before
}

// Accept delivers what opts choose of the change set, in the user's name. It returns
// ErrNothing when nothing is chosen that was not delivered before. When risks leave
// out all that was chosen, nothing is delivered and Left alone is set.
//
// To a branch it is a commit: on top of the one that aibox made before, when that is
// still the branch's tip; else on a new branch, which then holds what was taken before,
// too, unless opts name it. To the working tree it is a three-way merge, all or
// nothing. HEAD and the index stay untouched in either case.
func Accept(ctx context.Context, ws *workspace.Workspace, cs *ChangeSet, opts AcceptOptions) (*Accepted, error) {
	if cs.Empty() {
		return nil, ErrNothing
	}
	release, err := workspace.Hold(ctx, ws.GitDir)
	if err != nil {
		return nil, fmt.Errorf("opening the repository of session %s: %w", ws.Session, err)
	}
	defer release()
	chosen, err := cs.Select(ctx, opts.Choice)
	if err != nil {
		return nil, err
	}
	if chosen.Empty() && len(chosen.Left) == 0 {
		return nil, ErrNothing
	}
	before := opts.Before
	if before == nil || opts.Target == ToBranch && opts.Branch != "" && opts.Branch != before.Branch {
		before = &Before{Selection: &Selection{}, Tree: cs.BaseTree}
	}
	all := before.Selection.Union(chosen)
	accepted := &Accepted{Target: opts.Target, Repo: ws.Repo, Tree: before.Tree, Left: chosen.Left, Selection: all}
	if chosen.Empty() {
		return accepted, nil
	}
	if accepted.Tree, err = cs.after(ctx, before, chosen); err != nil {
		return nil, err
	}
	if accepted.Tree == before.Tree {
		return nil, ErrNothing
	}
	accepted.Files = len(chosen.Taken)
	if opts.Verify != nil {
		if err := opts.Verify(ctx, accepted.Tree); err != nil {
			return nil, err
		}
	}
	if _, err := Save(ctx, ws, cs, Kept); err != nil {
		return nil, err
	}
	if opts.Target == ToWorktree {
		accepted.Paths, err = applyToWorktree(ctx, worktreeJob{ws: ws, before: before.Tree, after: accepted.Tree})
		return accepted, err
	}
	return accepted, deliver(ctx, ws, opts, before, accepted)
}

// deliver makes the commit on a branch.
func deliver(ctx context.Context, ws *workspace.Workspace, opts AcceptOptions, before *Before, accepted *Accepted) error {
	message := opts.Message
	if strings.TrimSpace(message) == "" {
		message = "Work of aibox session " + ws.Session
	}
	d := &delivery{
		from: git.Owned(ws.GitDir), to: git.User(ws.Repo), repo: ws.Repo,
		tree: accepted.Tree, parent: ws.BaseCommit(), message: message, who: workspace.Identity(ctx, ws),
	}
	if !d.onTop(ctx, before) {
		if err := d.name(ctx, opts.Branch, ws.Session); err != nil {
			return err
		}
	}
	made, err := d.run(ctx)
	if err != nil {
		return err
	}
	accepted.Branch, accepted.Commit = made.Branch, made.Commit
	if ws.Uncommitted != "" && d.tip == "" {
		accepted.Uncommitted = d.parent
	}
	return nil
}

// delivery brings one tree from the repository that aibox owns to a new branch
// in the user's repository.
type delivery struct {
	from, to *git.Repo
	repo     string // of the user, for messages
	tree     string
	parent   string
	message  string
	who      git.Signature
	branch   string // fixed name, or empty
	prefer   []string
	tip      string // commit that the branch points to now; empty when it is to be made
}

// onTop settles that the work goes on top of what aibox delivered before, if that is
// still the tip of its branch and the repository that aibox owns has it.
func (d *delivery) onTop(ctx context.Context, before *Before) bool {
	if before.Commit == "" {
		return false
	}
	tip, err := d.to.Line(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+before.Branch)
	if err != nil || tip != before.Commit {
		return false
	}
	tree, err := d.from.Line(ctx, "rev-parse", "--verify", "--quiet", tip+"^{tree}")
	if err != nil || tree != before.Tree {
		return false
	}
	d.parent, d.branch, d.tip = tip, before.Branch, tip
	return true
}

// name settles what the branch may be called.
func (d *delivery) name(ctx context.Context, branch, fallback string) error {
	if branch == "" {
		// A branch that is called just "aibox" forbids names below it.
		d.prefer = []string{"aibox/" + fallback, "aibox-" + fallback}
		return nil
	}
	d.branch = branch
	if err := d.to.Run(ctx, nil, nil, "check-ref-format", "refs/heads/"+branch); err != nil || strings.HasPrefix(branch, "-") {
		return fault.New(fault.Usage, "%s cannot be the name of a branch", termtext.Escape(branch)).
			Hint("leave --branch out, or use letters, digits, dashes and slashes")
	}
	return nil
}

func (d *delivery) run(ctx context.Context) (*Accepted, error) {
	known, err := d.meeting(ctx)
	if err != nil {
		return nil, err
	}
	commit, err := d.commit(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.transfer(ctx, commit, known); err != nil {
		return nil, err
	}
	branch, err := d.point(ctx, commit)
	if err != nil {
		return nil, err
	}
	return &Accepted{Branch: branch, Commit: commit, Repo: d.repo}, nil
}

// meeting is the newest commit below the work that the user's repository has; empty
// when the work begins with a first commit.
func (d *delivery) meeting(ctx context.Context) (string, error) {
	if _, err := os.Stat(d.repo); err != nil {
		return "", fault.New(fault.Usage, "your repository %s is not there any more: %w", termtext.Escape(d.repo), err).
			Hint("put it back where it was; the work is kept: aibox recover")
	}
	for _, rev := range []string{d.parent, d.parent + "^"} {
		id, err := d.from.Line(ctx, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
		if err != nil {
			continue
		}
		if d.to.Run(ctx, nil, nil, "cat-file", "-e", id+"^{commit}") == nil {
			return id, nil
		}
		if workspace.IsStart(ctx, d.from, id) {
			return "", d.takeRoot(ctx, rev != d.parent)
		}
	}
	return "", fault.New(fault.Conflict, "your repository %s does not have the commit any more that the work started from", termtext.Escape(d.repo)).
		Hint("the work is kept; take it as a patch: aibox diff ID | git apply")
}

// takeRoot lets the work begin without the empty commit that a repository's first
// stands on: with nothing, or with the user's uncommitted work as a first commit.
func (d *delivery) takeRoot(ctx context.Context, uncommitted bool) error {
	if !uncommitted {
		d.parent = ""
		return nil
	}
	said, err := d.from.Line(ctx, "show", "--no-patch", "--format=%T%n%B", d.parent)
	if err != nil {
		return fmt.Errorf("reading your uncommitted work: %s", git.Message(err))
	}
	root := *d
	root.parent = ""
	root.tree, root.message, _ = strings.Cut(said, "\n")
	d.parent, err = root.commit(ctx)
	return err
}

// commit makes the commit in the repository that aibox owns.
func (d *delivery) commit(ctx context.Context) (string, error) {
	date := fmt.Sprintf("%d %s", time.Now().Unix(), time.Now().Format("-0700"))
	repo := d.from.With(
		"GIT_AUTHOR_NAME="+d.who.Name, "GIT_AUTHOR_EMAIL="+d.who.Email, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+d.who.Name, "GIT_COMMITTER_EMAIL="+d.who.Email, "GIT_COMMITTER_DATE="+date,
	)
	message := strings.TrimRight(strings.ReplaceAll(d.message, "\x00", ""), "\n") + "\n"
	var out strings.Builder
	args := []string{"commit-tree"}
	if d.parent != "" {
		args = append(args, "-p", d.parent)
	}
	err := repo.Run(ctx, strings.NewReader(message), &out, append(args, "-F", "-", d.tree)...)
	if err != nil {
		return "", fmt.Errorf("making the commit: %s", git.Message(err))
	}
	return strings.TrimSpace(out.String()), nil
}

// transfer copies the objects that the user's repository lacks. git checks each
// one on the way in and refuses what could harm a later checkout.
func (d *delivery) transfer(ctx context.Context, commit, known string) error {
	args := []string{"rev-list", "--objects", commit}
	if known != "" {
		args = append(args, "^"+known)
	}
	list, err := d.from.Output(ctx, args...)
	if err != nil {
		return fmt.Errorf("listing the objects: %s", git.Message(err))
	}
	read, write := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := d.from.Run(ctx, strings.NewReader(string(list)), write, "pack-objects", "-q", "--stdout", "--window=0")
		write.CloseWithError(err)
		packed <- err
	}()
	unpack := []string{"unpack-objects", "-q", "--strict"}
	if strings.Count(string(list), "\n") > 500 {
		unpack = []string{"index-pack", "--stdin", "--strict"}
	}
	err = d.to.Run(ctx, read, nil, unpack...)
	read.CloseWithError(io.ErrClosedPipe)
	if packErr := <-packed; packErr != nil && err == nil {
		err = packErr
	}
	if err != nil {
		return fault.New(whoseFault(git.Message(err)), "git does not take the work into %s: %s", termtext.Escape(d.repo), git.Message(err)).
			Hint("the work is kept; look at it with: aibox diff")
	}
	return nil
}

// whoseFault tells a disk that takes nothing from objects that git refuses, by the
// words of the C library that git repeats.
func whoseFault(message string) fault.Kind {
	for _, errno := range []syscall.Errno{unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.EACCES, unix.EIO} {
		if strings.Contains(strings.ToLower(message), errno.Error()) {
			return fault.Environment
		}
	}
	return fault.Refused
}

// suffixes bounds how many names are tried for a branch.
const suffixes = 1000

// point makes the branch. It never moves one that exists.
func (d *delivery) point(ctx context.Context, commit string) (string, error) {
	create := func(branch string) error {
		return d.to.Run(ctx, nil, nil, "update-ref", "-m", "aibox accept", "--no-deref", "refs/heads/"+branch, commit, strings.Repeat("0", len(commit)))
	}
	taken := func(branch string) bool {
		return d.to.Run(ctx, nil, nil, "show-ref", "--verify", "--quiet", "refs/heads/"+branch) == nil
	}
	if d.tip != "" {
		err := d.to.Run(ctx, nil, nil, "update-ref", "-m", "aibox accept", "--no-deref", "refs/heads/"+d.branch, commit, d.tip)
		if err != nil {
			return "", fault.New(fault.Conflict, "the branch %s moved meanwhile: %s", termtext.Escape(d.branch), git.Message(err)).
				Hint("accept again: the work goes to a new branch then")
		}
		return d.branch, nil
	}
	if d.branch != "" {
		if taken(d.branch) {
			return "", fault.New(fault.Conflict, "the branch %s exists already", termtext.Escape(d.branch)).
				Hint("name another with --branch, or leave it out")
		}
		if err := create(d.branch); err != nil {
			return "", fmt.Errorf("making the branch %s: %s", termtext.Escape(d.branch), git.Message(err))
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
				break // not a matter of the number
			}
		}
	}
	if last == nil {
		last = errors.New("every name is taken")
	}
	return "", fmt.Errorf("making a branch in %s: %s", termtext.Escape(d.repo), git.Message(last))
}
